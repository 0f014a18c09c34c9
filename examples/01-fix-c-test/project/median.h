#ifndef MEDIAN_H
#define MEDIAN_H

#include <stddef.h>

/* The median of n values, n > 0; the mean of the two in the middle if n is even. Sorts v in place. */
double median(double *v, size_t n);

#endif
