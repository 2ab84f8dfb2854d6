/* SPDX-License-Identifier: MIT
 * measure.c - see measure.h. Sums are doubles: a float of 8,192 terms would lose four digits. */
#include "services/bots/evaluate/measure.h"

#include <math.h>

static const char *const names[MEASURE_NR] = {
    [MEASURE_COSINE] = "cosine", [MEASURE_DOT] = "dot", [MEASURE_EUCLIDEAN] = "euclidean"};

struct str measure_name(enum measure measure)
{
    return str_of(names[measure]);
}

bool measure_of(struct str name, enum measure *ret_measure)
{
    for (unsigned i = 0; i < MEASURE_NR; i++)
        if (str_eq(name, str_of(names[i]))) {
            *ret_measure = i;
            return true;
        }
    return false;
}

bool measure_is_sound(const float *vector, size_t n)
{
    bool is_zero = true;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(vector[i]))
            return false;
        is_zero = is_zero && fpclassify(vector[i]) == FP_ZERO;
    }
    return !is_zero;
}

static double dot(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static double euclidean(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double d = (double)a[i] - (double)b[i];
        sum += d * d;
    }
    return sqrt(sum);
}

bool measure_similarity(const float *a, const float *b, size_t n, double *ret_similarity)
{
    if (!measure_is_sound(a, n) || !measure_is_sound(b, n))
        return false;
    double similarity = dot(a, b, n) / (sqrt(dot(a, a, n)) * sqrt(dot(b, b, n)));
    if (!isfinite(similarity))
        return false;
    /* Rounding may leave it just outside. */
    *ret_similarity = fmin(1, fmax(-1, similarity));
    return true;
}

bool measure_distance(enum measure measure, const float *a, const float *b, size_t n,
                      double *ret_distance)
{
    double distance;
    if (!measure_is_sound(a, n) || !measure_is_sound(b, n))
        return false;
    if (measure == MEASURE_COSINE) {
        if (!measure_similarity(a, b, n, &distance))
            return false;
        distance = 1 - distance;
    } else {
        distance = measure == MEASURE_DOT ? 1 - dot(a, b, n) : euclidean(a, b, n);
    }
    if (!isfinite(distance))
        return false;
    *ret_distance = distance;
    return true;
}

double measure_score(double distance)
{
    return fmin(100, fmax(0, 100 * (1 - distance)));
}

unsigned measure_points(double value, double min, double max)
{
    if (!(max > min))
        return 0;
    return (unsigned)lround(100 * (value - min) / (max - min));
}
