#include <stdio.h>

#include "median.h"

static int failed;

static void expect(const char *what, double got, double want)
{
	if (got == want)
		return;
	fprintf(stderr, "%s: got %g, want %g\n", what, got, want);
	failed = 1;
}

int main(void)
{
	double odd[] = { 3, 1, 2 };
	double even[] = { 4, 1, 3, 2 };
	double close[] = { 0.4, 0.1, 0.5, 0.2, 0.3 };

	expect("an odd number of values", median(odd, 3), 2);
	expect("an even number of values", median(even, 4), 2.5);
	expect("values less than one apart", median(close, 5), 0.3);
	if (!failed)
		puts("all tests passed");
	return failed;
}
