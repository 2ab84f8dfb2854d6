/* SPDX-License-Identifier: MIT
 * index_search.c - the search of index.h.
 *
 *   the question's words -> postings in every pack -> rarity -> the best by BM25 ----+-> merged by
 *   the question's vector -> the packs' vectors -> the nearest, and those given -----+   rank
 *
 * Both measures keep their best in a small sorted array: for a hundred places an insertion is
 * cheaper than a heap. Words are looked up once per document, before anything is scored, because
 * what a word is worth depends on how many chunks of all documents hold it; where it was found is
 * remembered, so that documents without any of the words are not touched again. */
#include "shared/base/mem.h"
#include "shared/search/dot.h"
#include "shared/search/index_entries.h"
#include "shared/text/text.h"

#include <math.h>

enum { WORDS_MAX = 64, CANDIDATES = RAG_HITS_MAX, SCAN_ROWS = 256, AHEAD = 2, FAR_AHEAD = 4 };
static const double rank_offset = 60.0; /* "k" of reciprocal rank fusion, as its authors chose */
static const double bm25_k1 = 1.2, bm25_b = 0.75;

/* ---- the best ---- */

struct best {
    struct rag_hit at[CANDIDATES];
    size_t n, max;
};

static bool is_before(const struct rag_hit *a, const struct rag_hit *b)
{
    if (a->score > b->score || a->score < b->score)
        return a->score > b->score;
    if (a->bm25 > b->bm25 || a->bm25 < b->bm25)
        return a->bm25 > b->bm25;
    if (a->document != b->document)
        return str_compare(a->document->id, b->document->id) < 0;
    return a->chunk < b->chunk;
}

static void put_best(struct best *best, const struct rag_hit *hit)
{
    size_t place = best->n;
    while (place > 0 && is_before(hit, &best->at[place - 1]))
        place--;
    if (place == best->max)
        return;
    if (best->n < best->max)
        best->n++;
    memmove(&best->at[place + 1], &best->at[place], (best->n - place - 1) * sizeof best->at[0]);
    best->at[place] = *hit;
}

/* Returns whether a hit of this score can come in at all: most cannot, and need not be made. */
static bool may_enter(const struct best *best, double score)
{
    return best->n < best->max || !(score < best->at[best->n - 1].score);
}

static const struct rag_hit *find_hit(const struct best *best, const struct rag_document *document,
                                      uint32_t chunk, size_t *ret_rank)
{
    for (size_t i = 0; i < best->n; i++)
        if (best->at[i].document == document && best->at[i].chunk == chunk) {
            *ret_rank = i;
            return &best->at[i];
        }
    return NULL;
}

/* ---- vectors ---- */

/* The question's vector in the form of the packs'. */
struct ray {
    int16_t at[PACK_DIMENSION_MAX];
    uint32_t dimension; /* 0: there is none */
    uint64_t embedding;
    float scale;
};

static void read_vector(const struct rag_query *query, struct ray *ray)
{
    int8_t small[PACK_DIMENSION_MAX];
    ray->dimension = 0;
    ray->embedding = query->embedding;
    if (query->vector == NULL || query->dimension == 0 || query->dimension > PACK_DIMENSION_MAX)
        return;
    ray->scale = pack_quantise(query->vector, query->dimension, small);
    ray->dimension = query->dimension;
    for (uint32_t i = 0; i < query->dimension; i++)
        ray->at[i] = small[i];
}

/* A vector of another model says nothing about the question, even where the dimension is the same.
 */
static bool has_vectors(const struct ray *ray, const struct pack *pack, uint64_t embedding)
{
    return ray->dimension > 0 && pack->dimension == ray->dimension && embedding == ray->embedding;
}

static float to_cosine(const struct ray *ray, const struct pack *pack, uint32_t chunk, int32_t dot)
{
    float cosine = (float)dot * ray->scale * pack_scale(pack, chunk);
    return cosine > 1 ? 1 : cosine >= -1 ? cosine : -1; /* -1 for what is no number, too */
}

static float cosine_of(const struct ray *ray, const struct rag_document *document, uint32_t chunk)
{
    const struct pack *pack = &document->pack;
    int32_t dot;
    if (!has_vectors(ray, pack, document->embedding))
        return 0;
    dot_rows(ray->at, pack->vectors + (size_t)chunk * pack->dimension, pack->dimension, 1, &dot);
    return to_cosine(ray, pack, chunk, dot);
}

static void scan_entry(const struct ray *ray, const struct rag_entry *entry, struct best *best)
{
    const struct pack *pack = &entry->pack;
    int32_t dots[SCAN_ROWS];
    for (uint32_t done = 0, take; done < pack->chunk_n; done += take) {
        take = pack->chunk_n - done < SCAN_ROWS ? pack->chunk_n - done : SCAN_ROWS;
        dot_rows(ray->at, pack->vectors + (size_t)done * pack->dimension, pack->dimension, take,
                 dots);
        for (uint32_t i = 0; i < take; i++) {
            float cosine = to_cosine(ray, pack, done + i, dots[i]);
            if (!may_enter(best, (double)cosine) || rag_is_left_out(entry, done + i))
                continue;
            put_best(best, &(struct rag_hit){.document = entry->document,
                                             .chunk = done + i,
                                             .cosine = cosine,
                                             .score = (double)cosine});
        }
    }
}

/* Takes over what a vector set found, as far as the index has it. */
static void take_near(const struct rag_index *index, const struct rag_near *near,
                      uint64_t embedding, struct best *best)
{
    const struct rag_entry *entry = rag_index_find(index, near->doc);
    size_t rank;
    if (entry == NULL || entry->embedding != embedding || entry->pack.dimension > 0 ||
        entry->document->generation != near->generation ||
        near->chunk >= entry->document->pack.chunk_n || !isfinite(near->similarity) ||
        rag_is_left_out(entry, near->chunk) ||
        find_hit(best, entry->document, near->chunk, &rank) != NULL)
        return;
    put_best(best, &(struct rag_hit){.document = entry->document,
                                     .chunk = near->chunk,
                                     .cosine = near->similarity,
                                     .score = (double)near->similarity});
}

static void find_nearest(const struct rag_index *index, const struct rag_query *query,
                         const struct ray *ray, struct best *best)
{
    for (size_t i = 0; i < query->near_n; i++)
        take_near(index, &query->near[i], query->embedding, best);
    for (uint32_t i = 0; i < index->n; i++)
        if (has_vectors(ray, &index->entries[i].pack, index->entries[i].embedding))
            scan_entry(ray, &index->entries[i], best);
}

/* ---- words ---- */

/* Where one of the question's words is in one document. */
struct place {
    uint32_t entry, word, first, n;
};

struct words {
    uint64_t hashes[WORDS_MAX];
    double weights[WORDS_MAX]; /* inverse document frequency, of chunks */
    size_t n;
    double weight_total, words_per_chunk;
    struct place *places; /* by entry, then word */
    size_t place_n;
};

static void put_place(struct words *words, struct place place)
{
    words->places = mem_grow(words->places, words->place_n, sizeof *words->places);
    words->places[words->place_n++] = place;
}

static bool knows(const struct words *words, uint64_t hash)
{
    for (size_t i = 0; i < words->n; i++)
        if (words->hashes[i] == hash)
            return true;
    return false;
}

static void add_word(struct words *words, const struct text_word *word)
{
    uint64_t hash = text_word_key(word);
    if (words->n < WORDS_MAX && !word->is_stop && !knows(words, hash))
        words->hashes[words->n++] = hash;
}

/* Memory is what takes the time: what documents a little further on need is fetched meanwhile. */
static void prefetch(const struct rag_index *index, const struct words *words, uint32_t entry)
{
    for (size_t k = 0; entry + FAR_AHEAD < index->n && k < words->n; k++)
        pack_prefetch_directory(&index->entries[entry + FAR_AHEAD].pack, words->hashes[k]);
    for (size_t k = 0; entry + AHEAD < index->n && k < words->n; k++)
        pack_prefetch_term(&index->entries[entry + AHEAD].pack, words->hashes[k]);
}

static void find_places(const struct pack *pack, uint32_t entry, struct words *words,
                        uint64_t *holders)
{
    for (uint32_t k = 0; k < words->n; k++) {
        struct place place = {.entry = entry, .word = k};
        if (!pack_find(pack, words->hashes[k], &place.first, &place.n))
            continue;
        __builtin_prefetch(pack->postings + (size_t)place.first * PACK_POSTING_BYTES);
        holders[k] += place.n;
        put_place(words, place);
    }
}

/* Reads the words of `text`, finds them in every pack and weighs each by its rarity. What was left
 * out counts along: a flag changes no other chunk's rank. The caller frees `places`. */
static void read_words(const struct rag_index *index, struct str text, struct words *words)
{
    uint64_t holders[WORDS_MAX] = {0};
    struct text_word word, joined;
    struct text_compound compound = {.n = 0};
    *words = (struct words){0};
    while (words->n < WORDS_MAX && text_next_word(&text, &word)) {
        add_word(words, &word);
        if (text_compound_next(&compound, word.here, &joined))
            add_word(words, &joined);
    }
    for (uint32_t i = 0; i < index->n; i++) {
        prefetch(index, words, i);
        find_places(&index->entries[i].pack, i, words, holders);
    }
    words->words_per_chunk =
        index->word_total == 0 ? 1 : (double)index->word_total / (double)index->chunk_n;
    for (size_t i = 0; i < words->n; i++) {
        words->weights[i] = log(1.0 + ((double)index->chunk_n - (double)holders[i] + 0.5) /
                                          ((double)holders[i] + 0.5));
        words->weight_total += words->weights[i];
    }
}

size_t rag_index_weigh(const struct rag_index *index, struct str text, size_t max,
                       uint64_t *ret_hashes, double *ret_weights)
{
    struct words words;
    read_words(index, text, &words);
    size_t n = words.n < max ? words.n : max;
    memcpy(ret_hashes, words.hashes, n * sizeof *ret_hashes);
    memcpy(ret_weights, words.weights, n * sizeof *ret_weights);
    free(words.places);
    return n;
}

/* The scores of one chunk, or of each chunk of one document. */
struct score {
    double bm25, covered;
};

static void add_score(const struct words *words, size_t word, uint32_t count, uint32_t word_n,
                      struct score *score)
{
    double norm = bm25_k1 * (1 - bm25_b + bm25_b * (double)word_n / words->words_per_chunk);
    score->bm25 += words->weights[word] * (double)count * (bm25_k1 + 1) / ((double)count + norm);
    score->covered += words->weights[word];
}

static void put_score(const struct words *words, const struct score *score, struct rag_hit *hit)
{
    hit->bm25 = score->bm25;
    hit->coverage = (float)(score->covered / (words->weight_total > 0 ? words->weight_total : 1));
}

/* Scores the chunks of one document, whose `n` places these are. */
static void score_entry(const struct rag_entry *entry, const struct words *words,
                        const struct place *places, size_t n, struct score *scores,
                        struct best *best)
{
    const struct pack *pack = &entry->pack;
    memset(scores, 0, pack->chunk_n * sizeof *scores);
    for (size_t i = 0; i < n; i++)
        for (uint32_t p = places[i].first; p < places[i].first + places[i].n; p++) {
            uint32_t count, chunk = pack_posting(pack, p, &count);
            add_score(words, places[i].word, count, pack_chunk(pack, chunk).word_n, &scores[chunk]);
        }
    for (uint32_t i = 0; i < pack->chunk_n; i++) {
        if (!(scores[i].bm25 > 0) || !may_enter(best, scores[i].bm25) || rag_is_left_out(entry, i))
            continue;
        struct rag_hit hit = {.document = entry->document, .chunk = i, .score = scores[i].bm25};
        put_score(words, &scores[i], &hit);
        put_best(best, &hit);
    }
}

static void find_by_words(const struct rag_index *index, const struct words *words,
                          struct best *best)
{
    uint32_t largest = 1;
    for (size_t i = 0; i < words->place_n; i++) {
        uint32_t n = index->entries[words->places[i].entry].pack.chunk_n;
        largest = n > largest ? n : largest;
    }
    struct score *scores = mem_alloc(largest * sizeof *scores);
    for (size_t i = 0, end; i < words->place_n; i = end) {
        uint32_t entry = words->places[i].entry;
        for (end = i + 1; end < words->place_n && words->places[end].entry == entry; end++)
            ;
        score_entry(&index->entries[entry], words, words->places + i, end - i, scores, best);
    }
    free(scores);
}

/* Finds `chunk` among the postings of one word; 0 when it does not hold it. */
static uint32_t count_in(const struct pack *pack, uint64_t hash, uint32_t chunk)
{
    uint32_t low, n, count;
    if (!pack_find(pack, hash, &low, &n))
        return 0;
    uint32_t high = low + n, end = high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (pack_posting(pack, middle, &count) < chunk)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && pack_posting(pack, low, &count) == chunk ? count : 0;
}

/* Scores by words a chunk that was found by its vector. */
static void score_hit(const struct words *words, struct rag_hit *hit)
{
    const struct pack *pack = &hit->document->pack;
    struct score score = {0};
    for (size_t i = 0; i < words->n; i++) {
        uint32_t count = count_in(pack, words->hashes[i], hit->chunk);
        if (count > 0)
            add_score(words, i, count, pack_chunk(pack, hit->chunk).word_n, &score);
    }
    put_score(words, &score, hit);
}

/* ---- both ---- */

static double score_of_rank(size_t rank)
{
    return 1.0 / (rank_offset + (double)rank + 1);
}

static void merge(const struct words *words, const struct ray *ray, const struct best *worded,
                  const struct best *nearest, struct best *merged)
{
    size_t rank;
    for (size_t i = 0; i < worded->n; i++) {
        struct rag_hit hit = worded->at[i];
        const struct rag_hit *twin = find_hit(nearest, hit.document, hit.chunk, &rank);
        hit.score = score_of_rank(i) + (twin == NULL ? 0 : score_of_rank(rank));
        hit.cosine = twin == NULL ? cosine_of(ray, hit.document, hit.chunk) : twin->cosine;
        put_best(merged, &hit);
    }
    for (size_t i = 0; i < nearest->n; i++) {
        struct rag_hit hit = nearest->at[i];
        if (find_hit(worded, hit.document, hit.chunk, &rank) != NULL)
            continue;
        score_hit(words, &hit);
        hit.score = score_of_rank(i);
        put_best(merged, &hit);
    }
}

size_t rag_index_search(const struct rag_index *index, const struct rag_query *query, size_t n,
                        struct rag_hit *ret_hits)
{
    struct best nearest = {.max = CANDIDATES}, worded = {.max = CANDIDATES};
    struct best merged = {.max = n < RAG_HITS_MAX ? n : RAG_HITS_MAX};
    struct words words;
    struct ray ray;
    if (merged.max == 0)
        return 0;
    read_vector(query, &ray);
    read_words(index, query->text, &words);
    find_by_words(index, &words, &worded);
    find_nearest(index, query, &ray, &nearest);
    merge(&words, &ray, &worded, &nearest, &merged);
    free(words.places);
    memcpy(ret_hits, merged.at, merged.n * sizeof merged.at[0]);
    return merged.n;
}

size_t rag_index_nearest(const struct rag_index *index, const struct rag_query *query, size_t n,
                         double threshold, struct rag_hit *ret_hits)
{
    struct best nearest = {.max = n < RAG_HITS_MAX ? n : RAG_HITS_MAX};
    struct ray ray;
    size_t found = 0;
    if (nearest.max == 0)
        return 0;
    read_vector(query, &ray);
    find_nearest(index, query, &ray, &nearest);
    while (found < nearest.n && 1.0 - (double)nearest.at[found].cosine <= threshold) {
        ret_hits[found] = nearest.at[found];
        found++;
    }
    return found;
}
