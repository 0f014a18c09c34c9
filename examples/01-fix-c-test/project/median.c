#include "median.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (int)(x - y);
}

double median(double *v, size_t n)
{
	qsort(v, n, sizeof *v, ascending);
	return v[n / 2];
}
