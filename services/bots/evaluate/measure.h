/* SPDX-License-Identifier: MIT
 *
 * measure: how far apart two embeddings are, by one of three measures, and the scores and points
 * that answers get for that. Pure functions, any thread.
 *
 * An embedding that has a number which is not finite, or no length, has no direction: it is refused
 * here, so that no NaN and no made-up number gets into a mean.
 */
#ifndef PARLEY_SERVICES_BOTS_EVALUATE_MEASURE_H
#define PARLEY_SERVICES_BOTS_EVALUATE_MEASURE_H

#include "shared/base/str.h"

/* COSINE: 1 - cos(a, b), from 0 to 2. DOT: 1 - a.b. EUCLIDEAN: |a - b|. Embedders return vectors of
 * length 1 (shared/embed/embed.h); of those DOT equals COSINE, and EUCLIDEAN is the square root of
 * twice that. */
enum measure { MEASURE_COSINE, MEASURE_DOT, MEASURE_EUCLIDEAN, MEASURE_NR };

/* The word of requests: "cosine", "dot" or "euclidean". */
struct str measure_name(enum measure measure);
/* False for other words. */
bool measure_of(struct str name, enum measure *ret_measure) must_check;

/* Returns whether all `n` numbers are finite and one of them is not 0. */
bool measure_is_sound(const float *vector, size_t n);
/* The distance of two vectors of `n` numbers. False if one of them is not sound, or if the result
 * is not finite. */
bool measure_distance(enum measure measure, const float *a, const float *b, size_t n,
                      double *ret_distance) must_check;
/* The cosine similarity, from -1 to 1. False as measure_distance. */
bool measure_similarity(const float *a, const float *b, size_t n,
                        double *ret_similarity) must_check;

/* 100 * (1 - distance), cut to 0 to 100: the closer, the higher. */
double measure_score(double distance);
/* round(100 * (value - min) / (max - min)); 0 if max equals min. */
unsigned measure_points(double value, double min, double max);

#endif
