/* SPDX-License-Identifier: MIT
 *
 * dot: dot products of one vector of small integers with many. Uses AVX-512 or AVX2 where the
 * processor has it; the result is the same everywhere, to the last digit. Pure, any thread.
 */
#ifndef PARLEY_SEARCH_DOT_H
#define PARLEY_SEARCH_DOT_H

#include <stddef.h>
#include <stdint.h>

/* Writes the dot products of `query` (numbers from -127 to 127) with `n` rows of `dimension`
 * numbers, which follow each other and may be any; a dimension up to 65536 does not overflow. */
void dot_rows(const int16_t *query, const int8_t *rows, uint32_t dimension, uint32_t n,
              int32_t *ret_dots);
/* The same without instructions that not every processor has: for tests. */
void dot_rows_portable(const int16_t *query, const int8_t *rows, uint32_t dimension, uint32_t n,
                       int32_t *ret_dots);

#endif
