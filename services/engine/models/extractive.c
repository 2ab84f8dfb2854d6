/* SPDX-License-Identifier: MIT
 * extractive.c - see extractive.h. A sentence is worth the weights of the question's words that it
 * holds, those of the heading above it at half price, a little less in later passages and when it
 * is long. Questions, headings and fragments are never taken as answers. Of a question of several
 * parts (halves.h) each is looked for on its own. Notes are added by extractive_notes.c. */
#include "services/engine/models/extractive.h"

#include "services/engine/models/extractive_internal.h"
#include "services/engine/models/halves.h"
#include "shared/text/fit.h"

#include "shared/base/mem.h"

enum {
    SENTENCE_MIN_WORDS = 3,
    SENTENCE_MAX_BYTES = 800,
    CODE_MAX_BYTES = 600,
};
/* Shares of the question's weight: in the sentence and above it, and in its passage. */
static const double least_coverage = 0.25, least_fit = 0.45, coverage_price = 0.3;
static const double least_of_best = 0.7; /* of the best sentence's score */
static const double least_beside = 0.5;  /* the same, under the best one's heading */
static const double least_gain = 0.15;   /* what one adds of the question to those before it */
static const double least_share = 0.8;   /* of what the best one holds of the question, elsewhere */
static const double context_price = 0.3, rank_cost = 0.06;
static const double row_price = 0.9, first_row_price = 0.5, heading_line_price = 0.4;
static const double without_code_price = 0.6;

/* Reads the words to search the passages for. A word that is in none of the engine's own documents
 * says as much as their rarest. */
static void read_terms(struct extraction *x)
{
    const struct prompt *prompt = x->prompt;
    double most = 0;
    terms_read(&x->terms, x->question, prompt->marked);
    for (size_t k = 0; k < prompt->term_n; k++)
        most = prompt->terms[k].weight > most ? prompt->terms[k].weight : most;
    for (size_t i = 0; i < x->terms.n; i++) {
        struct term *term = &x->terms.at[i];
        double rarity = most > 0 ? most : 1;
        for (size_t k = 0; k < prompt->term_n; k++)
            if (prompt->terms[k].hash == term->word.key)
                rarity = prompt->terms[k].weight;
        term->weight *= rarity;
        if (i < x->terms.own_n && term->weight > x->terms.at[x->subject].weight)
            x->subject = i;
    }
    for (size_t i = 0; i < prompt->source_n; i++) {
        terms_learn(&x->terms, str_of(prompt->sources[i].title));
        terms_learn(&x->terms, str_of(prompt->sources[i].text));
    }
}

static size_t count_words(struct str text)
{
    struct text_word word;
    size_t n = 0;
    while (text_next_word(&text, &word))
        n++;
    return n;
}

/* Returns whether a sentence holds less than half of what it has together with the heading above
 * it. */
static bool has_little(const struct extraction *x, struct str text, const struct terms_found *all)
{
    struct terms_found own = {{0}};
    (void)terms_match(&x->terms, text, 1, &own);
    return terms_weigh(&x->terms, &own) < 0.5 * terms_weigh(&x->terms, all);
}

/* Questions, blocks of code, words that lead to something, and mere links are no answers. */
static bool can_answer(const struct statement *statement, struct str text)
{
    char last = text.at[text.n - 1];
    if (statement->kind == STATEMENT_CODE || last == '?')
        return false;
    if (last == ':' && statement->kind != STATEMENT_LIST)
        return statement->code.n > 0 && statement->code.n <= CODE_MAX_BYTES;
    return !extractive_is_links(text);
}

/* A sentence without any of the question's words counts only below a heading that has some: "How do
 * I stop it?" is above its answer. */
void extractive_put_sentence(struct extraction *x, size_t source, bool is_for_question,
                             const struct statement *statement, const struct terms_found *title)
{
    struct str text = statement_plain(statement->text);
    struct terms_found own;
    size_t words = count_words(text);
    if (words == 0 || text.n > SENTENCE_MAX_BYTES || x->n == SENTENCES_MAX ||
        (words < SENTENCE_MIN_WORDS && statement->lead.n == 0) || !can_answer(statement, text))
        return;
    fit_statement(&x->terms, statement, NULL, &own);
    bool is_below = has_little(x, text, &own);
    /* Of an item that says nothing itself the whole list says more. */
    if ((!(terms_weigh(&x->terms, &own) > 0) && !is_for_question) ||
        (statement->kind == STATEMENT_ITEM && is_below))
        return;
    struct buf normal;
    buf_init(&normal, SENTENCE_MAX_BYTES * 2);
    text_put_normal(&normal, text);
    struct sentence *s = &x->sentences[x->n];
    *s = (struct sentence){.kind = statement->kind,
                           .text = text,
                           .lead = statement->lead,
                           .heading = statement->heading,
                           .code = statement->code,
                           .source = source,
                           .place = x->n++,
                           .price = 1,
                           .is_note =
                               source < x->prompt->source_n && x->prompt->sources[source].is_note,
                           .is_for_question = is_for_question,
                           .twin = text_hash(buf_str(&normal), 0)};
    s->is_below = is_below;
    s->found = own;
    fit_statement(&x->terms, statement, title, &own);
    s->has_subject = x->subject < x->terms.n && own.at[x->subject] > 0;
    s->coverage = is_for_question ? 1 : fit_share(&x->terms, &own);
    if (!is_for_question && !terms_has_codes(&x->terms, &own))
        s->price = without_code_price;
    /* Prose reads better than a table's row. */
    if (statement->kind == STATEMENT_ROW)
        s->price *= statement->lead.n > 0 ? row_price : first_row_price;
    if (statement->kind == STATEMENT_HEADING)
        s->price *= heading_line_price;
    buf_fini(&normal);
}

/* Counts what the reader marked as a source, but only for a question that names its own subject.
 */
static size_t source_count(const struct extraction *x)
{
    bool has_marked = x->prompt->marked.n > 0 && x->terms.own_n > 0;
    return x->prompt->source_n + (has_marked ? 1 : 0);
}

static struct str source_title(const struct extraction *x, size_t i)
{
    return i < x->prompt->source_n ? str_of(x->prompt->sources[i].title) : STR("");
}

static struct str source_text(const struct extraction *x, size_t i)
{
    return i < x->prompt->source_n ? str_of(x->prompt->sources[i].text) : x->prompt->marked;
}

static bool is_note(const struct extraction *x, size_t i)
{
    return i < x->prompt->source_n && x->prompt->sources[i].is_note;
}

static void read_sentences(struct extraction *x)
{
    for (size_t i = 0; i < source_count(x); i++) {
        struct terms_found title;
        struct statements statements;
        struct statement statement;
        if (is_note(x, i)) {
            extractive_read_note(x, i);
            continue;
        }
        fit_title(&x->terms, source_title(x, i), &title);
        statements_start(&statements, source_text(x, i));
        while (statements_next(&statements, &statement))
            extractive_put_sentence(x, i, false, &statement, &title);
    }
}

static void score(struct extraction *x)
{
    double wholes[PROMPT_SOURCES_MAX + 1];
    for (size_t i = 0; i < source_count(x); i++) {
        struct fit fit;
        fit_passage(&x->terms, is_note(x, i) ? STR("") : source_title(x, i), source_text(x, i),
                    &fit);
        wholes[i] = fit.agrees ? fit.whole : 0;
    }
    for (size_t i = 0; i < x->n; i++) {
        struct sentence *s = &x->sentences[i];
        double length_cost = 1.0 + (double)s->text.n / 2000.0;
        double rank = s->is_note ? 0 : (double)s->source;
        s->context = s->is_for_question ? 1 : wholes[s->source];
        s->score = s->price * (s->coverage + context_price * s->context) *
                   (1.0 - rank_cost * rank) / length_cost;
    }
}

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

static bool is_answer(const struct sentence *s)
{
    return s->context > 0 && s->coverage >= least_coverage &&
           coverage_price * s->coverage + (1 - coverage_price) * s->context >= least_fit;
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
        if (best->has_subject && !s.has_subject)
            continue;
        bool is_beside = (best->is_below || s.kind == STATEMENT_LIST) && s.source == best->source &&
                         s.heading.n > 0 && s.heading.at == best->heading.at;
        bool adds = gain_of(x, &s, taken, n) >= least_gain && !is_said(taken, n, &s);
        double least = is_beside || adds ? least_beside : least_of_best;
        if (s.score < least * best->score ||
            (!is_beside && !adds && s.coverage < least_share * best->coverage) || !is_answer(&s) ||
            is_said(taken, n, &s))
            continue;
        if (s.source != best->source)
            s.place += SENTENCES_MAX;
        taken[n++] = s;
    }
    return n;
}

bool extractive_fits(const struct extraction *x, const struct sentence *s)
{
    return is_answer(s) && s->score >= least_of_best * x->sentences[0].score;
}

/* Moves the sentences that are good enough to the front, in the order in which they are said: those
 * of the best one's source first. */
static size_t take(struct extraction *x)
{
    struct sentence taken[TAKEN_MAX + NOTES_TAKEN_MAX];
    if (x->n == 0)
        return 0;
    qsort(x->sentences, x->n, sizeof *x->sentences, compare_scores);
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
    read_terms(&x);
    read_sentences(&x);
    score(&x);
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
