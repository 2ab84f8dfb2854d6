/* SPDX-License-Identifier: MIT
 * statistics.c - see statistics.h. */
#include "services/bots/evaluate/statistics.h"

#include <math.h>

void statistics_add(struct statistics *s, double value)
{
    double from_old = value - s->mean;
    s->n++;
    s->mean += from_old / (double)s->n;
    s->m2 += from_old * (value - s->mean);
}

struct statistics statistics_of_pairs(const double *a, const double *b, size_t n)
{
    struct statistics s = {.n = 0};
    for (size_t i = 0; i < n; i++)
        if (isfinite(a[i]) && isfinite(b[i]))
            statistics_add(&s, a[i] - b[i]);
    return s;
}

double statistics_t975(uint64_t degrees)
{
    static const double table[] = {12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912,
                                   2.364624,  2.306004, 2.262157, 2.228139, 2.200985, 2.178813,
                                   2.160369,  2.144787, 2.131450, 2.119905, 2.109816, 2.100922,
                                   2.093024,  2.085963, 2.079614, 2.073873, 2.068658, 2.063899,
                                   2.059539,  2.055529, 2.051831, 2.048407, 2.045230, 2.042272};
    static const double z = 1.959963984540054; /* the normal distribution's quantile */
    double v = (double)degrees, z2 = z * z;
    if (degrees <= sizeof table / sizeof *table)
        return table[degrees > 0 ? degrees - 1 : 0];
    return z + z * (z2 + 1) / (4 * v) + z * ((5 * z2 + 16) * z2 + 3) / (96 * v * v) +
           z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * v * v * v) +
           z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / (92160 * v * v * v * v);
}

bool statistics_interval(const struct statistics *s, struct interval *ret_interval)
{
    if (s->n < 2)
        return false;
    double n = (double)s->n, m2 = s->m2 > 0 ? s->m2 : 0;
    double half = statistics_t975(s->n - 1) * sqrt(m2 / (n - 1) / n);
    *ret_interval = (struct interval){s->mean - half, s->mean + half};
    return true;
}
