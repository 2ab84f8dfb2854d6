/* SPDX-License-Identifier: MIT
 * bench_rag.c - how long a search takes: 20,000 chunks of 512 dimensions, the documents of one
 * owner. Prints p50 and p99 in microseconds for searches by words and vector, by vector and by
 * words, for a few large documents and for many small ones. A search never waits, so what counts is
 * processor time, which is the same on a machine that does other things too. Not part of the tests.
 *
 *   cmake --build build/release --target bench_rag && build/release/bench_rag
 *
 * The texts are made of words drawn by Zipf's law from 30,000, which gives common and rare words in
 * the proportion of a language. */
#include "shared/embed/embed.h"
#include "shared/search/index.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CHUNKS = 20000, WORDS = 30000, WORDS_PER_CHUNK = 140, SEARCHES = 1000, HITS = 20 };

static uint64_t seed = 88172645463325252u;

static double draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) / 9007199254740992.0;
}

/* The rank of a word: the inverse of the sum of 1/rank, which is about log(rank). */
static unsigned draw_word(void)
{
    return (unsigned)(exp(draw() * log(WORDS)));
}

static void put_words(struct buf *text, int n)
{
    for (int i = 0; i < n; i++)
        buf_printf(text, "w%xq%s", draw_word() * 2654435761u, i % 12 == 11 ? ". " : " ");
}

static uint32_t put_document(struct rag_index *index, struct embedder *embedder, int number,
                             int chunks)
{
    struct buf text, pack;
    char id[25];
    snprintf(id, sizeof id, "%024x", (unsigned)number * 2654435761u);
    buf_init(&text, SIZE_MAX / 2);
    buf_init(&pack, SIZE_MAX / 2);
    put_words(&text, chunks * WORDS_PER_CHUNK);
    struct chunk *list = calloc((size_t)chunks * 4 + 16, sizeof *list);
    struct str *texts = calloc((size_t)chunks * 4 + 16, sizeof *texts);
    struct chunk_cursor cursor = {.text = buf_str(&text)};
    uint32_t n = 0, dimension;
    float *vectors;
    if (list == NULL || texts == NULL)
        abort();
    while (n < (uint32_t)chunks && chunk_next(&cursor, &list[n])) {
        texts[n] =
            (struct str){text.at + list[n].start_bytes, list[n].end_bytes - list[n].start_bytes};
        n++;
    }
    if (!embed_texts(embedder, texts, n, NULL, &vectors, &dimension, NULL))
        abort();
    pack_build(&pack, buf_str(&text), list, n, vectors, dimension);
    struct rag_parts parts = {.id = str_of(id), .generation = 1, .pack = buf_str(&pack)};
    if (!rag_index_put(index, &parts))
        abort();
    free(vectors);
    free(texts);
    free(list);
    buf_fini(&text);
    buf_fini(&pack);
    return n;
}

static double now_us(void)
{
    struct timespec at;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return (double)at.tv_sec * 1e6 + (double)at.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const struct rag_index *index, struct embedder *embedder, const char *what,
                    bool by_words, bool by_vector)
{
    static double took_us[SEARCHES];
    for (int i = 0; i < SEARCHES; i++) {
        struct buf question;
        struct rag_hit hits[HITS];
        float *vector;
        uint32_t dimension;
        buf_init(&question, 4096);
        put_words(&question, 10);
        struct str text = buf_str(&question);
        if (!embed_texts(embedder, &text, 1, NULL, &vector, &dimension, NULL))
            abort();
        struct rag_query query = {.text = by_words ? text : STR(""),
                                  .vector = by_vector ? vector : NULL,
                                  .dimension = dimension};
        double started_us = now_us();
        size_t n = rag_index_search(index, &query, HITS, hits);
        took_us[i] = now_us() - started_us;
        if (n == 0)
            abort();
        free(vector);
        buf_fini(&question);
    }
    qsort(took_us, SEARCHES, sizeof *took_us, compare);
    printf("  %-18s p50 %6.0f us  p99 %6.0f us\n", what, took_us[SEARCHES / 2],
           took_us[SEARCHES * 99 / 100]);
}

static void run(struct embedder *embedder, int documents)
{
    struct rag_index *index = rag_index_create();
    double started_us = now_us();
    for (int i = 0; i < documents; i++)
        (void)put_document(index, embedder, i, CHUNKS / documents);
    printf("%d documents, %u chunks, %.1f MB, made in %.0f ms\n", documents,
           rag_index_chunks(index), (double)rag_index_bytes(index) / 1e6,
           (now_us() - started_us) / 1e3);
    measure(index, embedder, "words and vector", true, true);
    measure(index, embedder, "vector", false, true);
    measure(index, embedder, "words", true, false);
    rag_index_destroy(index);
}

int main(void)
{
    struct embedder *embedder = embed_create_hash();
    run(embedder, 10);
    run(embedder, 1000);
    run(embedder, 10000);
    embed_destroy(embedder);
    return 0;
}
