/* SPDX-License-Identifier: MIT
 * retrieve_order.c - see retrieve_op.h: the order, the scores and the addresses of passages whose
 * texts are there.
 *
 * How well a passage fits the question's words is said by its best statement, and by title and text
 * as a whole (shared/text/fit.h). The score is the mean of that and of the cosine, which with the
 * built-in embedder knows spellings. The vector of a model knows other words for the same: there
 * the mean is that of the cosine and of the higher of both. Passages under LEAST_SCORE have next to
 * nothing in common with the question: one that finds only such has found nothing. */
#include "services/documents/search/retrieve_op.h"

#include "shared/text/fit.h"
#include "shared/text/fold.h"

#include <math.h>
#include <stdlib.h>

static const double least_score = 0.085;
/* With what the reader selected: no passage holds much of so many words. */
static const double least_with_context = 0.02;
static const double best_price = 0.6;

enum { TITLE_MAX_BYTES = 4096, SLUG_MAX_BYTES = 256 };

struct judged {
    struct retrieve_hit hit;
    size_t place; /* in the index's order */
    uint64_t twin;
};

/* --- the question ----------------------------------------------------------------------------- */

void retrieve_weigh(struct retrieve_op *op, const struct rag_index *index)
{
    uint64_t hashes[2 * TERMS_MAX];
    double weights[2 * TERMS_MAX];
    struct terms *terms = &op->terms;
    /* What is nowhere is the rarest. */
    double rarest = log(1 + ((double)rag_index_chunks(index) + 0.5) / 0.5);
    size_t n = rag_index_weigh(index, op->searched, 2 * TERMS_MAX, hashes, weights);
    terms_read(terms, op->question,
               (struct str){op->searched.at + op->question.n, op->searched.n - op->question.n});
    for (size_t i = 0; i < terms->n; i++) {
        double weight = rarest;
        for (size_t k = 0; k < n; k++)
            if (hashes[k] == terms->at[i].word.key)
                weight = weights[k];
        terms->at[i].weight *= weight;
    }
}

/* --- addresses -------------------------------------------------------------------------------- */

static bool is_markdown(struct str name)
{
    static const char *const endings[] = {".md", ".markdown", NULL};
    for (const char *const *ending = endings; *ending != NULL; ending++) {
        size_t n = strlen(*ending);
        if (name.n > n && str_eq_nocase((struct str){name.at + name.n - n, n}, str_of(*ending)))
            return true;
    }
    return false;
}

/* Puts what a heading's anchor is called: what the heading itself says ("Brakes {#brakes}"), in
 * Markdown else its words as the usual renderers write them. */
static void put_anchor(struct buf *b, struct str heading, struct str file)
{
    uint32_t c;
    struct buf normal;
    const char *own = memmem(heading.at, heading.n, "{#", 2);
    if (own != NULL && heading.at[heading.n - 1] == '}') {
        buf_put_url_encoded(b, (struct str){own + 2, (size_t)(heading.at + heading.n - own) - 3});
        return;
    }
    if (!is_markdown(file))
        return;
    buf_init(&normal, SLUG_MAX_BYTES);
    text_put_normal(&normal, heading);
    struct str rest = normal.is_over ? STR("") : buf_str(&normal);
    for (size_t step; (step = text_char(rest, &c)) != 0; rest.at += step, rest.n -= step)
        if (c == ' ')
            buf_put_char(b, '-');
        else if (c == '-' || c == '_' || fold_is_word(c))
            buf_put_url_encoded(b, (struct str){rest.at, step});
    buf_fini(&normal);
}

/* The page's address with the section that the passage's best statement is in. Only headings
 * that are marked as such have an anchor. */
static struct str with_section(struct retrieve_op *op, struct str url_json, struct str heading,
                               struct str file)
{
    struct buf b;
    if (url_json.n < 3 || heading.n == 0 || memchr(url_json.at, '#', url_json.n) != NULL)
        return url_json;
    buf_init(&b, url_json.n + 1 + 3 * SLUG_MAX_BYTES);
    buf_put(&b, (struct str){url_json.at, url_json.n - 1});
    buf_put_char(&b, '#');
    size_t before = b.n;
    put_anchor(&b, heading, file);
    bool has_anchor = b.n > before && !b.is_over;
    buf_put_char(&b, '"');
    struct str address = has_anchor && !b.is_over ? retrieve_keep(op, buf_str(&b)) : url_json;
    buf_fini(&b);
    return address;
}

/* --- scores ----------------------------------------------------------------------------------- */

static double clamp(double x)
{
    return x > 1 ? 1 : x >= 0 ? x : 0; /* 0 for what is no number, too */
}

static double score_of(const struct retrieve_op *op, double fit, double cosine)
{
    if (op->vector == NULL)
        return fit;
    bool knows_meaning = !op->documents->settings->embedder->is_quick;
    return ((knows_meaning && cosine > fit ? cosine : fit) + cosine) / 2;
}

static void judge(struct retrieve_op *op, struct judged *judged, float cosine)
{
    struct retrieve_hit *hit = &judged->hit;
    struct fit fit;
    struct buf text;
    buf_init(&text, TITLE_MAX_BYTES + hit->text.n * 2);
    buf_put_json_text(&text, hit->title_json);
    fit_passage(&op->terms, buf_str(&text), hit->text, &fit);
    hit->score =
        score_of(op, best_price * fit.best + (1 - best_price) * fit.whole, clamp((double)cosine));
    hit->url_json = with_section(op, hit->url_json, fit.anchor, buf_str(&text));
    buf_clear(&text);
    buf_put(&text, hit->url_json.n > 0 ? hit->url_json : hit->doc);
    text_put_normal(&text, hit->text);
    judged->twin = text_hash(buf_str(&text), 0);
    buf_fini(&text);
}

static int compare_judged(const void *a, const void *b)
{
    const struct judged *x = a, *y = b;
    if (x->hit.score > y->hit.score || x->hit.score < y->hit.score)
        return x->hit.score > y->hit.score ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static void learn(struct retrieve_op *op, const struct retrieve_hit *hit)
{
    struct buf title;
    buf_init(&title, TITLE_MAX_BYTES);
    buf_put_json_text(&title, hit->title_json);
    terms_learn(&op->terms, buf_str(&title));
    terms_learn(&op->terms, hit->text);
    buf_fini(&title);
}

void retrieve_order(struct retrieve_op *op, struct retrieve_hit *hits, const float *cosines,
                    size_t n)
{
    struct judged judged[TOP_K_MAX];
    struct retrieval *base = &op->base;
    for (size_t i = 0; i < n; i++)
        learn(op, &hits[i]);
    for (size_t i = 0; i < n; i++) {
        judged[i] = (struct judged){.hit = hits[i], .place = i};
        judge(op, &judged[i], cosines[i]);
    }
    if (n > 1)
        qsort(judged, n, sizeof *judged, compare_judged);
    double least = op->terms.n > op->terms.own_n ? least_with_context : least_score;
    base->hits = hits;
    base->hit_n = base->all_n = 0;
    for (size_t i = 0; i < n && base->all_n < op->n; i++) {
        bool is_twin = false;
        for (size_t k = 0; k < i && !is_twin; k++)
            is_twin = judged[k].twin == judged[i].twin;
        if (is_twin)
            continue;
        hits[base->all_n++] = judged[i].hit;
        if (judged[i].hit.score >= least)
            base->hit_n = base->all_n;
    }
}
