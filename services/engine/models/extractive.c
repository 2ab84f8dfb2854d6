/* SPDX-License-Identifier: MIT
 * extractive.c - see extractive.h. A sentence is worth the weights of the question's words that it
 * holds, those of the heading above it at half price, a little less in later passages and when it
 * is long. Questions, headings and fragments are never taken as answers. */
#include "services/engine/models/extractive.h"

#include "shared/text/text.h"

#include <math.h>
#include <stdlib.h>

enum {
    SENTENCES_MAX = 1024,
    SENTENCE_MIN_WORDS = 3,
    SENTENCE_MAX_BYTES = 800,
    TAKEN_MAX = 4,
};
/* Of the question's weight: in the sentence; or less there, if its passage holds most of it. */
static const double least_coverage = 0.45, least_in_context = 0.3, least_of_context = 0.6;
static const double least_of_best = 0.6; /* of the best sentence's score */
/* Of a word that no sentence at hand holds, where the documents' count is not known: what was found
 * fits all the same, or it would not have been found. */
static const double missing_weight = 0.69;
static const double heading_price = 0.5, rank_cost = 0.06, row_price = 0.7;

struct sentence {
    struct str text;
    size_t source, place;  /* counted from 0; place within all sentences */
    uint64_t own, heading; /* bits: which of the question's words it holds */
    double score, coverage, context;
    uint64_t twin; /* hash of the text as compared */
};

struct extraction {
    const struct prompt *prompt;
    struct prompt_term terms[PROMPT_TERMS_MAX];
    size_t term_n;
    double weight;
    struct buf names; /* the words, for Think */
    struct sentence *sentences;
    size_t n;
};

static void read_terms(struct extraction *x)
{
    struct str rest = x->prompt->question;
    struct text_word word;
    while (x->term_n < PROMPT_TERMS_MAX && text_next_word(&rest, &word)) {
        uint64_t hash = text_hash((struct str){word.at, word.n}, 0);
        bool is_known = word.is_stop;
        for (size_t i = 0; i < x->term_n && !is_known; i++)
            is_known = x->terms[i].hash == hash;
        if (is_known)
            continue;
        x->terms[x->term_n++] = (struct prompt_term){.hash = hash};
        if (x->names.n > 0)
            buf_lit(&x->names, ", ");
        buf_put(&x->names, word.here);
    }
}

static uint64_t match(const struct extraction *x, struct str text, size_t *ret_words)
{
    struct text_word word;
    uint64_t bits = 0;
    *ret_words = 0;
    for (; text_next_word(&text, &word); ++*ret_words)
        for (size_t i = 0; i < x->term_n; i++)
            if (x->terms[i].hash == text_hash((struct str){word.at, word.n}, 0))
                bits |= 1ull << i;
    return bits;
}

static struct str skip_bytes(struct str s, size_t n)
{
    return (struct str){s.at + n, s.n - n};
}

/* Takes list marks and quotes off the front. */
static struct str strip_marks(struct str s)
{
    for (;;) {
        s = str_trim(s);
        size_t digits = 0;
        while (digits < s.n && digits < 4 && s.at[digits] >= '0' && s.at[digits] <= '9')
            digits++;
        if (s.n > 1 && strchr("-*+>|", *s.at) != NULL && (s.at[1] == ' ' || *s.at == '|'))
            s = skip_bytes(s, 1);
        else if (digits > 0 && s.n > digits + 1 && (s.at[digits] == '.' || s.at[digits] == ')') &&
                 s.at[digits + 1] == ' ')
            s = skip_bytes(s, digits + 1);
        else
            return s;
    }
}

/* `heading` and `title` are what those hold of the question's words. A sentence without any of its
 * own counts only below a heading that has some: "How do I stop it?" stands above its answer. */
static void put_sentence(struct extraction *x, size_t source, struct str text, uint64_t heading,
                         uint64_t title)
{
    size_t words;
    uint64_t own = match(x, text, &words);
    if ((own | heading) == 0 || words < SENTENCE_MIN_WORDS || text.n > SENTENCE_MAX_BYTES ||
        text.at[text.n - 1] == '?' || x->n == SENTENCES_MAX)
        return;
    struct buf normal;
    buf_init(&normal, SENTENCE_MAX_BYTES * 2);
    text_put_normal(&normal, text);
    x->sentences[x->n] = (struct sentence){.text = text,
                                           .source = source,
                                           .place = x->n,
                                           .own = own,
                                           .heading = heading | title,
                                           .twin = text_hash(buf_str(&normal), 0)};
    x->n++;
    buf_fini(&normal);
}

static void read_sentences(struct extraction *x)
{
    for (size_t i = 0; i < x->prompt->source_n; i++) {
        const struct source *source = &x->prompt->sources[i];
        struct str rest = str_of(source->text), sentence;
        size_t words;
        uint64_t title = match(x, str_of(source->title), &words), heading = 0;
        while ((sentence = text_next_sentence(&rest)).n > 0) {
            if (*sentence.at == '#') {
                heading = match(x, sentence, &words);
                continue;
            }
            sentence = strip_marks(sentence);
            if (sentence.n > 0)
                put_sentence(x, i, sentence, heading, title);
        }
    }
}

/* Weighs the question's words: by the documents' own count where a search was made, else by how
 * few of the sentences at hand hold them. */
static void weigh(struct extraction *x)
{
    for (size_t i = 0; i < x->term_n; i++) {
        size_t holders = 0;
        for (size_t k = 0; k < x->n; k++)
            holders += x->sentences[k].own >> i & 1;
        x->terms[i].weight =
            log(1.0 + ((double)x->n - (double)holders + 0.5) / ((double)holders + 0.5));
        if (holders == 0)
            x->terms[i].weight = missing_weight;
        for (size_t k = 0; k < x->prompt->term_n; k++)
            if (x->prompt->terms[k].hash == x->terms[i].hash)
                x->terms[i].weight = x->prompt->terms[k].weight;
        x->weight += x->terms[i].weight;
    }
}

static double weight_of(const struct extraction *x, uint64_t bits)
{
    double weight = 0;
    for (size_t i = 0; i < x->term_n; i++)
        if (bits >> i & 1)
            weight += x->terms[i].weight;
    return weight;
}

static void score(struct extraction *x)
{
    uint64_t passages[PROMPT_SOURCES_MAX] = {0};
    for (size_t i = 0; i < x->n; i++)
        passages[x->sentences[i].source] |= x->sentences[i].own | x->sentences[i].heading;
    for (size_t i = 0; i < x->n; i++) {
        struct sentence *s = &x->sentences[i];
        double found = weight_of(x, s->own) + heading_price * weight_of(x, s->heading & ~s->own);
        s->coverage = x->weight > 0 ? found / x->weight : 0;
        s->context = x->weight > 0 ? weight_of(x, passages[s->source]) / x->weight : 0;
        double length_cost = 1.0 + (double)s->text.n / 2000.0;
        s->score = s->coverage * (1.0 - rank_cost * (double)s->source) / length_cost;
        /* Prose reads better than a table's row. */
        if (memchr(s->text.at, '|', s->text.n) != NULL)
            s->score *= row_price;
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

/* Moves the sentences that are good enough to the front, in the order in which they are told. */
static size_t take(struct extraction *x)
{
    if (x->n > 1)
        qsort(x->sentences, x->n, sizeof *x->sentences, compare_scores);
    size_t n = 0;
    for (size_t i = 0; i < x->n && n < TAKEN_MAX; i++) {
        const struct sentence *s = &x->sentences[i];
        bool is_twin = false;
        for (size_t k = 0; k < n && !is_twin; k++)
            is_twin = x->sentences[k].twin == s->twin;
        bool fits = s->coverage >= least_coverage ||
                    (s->coverage >= least_in_context && s->context >= least_of_context);
        if (!is_twin && fits && s->score >= least_of_best * x->sentences[0].score)
            x->sentences[n++] = *s;
    }
    if (n > 1)
        qsort(x->sentences, n, sizeof *x->sentences, compare_places);
    return n;
}

static void put_plain(struct buf *b, struct str text)
{
    bool is_gap = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.at[i];
        if (c == ' ' || c == '\n' || c == '\t') {
            is_gap = true;
            continue;
        }
        if (is_gap)
            buf_put_char(b, ' ');
        buf_put_char(b, c);
        is_gap = false;
    }
}

static void put_answer(const struct extraction *x, size_t taken, struct buf *answer)
{
    size_t numbers[PROMPT_SOURCES_MAX] = {0}, next = 1;
    for (size_t i = 0; i < taken; i++) {
        const struct sentence *s = &x->sentences[i];
        /* Passages that came with the prompt keep the numbers that their sender knows. */
        if (numbers[s->source] == 0)
            numbers[s->source] = x->prompt->has_given_sources ? s->source + 1 : next++;
        if (i > 0)
            buf_put_char(answer, ' ');
        put_plain(answer, s->text);
        buf_printf(answer, " [%zu]", numbers[s->source]);
    }
    if (x->prompt->has_given_sources)
        return; /* who gave them shows them */
    buf_lit(answer, "\n\nSources:");
    for (size_t i = 0; i < x->prompt->source_n; i++)
        if (numbers[i] != 0)
            buf_printf(answer, "\n[%zu] %s", numbers[i], x->prompt->sources[i].title);
}

static void put_think(const struct extraction *x, size_t taken, struct buf *think)
{
    const struct prompt *prompt = x->prompt;
    buf_lit(think, "Built-in extractive model, no language model. ");
    if (prompt->has_given_sources)
        buf_printf(think, "Read the %zu passages that came with the question", prompt->source_n);
    else if (prompt->searched_passages > 0)
        buf_printf(think, "Searched %llu passages of %llu documents and read the best %zu",
                   (unsigned long long)prompt->searched_passages,
                   (unsigned long long)prompt->searched_documents, prompt->source_n);
    else
        buf_lit(think, "This engine has no documents to search (see --corpus and --llm)");
    if (x->names.n > 0) {
        buf_lit(think, ", looking for: ");
        buf_put(think, buf_str(&x->names));
    } else {
        buf_lit(think, "; the question has no word to look for");
    }
    if (taken > 0)
        buf_printf(think, ". %zu of their sentences fit and are copied word for word.", taken);
    else
        buf_lit(think, ". No sentence fits well enough to be an answer.");
}

void extractive_answer(const struct prompt *prompt, struct buf *think, struct buf *answer)
{
    struct extraction x = {.prompt = prompt,
                           .sentences = calloc(SENTENCES_MAX, sizeof *x.sentences)};
    if (x.sentences == NULL)
        abort();
    buf_init(&x.names, 4096);
    read_terms(&x);
    read_sentences(&x);
    weigh(&x);
    score(&x);
    size_t taken = take(&x);
    put_think(&x, taken, think);
    if (taken > 0)
        put_answer(&x, taken, answer);
    else
        buf_lit(answer, EXTRACTIVE_NOTHING);
    buf_fini(&x.names);
    free(x.sentences);
}
