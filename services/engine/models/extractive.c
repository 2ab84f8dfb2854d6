/* SPDX-License-Identifier: MIT
 * extractive.c - see extractive.h. Takes the best sentences that extractive_read.c found. Of a
 * question of several parts (halves.h) each is looked for on its own. Notes are added by
 * extractive_notes.c. */
#include "services/engine/models/extractive.h"

#include "services/engine/models/extractive_internal.h"
#include "services/engine/models/halves.h"
#include "shared/text/fit.h"

#include "shared/base/mem.h"

static const double least_of_best = 0.7; /* of the best sentence's score */
static const double least_beside = 0.5;  /* the same, under the best one's heading */
static const double least_gain = 0.15;   /* what one adds of the question to those before it */
static const double least_share = 0.8;   /* of what the best one holds of the question, elsewhere */

static int compare_scores(const void *a, const void *b)
{
    const struct sentence *x = a, *y = b;
    if (x->score > y->score || x->score < y->score)
        return x->score > y->score ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static int compare_places(const void *a, const void *b)
{
    const struct sentence *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

static bool holds(const struct sentence *whole, struct str part)
{
    return part.at >= whole->text.at && part.at < whole->text.at + whole->text.n;
}

/* Returns whether a sentence says nothing that is not said already: it, or the list that it is of.
 */
static bool is_said(const struct sentence *taken, size_t n, const struct sentence *s)
{
    for (size_t i = 0; i < n; i++)
        if (taken[i].twin == s->twin || holds(&taken[i], s->text) || holds(s, taken[i].text))
            return true;
    return false;
}

/* The share of the question that a sentence adds to the `n` that were taken. */
static double gain_of(const struct extraction *x, const struct sentence *s,
                      const struct sentence *taken, size_t n)
{
    struct terms_found said = {{0}}, both;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < x->terms.n; k++)
            if (taken[i].found.at[k] > said.at[k])
                said.at[k] = taken[i].found.at[k];
    both = said;
    for (size_t k = 0; k < x->terms.n; k++)
        if (s->found.at[k] > both.at[k])
            both.at[k] = s->found.at[k];
    return fit_share(&x->terms, &both) - fit_share(&x->terms, &said);
}

/* Returns whether a row of the best one's table holds less of the question. */
static bool is_lesser_row(const struct sentence *best, const struct sentence *s)
{
    return best->kind == STATEMENT_ROW && s->kind == STATEMENT_ROW && s->source == best->source &&
           s->own < best->own;
}

/* Returns whether what is under the best one's heading belongs to the answer: where the heading
 * says more of the question than its sentences, or names what a time or an amount is asked of. */
static bool may_join(const struct extraction *x, const struct sentence *best,
                     const struct sentence *s)
{
    bool is_measured = x->asked != ASKED_ANYTHING && x->asked != ASKED_WAY;
    return best->is_below || s->kind == STATEMENT_LIST ||
           (is_measured && s->says_asked && s->is_of_subject);
}

/* Returns whether a question for a number has none of an answer. */
static bool lacks_amount(const struct extraction *x, const struct sentence *taken, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (taken[i].says_asked)
            return false;
    return asked_is_measured(x->asked);
}

/* Returns whether a question for who did something is answered without what was done: a sentence of
 * the best one's passage says it in the question's words, and none of those that were taken. */
static bool lacks_deed(const struct extraction *x, const struct sentence *taken, size_t n)
{
    struct terms_found passage = {{0}};
    if (n == 0 || x->deed == TERMS_MAX || taken[0].source >= x->prompt->source_n)
        return false;
    (void)terms_match(&x->terms, str_of(x->prompt->sources[taken[0].source].text), 1, &passage);
    for (size_t i = 0; i < n; i++)
        if (taken[i].found.at[x->deed] >= passage.at[x->deed])
            return false;
    return true;
}

/* Takes sentences of documents, which are measured against each other alone: nothing that users
 * recommend takes the place of one. Returns how many of `taken`. */
static size_t take_of_documents(const struct extraction *x, struct sentence *taken)
{
    const struct sentence *best = NULL;
    size_t n = 0;
    for (size_t i = 0; i < x->n && n < TAKEN_MAX; i++) {
        struct sentence s = x->sentences[i];
        if (s.is_note)
            continue;
        if (best == NULL)
            best = &x->sentences[i];
        if ((best->has_subject && !s.has_subject) || (best->has_codes && !s.has_codes) ||
            (s.is_label && !best->is_label) || is_lesser_row(best, &s))
            continue;
        bool is_beside = may_join(x, best, &s) && s.source == best->source && s.heading.n > 0 &&
                         s.heading.at == best->heading.at;
        bool adds = gain_of(x, &s, taken, n) >= least_gain && !is_said(taken, n, &s);
        double least = is_beside || adds ? least_beside : least_of_best;
        if (s.score < least * best->score ||
            (!is_beside && !adds && s.coverage < least_share * best->coverage) ||
            (!s.is_answer && !(is_beside && best->is_answer)) || is_said(taken, n, &s))
            continue;
        if (s.source != best->source)
            s.place += SENTENCES_MAX;
        taken[n++] = s;
    }
    return lacks_amount(x, taken, n) || lacks_deed(x, taken, n) ? 0 : n;
}

/* Moves the sentences that are good enough to the front, in the order in which they are said: those
 * of the best one's source first. */
static size_t take(struct extraction *x)
{
    struct sentence taken[TAKEN_MAX + NOTES_TAKEN_MAX];
    if (x->n == 0)
        return 0;
    qsort(x->sentences, x->n, sizeof *x->sentences, compare_scores);
    x->least_score = least_of_best * x->sentences[0].score;
    size_t n = extractive_take_notes(x, taken, take_of_documents(x, taken));
    if (n > 1)
        qsort(taken, n, sizeof *taken, compare_places);
    memcpy(x->sentences, taken, n * sizeof *taken);
    return n;
}

/* --- a question of several parts -------------------------------------------------------------- */

struct chosen {
    struct sentence sentences[(TAKEN_MAX + NOTES_TAKEN_MAX) * HALVES_MAX];
    size_t n;
    struct buf words; /* that were looked for */
};

static void choose(struct chosen *chosen, const struct sentence *s)
{
    if (!is_said(chosen->sentences, chosen->n, s))
        chosen->sentences[chosen->n++] = *s;
}

/* Chooses the sentences that answer one part. */
static void extract(struct chosen *chosen, const struct prompt *prompt, struct str question)
{
    struct extraction x = {.prompt = prompt,
                           .question = question,
                           .sentences = mem_zeroed_n(SENTENCES_MAX, sizeof *x.sentences)};
    extractive_read(&x);
    size_t taken = take(&x);
    for (size_t i = 0; i < taken; i++)
        choose(chosen, &x.sentences[i]);
    for (size_t i = 0; i < x.terms.n; i++) {
        buf_put(&chosen->words, chosen->words.n == 0 ? STR("") : STR(", "));
        buf_put(&chosen->words, x.terms.at[i].word.here);
    }
    free(x.sentences);
}

void extractive_answer(const struct prompt *prompt, struct buf *think, struct buf *answer)
{
    struct chosen chosen = {.n = 0};
    struct str halves[HALVES_MAX];
    bool is_marked_meant = extractive_means_marked(prompt);
    size_t n = halves_of(prompt->question, halves), quoted = 0;
    if (is_marked_meant) { /* its words are looked for, and no others */
        halves[0] = STR("");
        n = 1;
    }
    buf_init(&chosen.words, (size_t)16384 * HALVES_MAX);
    for (size_t i = 0; i < n; i++)
        extract(&chosen, prompt, halves[i]);
    if (chosen.n == 0 && n > 1) { /* no part has an answer of its own: maybe they belong together */
        buf_clear(&chosen.words);
        extract(&chosen, prompt, prompt->question);
    }
    if (chosen.n > 0)
        extractive_put_answer(prompt, chosen.sentences, chosen.n, answer);
    else if (is_marked_meant)
        quoted = extractive_put_marked(prompt, answer);
    extractive_put_think(prompt, buf_str(&chosen.words), chosen.n + quoted, think);
    if (chosen.n + quoted == 0)
        buf_lit(answer, EXTRACTIVE_NOTHING);
    buf_fini(&chosen.words);
}
