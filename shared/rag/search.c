/* SPDX-License-Identifier: MIT
 * search.c - see search.h. Both measures keep their best in a small sorted array: for a hundred
 * places an insertion is cheaper than a heap, and ties stay in the order of the documents. */
#include "shared/rag/search.h"

#include "shared/rag/text.h"

#include <math.h>
#include <stdlib.h>

enum { QUESTION_WORDS_MAX = 64, CANDIDATES = SEARCH_MAX };
static const double rank_offset = 60.0; /* "k" of reciprocal rank fusion, as its authors chose */
static const double bm25_k1 = 1.2, bm25_b = 0.75;

struct best {
    struct search_hit at[CANDIDATES];
    size_t n, max;
};

/* Puts `hit` in its place by falling `score`; the first of equals stays first. */
static void put_best(struct best *best, const struct search_hit *hit)
{
    size_t place = best->n;
    while (place > 0 && best->at[place - 1].score < hit->score)
        place--;
    if (place == best->max)
        return;
    if (best->n < best->max)
        best->n++;
    memmove(&best->at[place + 1], &best->at[place], (best->n - place - 1) * sizeof best->at[0]);
    best->at[place] = *hit;
}

/* Eight sums side by side, which the compiler turns into vector instructions: it may not reorder
 * one float sum by itself. */
static float dot(const float *a, const float *b, uint32_t n)
{
    float sums[8] = {0};
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (uint32_t k = 0; k < 8; k++)
            sums[k] += a[i + k] * b[i + k];
    float sum =
        ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
    for (; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static bool has_vectors(const struct search *search, const struct passages *set)
{
    return search->vector != NULL && set->dimension == search->dimension && set->n > 0;
}

static float distance_of(const struct search *search, const struct passages *set, uint32_t passage)
{
    if (!has_vectors(search, set))
        return 1.0f;
    float distance =
        1.0f - dot(search->vector, set->vectors + (size_t)passage * set->dimension, set->dimension);
    return distance < 0 ? 0 : distance > 2 ? 2 : distance;
}

static void find_nearest(const struct search *search, struct best *best)
{
    for (size_t s = 0; s < search->set_n; s++) {
        const struct passages *set = search->sets[s];
        if (set == NULL || !has_vectors(search, set))
            continue;
        for (uint32_t i = 0; i < set->n; i++) {
            if (set->is_left_out[i])
                continue;
            struct search_hit hit = {
                .set = set, .passage = i, .distance = distance_of(search, set, i)};
            hit.score = -(double)hit.distance;
            put_best(best, &hit);
        }
    }
}

/* ---- words ---- */

struct question {
    uint64_t hashes[QUESTION_WORDS_MAX];
    double weights[QUESTION_WORDS_MAX]; /* inverse document frequency */
    size_t n;
    double weight_total, words_per_passage;
};

static const struct passage_term *find_term(const struct passages *set, uint64_t hash)
{
    size_t low = 0, high = set->term_n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (set->terms[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->term_n && set->terms[low].hash == hash ? &set->terms[low] : NULL;
}

static bool knows(const struct question *question, uint64_t hash)
{
    for (size_t i = 0; i < question->n; i++)
        if (question->hashes[i] == hash)
            return true;
    return false;
}

/* Reads the question's words and weighs each by its rarity over all sets together. */
static void read_question(const struct search *search, struct question *question)
{
    struct str rest = search->question;
    struct text_word word;
    *question = (struct question){0};
    while (question->n < QUESTION_WORDS_MAX && text_next_word(&rest, &word)) {
        uint64_t hash = text_hash((struct str){word.at, word.n}, 0);
        if (!word.is_stop && !knows(question, hash))
            question->hashes[question->n++] = hash;
    }
    uint64_t passages = 0, words = 0;
    for (size_t s = 0; s < search->set_n; s++)
        if (search->sets[s] != NULL) {
            passages += search->sets[s]->n;
            words += search->sets[s]->word_total;
        }
    question->words_per_passage = passages == 0 ? 1 : (double)words / (double)passages;
    for (size_t i = 0; i < question->n; i++) {
        uint64_t holders = 0;
        for (size_t s = 0; s < search->set_n; s++) {
            const struct passage_term *term =
                search->sets[s] == NULL ? NULL : find_term(search->sets[s], question->hashes[i]);
            if (term != NULL)
                holders += term[1].first - term->first;
        }
        question->weights[i] =
            log(1.0 + ((double)passages - (double)holders + 0.5) / ((double)holders + 0.5));
        question->weight_total += question->weights[i];
    }
}

size_t search_weigh(const struct search *search, size_t max, uint64_t *ret_hashes,
                    double *ret_weights)
{
    struct question question;
    read_question(search, &question);
    size_t n = question.n < max ? question.n : max;
    memcpy(ret_hashes, question.hashes, n * sizeof *ret_hashes);
    memcpy(ret_weights, question.weights, n * sizeof *ret_weights);
    return n;
}

static void score_set(const struct question *question, const struct passages *set, double *scores,
                      double *covered)
{
    for (size_t i = 0; i < question->n; i++) {
        const struct passage_term *term = find_term(set, question->hashes[i]);
        if (term == NULL)
            continue;
        for (uint32_t p = term->first; p < term[1].first; p++) {
            const struct passage_posting *posting = &set->postings[p];
            double count = posting->count, words = set->word_n[posting->passage];
            double norm = bm25_k1 * (1 - bm25_b + bm25_b * words / question->words_per_passage);
            scores[posting->passage] +=
                question->weights[i] * count * (bm25_k1 + 1) / (count + norm);
            covered[posting->passage] += question->weights[i];
        }
    }
}

static double *zeros(size_t n)
{
    double *at = calloc(n == 0 ? 1 : n, sizeof *at);
    if (at == NULL)
        abort();
    return at;
}

/* What one set's passages score by words; also fills in coverage for hits found by vector. */
static void find_by_words(const struct search *search, const struct question *question,
                          struct best *best, struct best *nearest)
{
    for (size_t s = 0; s < search->set_n; s++) {
        const struct passages *set = search->sets[s];
        if (set == NULL || set->n == 0)
            continue;
        double *scores = zeros(set->n), *covered = zeros(set->n);
        score_set(question, set, scores, covered);
        double total = question->weight_total > 0 ? question->weight_total : 1;
        for (uint32_t i = 0; i < set->n; i++) {
            if (scores[i] <= 0 || set->is_left_out[i])
                continue;
            struct search_hit hit = {.set = set,
                                     .passage = i,
                                     .score = scores[i],
                                     .bm25 = scores[i],
                                     .coverage = (float)(covered[i] / total)};
            put_best(best, &hit);
        }
        for (size_t i = 0; i < nearest->n; i++)
            if (nearest->at[i].set == set) {
                nearest->at[i].bm25 = scores[nearest->at[i].passage];
                nearest->at[i].coverage = (float)(covered[nearest->at[i].passage] / total);
            }
        free(scores);
        free(covered);
    }
}

size_t search_best(const struct search *search, size_t n, struct search_hit *ret_hits)
{
    struct best nearest = {.max = CANDIDATES}, worded = {.max = CANDIDATES};
    struct best merged = {.max = n < SEARCH_MAX ? n : SEARCH_MAX};
    struct question question;
    read_question(search, &question);
    find_nearest(search, &nearest);
    find_by_words(search, &question, &worded, &nearest);
    for (size_t i = 0; i < worded.n; i++) {
        struct search_hit hit = worded.at[i];
        hit.distance = distance_of(search, hit.set, hit.passage);
        hit.score = 1.0 / (rank_offset + (double)i + 1);
        for (size_t k = 0; k < nearest.n; k++)
            if (nearest.at[k].set == hit.set && nearest.at[k].passage == hit.passage)
                hit.score += 1.0 / (rank_offset + (double)k + 1);
        put_best(&merged, &hit);
    }
    for (size_t k = 0; k < nearest.n; k++) {
        bool is_known = false;
        for (size_t i = 0; i < worded.n && !is_known; i++)
            is_known = worded.at[i].set == nearest.at[k].set &&
                       worded.at[i].passage == nearest.at[k].passage;
        nearest.at[k].score = 1.0 / (rank_offset + (double)k + 1);
        if (!is_known)
            put_best(&merged, &nearest.at[k]);
    }
    memcpy(ret_hits, merged.at, merged.n * sizeof merged.at[0]);
    return merged.n;
}

size_t search_nearest(const struct search *search, size_t n, double threshold,
                      struct search_hit *ret_hits)
{
    struct best nearest = {.max = n < SEARCH_MAX ? n : SEARCH_MAX};
    size_t found = 0;
    if (nearest.max == 0)
        return 0;
    find_nearest(search, &nearest);
    while (found < nearest.n && (double)nearest.at[found].distance <= threshold) {
        ret_hits[found] = nearest.at[found];
        found++;
    }
    return found;
}
