/* SPDX-License-Identifier: MIT
 * extractive_read.c - see extractive_internal.h: which sentences there are, and what each is worth.
 * A sentence is worth the weights of the question's words that it holds, those of the heading above
 * it and of the sentence before it at a lower price, a little less in later passages and when it is
 * long, without what is asked for (asked.h), and in a table. Questions, headings and fragments are
 * never answers. */
#include "services/engine/models/extractive_internal.h"
#include "shared/text/fit.h"

enum {
    SENTENCE_MIN_WORDS = 3,
    SENTENCE_MAX_BYTES = 800,
    CODE_MAX_BYTES = 600,
};
/* Shares of the question's weight: in the sentence and above it, and in its passage. */
static const double least_coverage = 0.25, least_fit = 0.51, least_fit_measured = 0.45,
                    coverage_price = 0.3;
static const float same_document_price = 0.3f;
static const double context_price = 0.3, rank_cost = 0.06;
static const double key_gain = 1, key_price = 1.2; /* of rows that the question names by a number */
static const double row_price = 0.9, first_row_price = 0.5, heading_line_price = 0.4;
static const double label_price = 0.6;
static const double without_code_price = 0.6, without_asked_price = 0.75, without_way_price = 0.85;

/* The place of a word of the question among its terms, unless it says little itself. */
static size_t place_of(const struct extraction *x, struct str word)
{
    for (size_t i = 0; word.n > 0 && i < x->terms.own_n; i++)
        if (x->terms.at[i].word.here.at == word.at && !x->terms.at[i].is_weak)
            return i;
    return TERMS_MAX;
}

/* Reads the words to search the passages for. A word that is in none of the engine's own documents
 * says as much as their rarest. */
static void read_terms(struct extraction *x)
{
    const struct prompt *prompt = x->prompt;
    double most = 0;
    terms_read(&x->terms, x->question, prompt->marked);
    x->asked = asked_of(x->question);
    x->counted = place_of(x, asked_counted(x->question));
    x->deed = place_of(x, asked_deed(x->question));
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

/* Returns whether the row names the columns of those below it. */
static bool is_head(const struct statement *statement, struct str source)
{
    return statement->kind == STATEMENT_ROW && statement->lead.n == 0 &&
           extractive_begins_table(statement->text, source) &&
           !extractive_is_described(statement->text);
}

/* Returns whether a heading names the question's rarest word. */
static bool is_of_subject(const struct extraction *x, struct str heading)
{
    struct terms_found found = {{0}};
    (void)terms_match(&x->terms, heading, 1, &found);
    return x->subject < x->terms.n && found.at[x->subject] > 0;
}

/* Questions, blocks of code, heads of tables, words that lead to something, and mere links are no
 * answers. */
static bool can_answer(const struct statement *statement, struct str text)
{
    char last = text.at[text.n - 1];
    if (statement->kind == STATEMENT_CODE || last == '?')
        return false;
    if (last == ':' && statement->kind != STATEMENT_LIST)
        return statement->code.n > 0 && statement->code.n <= CODE_MAX_BYTES;
    return !extractive_is_links(text);
}

static bool is_capital(struct str word)
{
    return word.n > 0 && *word.at >= 'A' && *word.at <= 'Z';
}

/* Returns whether a record names what the question is about and holds nothing else of it, as the
 * head of a mail does: what the question asks for is elsewhere. */
static bool is_label(const struct extraction *x, const struct terms_found *found)
{
    bool has_more = false;
    for (size_t i = 0; i < x->terms.own_n; i++) {
        const struct term *term = &x->terms.at[i];
        if (is_capital(term->word.here) || term->word.is_code || term->is_weak)
            continue;
        if (found->at[i] > 0)
            return false;
        has_more = true;
    }
    return has_more;
}

/* Lowers the price of what answers badly. */
static void set_price(const struct extraction *x, const struct statement *statement,
                      struct sentence *s)
{
    s->price = s->has_codes ? 1 : without_code_price;
    if (!s->says_asked)
        s->price *= x->asked == ASKED_WAY ? without_way_price : without_asked_price;
    /* Prose reads better than a table's row. */
    if (statement->kind == STATEMENT_ROW)
        s->price *= statement->lead.n > 0 || extractive_is_described(statement->text)
                        ? row_price
                        : first_row_price;
    if (statement->kind == STATEMENT_HEADING)
        s->price *= heading_line_price;
    if (s->is_label)
        s->price *= label_price;
    if (s->is_keyed)
        s->price *= key_price;
}

/* Sets what the sentence says of the question; `found` is that with the title. */
static void set_said(const struct extraction *x, const struct statement *statement,
                     const struct terms_found *found, struct sentence *s)
{
    struct terms_found alone = {{0}};
    bool is_data = statement->kind == STATEMENT_ROW || statement->kind == STATEMENT_RECORD;
    bool counts = x->counted == TERMS_MAX || found->at[x->counted] > 0;
    (void)terms_match(&x->terms, s->text, 1, &alone);
    s->own = fit_share(&x->terms, &alone);
    s->is_keyed = statement->kind == STATEMENT_ROW &&
                  extractive_is_keyed(&x->terms, statement->lead, s->text);
    if (s->is_keyed)
        s->own += key_gain;
    s->has_subject = x->subject < x->terms.n && found->at[x->subject] > 0;
    s->is_of_subject = is_of_subject(x, statement->heading);
    s->is_label = statement->kind == STATEMENT_RECORD && is_label(x, &s->found);
    s->coverage = s->is_for_question ? 1 : fit_share(&x->terms, found);
    s->has_codes = s->is_for_question || terms_has_codes(&x->terms, found);
    s->says_asked =
        s->is_for_question ||
        (counts && asked_is_said(x->asked, statement->text, is_data ? &statement->lead : NULL)) ||
        (x->asked == ASKED_WAY && statement->code.n > 0);
    s->is_measured = s->says_asked && x->asked != ASKED_ANYTHING && x->asked != ASKED_WAY;
}

static uint64_t twin_of(struct str text)
{
    struct buf normal;
    buf_init(&normal, SENTENCE_MAX_BYTES * 2);
    text_put_normal(&normal, text);
    uint64_t twin = text_hash(buf_str(&normal), 0);
    buf_fini(&normal);
    return twin;
}

/* A sentence without any of the question's words counts only below a heading that has some: "How do
 * I stop it?" is above its answer. */
static void put_sentence(struct extraction *x, size_t source, bool is_for_question,
                         const struct statement *statement, const struct terms_found *title)
{
    struct str text = statement_plain(statement->text);
    struct terms_found own;
    size_t words = count_words(text);
    if (words == 0 || text.n > SENTENCE_MAX_BYTES || x->n == SENTENCES_MAX ||
        (words < SENTENCE_MIN_WORDS && statement->lead.n == 0) || !can_answer(statement, text) ||
        is_head(statement, source_text(x, source)))
        return;
    fit_statement(&x->terms, statement, NULL, &own);
    bool is_below = has_little(x, text, &own);
    /* Of an item that says nothing itself the whole list says more. */
    if ((!(terms_weigh(&x->terms, &own) > 0) && !is_for_question) ||
        (statement->kind == STATEMENT_ITEM && is_below))
        return;
    struct sentence *s = &x->sentences[x->n];
    *s = (struct sentence){.kind = statement->kind,
                           .text = text,
                           .lead = statement->lead,
                           .heading = statement->heading,
                           .code = statement->code,
                           .source = source,
                           .place = x->n++,
                           .is_below = is_below,
                           .is_note = is_note(x, source),
                           .is_for_question = is_for_question,
                           .found = own,
                           .twin = twin_of(text)};
    fit_statement(&x->terms, statement, title, &own);
    set_said(x, statement, &own, s);
    set_price(x, statement, s);
}

static size_t words_of(struct str text, uint64_t hashes[PROMPT_TERMS_MAX])
{
    struct text_word word;
    size_t n = 0;
    while (n < PROMPT_TERMS_MAX && text_next_word(&text, &word)) {
        uint64_t hash = text_word_key(&word);
        bool is_known = word.is_stop;
        for (size_t i = 0; i < n && !is_known; i++)
            is_known = hashes[i] == hash;
        if (!is_known)
            hashes[n++] = hash;
    }
    return n;
}

/* Do both ask for the same words? */
static bool is_same_question(struct str one, struct str other)
{
    uint64_t words[PROMPT_TERMS_MAX], others[PROMPT_TERMS_MAX];
    size_t n = words_of(one, words), found_n = 0;
    if (n == 0 || n != words_of(other, others))
        return false;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            found_n += words[i] == others[k];
    return found_n == n;
}

static void read_note(struct extraction *x, size_t i)
{
    const struct source *source = &x->prompt->sources[i];
    struct str question = str_of(source->question);
    /* Parts of the question are answered by a note for all of it, too. */
    bool is_for_question =
        is_same_question(question, x->question) || is_same_question(question, x->prompt->question);
    struct statements statements;
    struct statement statement;
    statements_start(&statements, str_of(source->text));
    while (statements_next(&statements, &statement)) {
        if (statement.kind == STATEMENT_HEADING) /* a fragment without a full stop */
            statement.kind = STATEMENT_SENTENCE;
        put_sentence(x, i, is_for_question, &statement, NULL);
    }
}

static void read_sentences(struct extraction *x)
{
    for (size_t i = 0; i < source_count(x); i++) {
        struct terms_found title;
        struct statements statements;
        struct statement statement;
        if (is_note(x, i)) {
            read_note(x, i);
            continue;
        }
        fit_title(&x->terms, source_title(x, i), &title);
        statements_start(&statements, source_text(x, i));
        while (statements_next(&statements, &statement))
            put_sentence(x, i, false, &statement, &title);
    }
}

/* The question's words in each source, with its title. */
struct said {
    struct terms_found of[PROMPT_SOURCES_MAX + 1];
    bool agrees[PROMPT_SOURCES_MAX + 1];
};

static void read_said(const struct extraction *x, struct said *said)
{
    *said = (struct said){.agrees = {false}};
    for (size_t i = 0; i < source_count(x); i++) {
        struct str title = is_note(x, i) ? STR("") : source_title(x, i);
        (void)terms_match(&x->terms, title, 1, &said->of[i]);
        (void)terms_match(&x->terms, source_text(x, i), 1, &said->of[i]);
        said->agrees[i] = terms_agree(&x->terms, &said->of[i]);
    }
}

static bool is_one_document(const struct extraction *x, size_t i, size_t k)
{
    struct str title = source_title(x, i);
    return i != k && title.n > 0 && !is_note(x, i) && !is_note(x, k) &&
           str_eq(source_title(x, k), title);
}

/* The share of the question that a source is about: what it says, and in part what other passages
 * of the same document do. 0 if it cannot be about the question. */
static double whole_of(const struct extraction *x, const struct said *said, size_t i)
{
    struct terms_found found = said->of[i];
    if (!said->agrees[i])
        return 0;
    for (size_t k = 0; k < source_count(x); k++)
        for (size_t term = 0; is_one_document(x, i, k) && term < x->terms.n; term++) {
            float there = said->of[k].at[term] * same_document_price;
            found.at[term] = there > found.at[term] ? there : found.at[term];
        }
    return fit_share(&x->terms, &found);
}

static bool is_answer(const struct sentence *s)
{
    double fit = coverage_price * s->coverage + (1 - coverage_price) * s->context;
    return s->context > 0 && s->coverage >= least_coverage &&
           fit >= (s->is_measured ? least_fit_measured : least_fit);
}

static void score(struct extraction *x)
{
    struct said said;
    double wholes[PROMPT_SOURCES_MAX + 1];
    read_said(x, &said);
    for (size_t i = 0; i < source_count(x); i++)
        wholes[i] = whole_of(x, &said, i);
    for (size_t i = 0; i < x->n; i++) {
        struct sentence *s = &x->sentences[i];
        double length_cost = 1.0 + (double)s->text.n / 2000.0;
        double rank = s->is_note ? 0 : (double)s->source;
        s->context = s->is_for_question ? 1 : wholes[s->source];
        s->score = s->price * (s->coverage + context_price * s->context) *
                   (1.0 - rank_cost * rank) / length_cost;
        s->is_answer = is_answer(s);
    }
}

void extractive_read(struct extraction *x)
{
    read_terms(x);
    read_sentences(x);
    score(x);
}
