/* SPDX-License-Identifier: MIT
 * dot.c - see dot.h. The query comes widened to 16 bits: then one instruction multiplies sixteen
 * numbers and adds them in pairs. Reading the rows from memory is what takes the time. */
#include "shared/search/dot.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Sixteen sums side by side, which compilers turn into vector instructions. */
static int32_t dot_portable(const int16_t *query, const int8_t *row, uint32_t n)
{
    int32_t sums[16] = {0}, sum = 0;
    uint32_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (uint32_t k = 0; k < 16; k++)
            sums[k] += query[i + k] * row[i + k];
    for (; i < n; i++)
        sum += query[i] * row[i];
    for (uint32_t k = 0; k < 16; k++)
        sum += sums[k];
    return sum;
}

void dot_rows_portable(const int16_t *query, const int8_t *rows, uint32_t dimension, uint32_t n,
                       int32_t *ret_dots)
{
    for (uint32_t i = 0; i < n; i++)
        ret_dots[i] = dot_portable(query, rows + (size_t)i * dimension, dimension);
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) static __m256i multiply(const int16_t *query, const int8_t *row)
{
    __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)row));
    return _mm256_madd_epi16(wide, _mm256_loadu_si256((const __m256i *)query));
}

__attribute__((target("avx2"))) static int32_t dot_avx2(const int16_t *query, const int8_t *row,
                                                        uint32_t n)
{
    __m256i a = _mm256_setzero_si256(), b = a;
    uint32_t i = 0;
    for (; i + 32 <= n; i += 32) {
        a = _mm256_add_epi32(a, multiply(query + i, row + i));
        b = _mm256_add_epi32(b, multiply(query + i + 16, row + i + 16));
    }
    a = _mm256_add_epi32(a, b);
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    four = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
    int32_t sum = _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 1)));
    for (; i < n; i++)
        sum += query[i] * row[i];
    return sum;
}

__attribute__((target("avx2"))) static void dot_rows_avx2(const int16_t *query, const int8_t *rows,
                                                          uint32_t dimension, uint32_t n,
                                                          int32_t *ret_dots)
{
    for (uint32_t i = 0; i < n; i++)
        ret_dots[i] = dot_avx2(query, rows + (size_t)i * dimension, dimension);
}

/* How far ahead memory is asked for: the processor itself stops doing so at each page's end. */
enum { AHEAD_BYTES = 4096, LINE_BYTES = 64 };

__attribute__((target("avx512bw"))) static __m512i multiply_wide(const int16_t *query,
                                                                 const int8_t *row)
{
    __m512i wide = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)row));
    return _mm512_madd_epi16(wide, _mm512_loadu_si512((const void *)query));
}

__attribute__((target("avx512bw"))) static int32_t dot_avx512(const int16_t *query,
                                                              const int8_t *row, uint32_t n)
{
    __m512i a = _mm512_setzero_si512(), b = a;
    uint32_t i = 0;
    for (; i + LINE_BYTES <= n; i += LINE_BYTES) {
        __builtin_prefetch((const void *)((uintptr_t)row + i + AHEAD_BYTES));
        a = _mm512_add_epi32(a, multiply_wide(query + i, row + i));
        b = _mm512_add_epi32(b, multiply_wide(query + i + 32, row + i + 32));
    }
    int32_t sum = _mm512_reduce_add_epi32(_mm512_add_epi32(a, b));
    for (; i < n; i++)
        sum += query[i] * row[i];
    return sum;
}

__attribute__((target("avx512bw"))) static void dot_rows_avx512(const int16_t *query,
                                                                const int8_t *rows,
                                                                uint32_t dimension, uint32_t n,
                                                                int32_t *ret_dots)
{
    for (uint32_t i = 0; i < n; i++)
        ret_dots[i] = dot_avx512(query, rows + (size_t)i * dimension, dimension);
}

void dot_rows(const int16_t *query, const int8_t *rows, uint32_t dimension, uint32_t n,
              int32_t *ret_dots)
{
    if (__builtin_cpu_supports("avx512bw"))
        dot_rows_avx512(query, rows, dimension, n, ret_dots);
    else if (__builtin_cpu_supports("avx2"))
        dot_rows_avx2(query, rows, dimension, n, ret_dots);
    else
        dot_rows_portable(query, rows, dimension, n, ret_dots);
}

#else

void dot_rows(const int16_t *query, const int8_t *rows, uint32_t dimension, uint32_t n,
              int32_t *ret_dots)
{
    dot_rows_portable(query, rows, dimension, n, ret_dots);
}

#endif
