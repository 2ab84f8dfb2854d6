/* SPDX-License-Identifier: MIT
 *
 * khash: stands in for a header that libh2o's <h2o/http2_internal.h> includes and its packages
 * leave out: the layout of the hash table that holds a connection's streams, and how to walk it.
 * Nothing is ever put into one here. Only streams.c needs it. Source: klib 0.2.8, as libh2o 2.2 is
 * built with.
 */
#ifndef PARLEY_HTTP_LIBH2O_KHASH_H
#define PARLEY_HTTP_LIBH2O_KHASH_H

#include <stdint.h>

typedef uint32_t khint_t;
typedef khint_t khiter_t;

#define KHASH_MAP_INIT_INT64(name, value)                                                          \
    typedef struct {                                                                               \
        khint_t n_buckets, size, n_occupied, upper_bound;                                          \
        uint32_t *flags;                                                                           \
        uint64_t *keys;                                                                            \
        value *vals;                                                                               \
    } kh_##name##_t;
#define khash_t(name) kh_##name##_t

#define kh_end(table) ((table)->n_buckets)
#define kh_val(table, at) ((table)->vals[at])
/* Two bits a bucket: empty, deleted. */
#define kh_exist(table, at) (((table)->flags[(at) >> 4] >> (((at)&15u) << 1) & 3) == 0)
/* For an inline function of libh2o that is not called: nothing is found. */
#define kh_get(name, table, key) ((void)(key), kh_end(table))

#endif
