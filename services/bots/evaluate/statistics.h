/* SPDX-License-Identifier: MIT
 *
 * statistics: the mean of distances with its 95 % interval, and the mean difference of two runs
 * over the same turns. Pure functions, any thread.
 *
 * Means and squares are added up with Welford's method ("Note on a Method for Calculating Corrected
 * Sums of Squares and Products", Technometrics 4, 1962), so a run keeps three numbers and no list.
 * Intervals are Student's: mean +- t * s / sqrt(n), with n - 1 degrees of freedom.
 */
#ifndef PARLEY_SERVICES_BOTS_EVALUATE_STATISTICS_H
#define PARLEY_SERVICES_BOTS_EVALUATE_STATISTICS_H

#include "shared/base/str.h"

/* Zeroed: of nothing. */
struct statistics {
    uint64_t n;
    double mean; /* 0 of nothing */
    double m2;   /* sum of squared differences from the mean */
};

struct interval {
    double low, high;
};

/* Adds a value, which must be finite. */
void statistics_add(struct statistics *s, double value);

/* Two runs, turn by turn: adds up a[i] - b[i] where both are finite. A turn that failed in either
 * run is NAN there and counts for nothing; `n` of the result says how many pairs there were. */
struct statistics statistics_of_pairs(const double *a, const double *b, size_t n);

/* The 95 % interval of the mean. False for fewer than two values, which have none. */
bool statistics_interval(const struct statistics *s, struct interval *ret_interval) must_check;

/* The 97.5 % quantile of Student's t distribution, `degrees` of freedom, 1 and more: a table up to
 * 30, above it the expansion 26.7.5 of Abramowitz and Stegun, "Handbook of Mathematical Functions"
 * (1964); both are good to six decimals. */
double statistics_t975(uint64_t degrees);

#endif
