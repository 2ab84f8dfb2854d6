/* SPDX-License-Identifier: MIT
 * passages.c - see passages.h. The word index is two sorted arrays instead of a hash table: it is
 * built once, read often, and its memory is what it holds. */
#include "shared/rag/passages.h"

#include "shared/base/log.h"
#include "shared/rag/text.h"

#include <assert.h>
#include <stdlib.h>

enum { EMBED_STEP = 512 };

static void *grow(void *at, size_t n, size_t size)
{
    void *twin = reallocarray(at, n == 0 ? 1 : n, size);
    if (twin == NULL)
        abort();
    return twin;
}

static char *copy_bytes(const char *at, size_t n)
{
    char *twin = grow(NULL, n + 1, 1);
    if (n > 0)
        memcpy(twin, at, n);
    twin[n] = 0;
    return twin;
}

struct passages *passages_create(void)
{
    struct passages *set = calloc(1, sizeof *set);
    if (set == NULL)
        abort();
    set->model = copy_bytes("", 0);
    return set;
}

void passages_destroy(struct passages *set)
{
    if (set == NULL)
        return;
    for (uint32_t i = 0; i < set->document_n; i++) {
        free(set->documents[i].name);
        free(set->documents[i].text);
    }
    free(set->model);
    free(set->documents);
    free(set->items);
    free(set->vectors);
    free(set->is_left_out);
    free(set->terms);
    free(set->postings);
    free(set->word_n);
    free(set);
}

static struct passage_document *put_document(struct passages *set,
                                             const struct passage_document *from)
{
    if (set->document_n == set->document_cap) {
        set->document_cap = set->document_cap == 0 ? 16 : set->document_cap * 2;
        set->documents = grow(set->documents, set->document_cap, sizeof *set->documents);
    }
    struct passage_document *document = &set->documents[set->document_n++];
    *document = *from;
    document->name = copy_bytes(from->name, strlen(from->name));
    document->text = copy_bytes(from->text, from->text_bytes);
    document->first = set->n;
    document->n = 0;
    return document;
}

static bool put_passage(struct passages *set, struct passage_document *document,
                        const struct chunk *chunk)
{
    if (set->n == PASSAGES_MAX)
        return false;
    if (set->n == set->cap) {
        set->cap = set->cap == 0 ? 64 : set->cap * 2;
        set->items = grow(set->items, set->cap, sizeof *set->items);
    }
    set->items[set->n++] =
        (struct passage){.document = (uint32_t)(document - set->documents), .chunk = *chunk};
    document->n++;
    return true;
}

bool passages_add(struct passages *set, const struct passage_document *from)
{
    struct passage_document *document = put_document(set, from);
    struct chunk_cursor cursor = {.text = {document->text, document->text_bytes}};
    struct chunk chunk;
    while (chunk_next(&cursor, &chunk))
        if (!put_passage(set, document, &chunk))
            return false;
    return true;
}

bool passages_add_copy(struct passages *set, const struct passages *from, uint32_t which)
{
    const struct passage_document *source = &from->documents[which];
    if (set->dimension == 0) {
        set->dimension = from->dimension;
        free(set->model);
        set->model = copy_bytes(from->model, strlen(from->model));
    }
    assert(set->dimension == from->dimension);
    if (source->n > PASSAGES_MAX - set->n)
        return false;
    struct passage_document *document = put_document(set, source);
    for (uint32_t i = 0; i < source->n; i++)
        if (!put_passage(set, document, &from->items[source->first + i].chunk))
            return false;
    size_t width = set->dimension;
    set->vectors = grow(set->vectors, set->n * width, sizeof *set->vectors);
    memcpy(set->vectors + document->first * width, from->vectors + source->first * width,
           document->n * width * sizeof *set->vectors);
    return true;
}

struct str passages_text(const struct passages *set, uint32_t passage)
{
    assert(passage < set->n);
    const struct passage *item = &set->items[passage];
    return (struct str){set->documents[item->document].text + item->chunk.start_bytes,
                        item->chunk.end_bytes - item->chunk.start_bytes};
}

const char *passages_name(const struct passages *set, uint32_t passage)
{
    assert(passage < set->n);
    return set->documents[set->items[passage].document].name;
}

/* ---- the word index ---- */

struct occurrence {
    uint64_t hash;
    uint32_t passage;
};

static int compare_occurrences(const void *a, const void *b)
{
    const struct occurrence *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->passage > y->passage) - (x->passage < y->passage);
}

static struct occurrence *list_words(struct passages *set, size_t *ret_n)
{
    struct occurrence *list = NULL;
    size_t n = 0, cap = 0;
    struct text_word word;
    for (uint32_t i = 0; i < set->n; i++) {
        struct str rest = passages_text(set, i);
        uint32_t words = 0;
        for (; text_next_word(&rest, &word); words++) {
            if (word.is_stop)
                continue;
            if (n == cap) {
                cap = cap == 0 ? 4096 : cap * 2;
                list = grow(list, cap, sizeof *list);
            }
            list[n++] = (struct occurrence){text_hash((struct str){word.at, word.n}, 0), i};
        }
        set->word_n[i] = words;
        set->word_total += words;
    }
    *ret_n = n;
    return list;
}

static void index_words(struct passages *set)
{
    size_t n;
    set->word_n = grow(set->word_n, set->n, sizeof *set->word_n);
    set->word_total = 0;
    struct occurrence *list = list_words(set, &n);
    if (n > 1)
        qsort(list, n, sizeof *list, compare_occurrences);
    size_t posting_n = 0, term_n = 0;
    for (size_t i = 0; i < n; i++) {
        posting_n += i == 0 || compare_occurrences(&list[i - 1], &list[i]) != 0;
        term_n += i == 0 || list[i - 1].hash != list[i].hash;
    }
    set->postings = grow(set->postings, posting_n, sizeof *set->postings);
    set->terms = grow(set->terms, term_n + 1, sizeof *set->terms);
    size_t posting = 0, term = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || list[i - 1].hash != list[i].hash)
            set->terms[term++] =
                (struct passage_term){.hash = list[i].hash, .first = (uint32_t)posting};
        if (i == 0 || compare_occurrences(&list[i - 1], &list[i]) != 0)
            set->postings[posting++] = (struct passage_posting){.passage = list[i].passage};
        set->postings[posting - 1].count++;
    }
    set->terms[term] = (struct passage_term){.hash = UINT64_MAX, .first = (uint32_t)posting};
    set->term_n = (uint32_t)term_n;
    free(list);
}

/* ---- vectors ---- */

static bool embed_from(struct passages *set, uint32_t first, struct embedder *embedder,
                       const atomic_bool *is_stopping)
{
    struct str texts[EMBED_STEP];
    for (uint32_t done = first; done < set->n;) {
        uint32_t take = set->n - done < EMBED_STEP ? set->n - done : EMBED_STEP, dimension;
        float *vectors;
        for (uint32_t i = 0; i < take; i++)
            texts[i] = passages_text(set, done + i);
        if (!embed_texts(embedder, texts, take, is_stopping, &vectors, &dimension))
            return false;
        if (set->dimension == 0) {
            set->dimension = dimension;
        } else if (set->dimension != dimension) {
            log_write(LOG_ERROR, "the embedding model changed its dimension",
                      LOG_U("was", set->dimension), LOG_U("is", dimension));
            free(vectors);
            return false;
        }
        set->vectors = grow(set->vectors, (size_t)(done + take) * dimension, sizeof(float));
        memcpy(set->vectors + (size_t)done * dimension, vectors,
               (size_t)take * dimension * sizeof(float));
        free(vectors);
        done += take;
        if (set->n - first > EMBED_STEP)
            log_write(LOG_INFO, "embedding passages", LOG_U("done", done - first),
                      LOG_U("of", set->n - first));
    }
    return true;
}

bool passages_finish(struct passages *set, uint32_t first, struct embedder *embedder,
                     const atomic_bool *is_stopping)
{
    if (!embed_from(set, first, embedder, is_stopping))
        return false;
    free(set->model);
    set->model = copy_bytes(embedder->name, strlen(embedder->name));
    free(set->is_left_out);
    set->is_left_out = calloc(set->n == 0 ? 1 : set->n, 1);
    if (set->is_left_out == NULL)
        abort();
    index_words(set);
    return true;
}

uint32_t passages_leave_out(struct passages *set, struct str fragment)
{
    struct buf needle, text;
    uint32_t n = 0;
    buf_init(&needle, SIZE_MAX / 2);
    buf_init(&text, SIZE_MAX / 2);
    text_put_normal(&needle, fragment);
    for (uint32_t i = 0; needle.n >= PASSAGES_FLAG_MIN_BYTES && i < set->n; i++) {
        buf_clear(&text);
        text_put_normal(&text, passages_text(set, i));
        if (text.n < needle.n || memmem(text.at, text.n, needle.at, needle.n) == NULL)
            continue;
        set->is_left_out[i] = 1;
        n++;
    }
    buf_fini(&needle);
    buf_fini(&text);
    return n;
}
