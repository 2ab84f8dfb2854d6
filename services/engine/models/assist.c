/* SPDX-License-Identifier: MIT
 * assist.c - see assist.h.
 *
 *   rewrite   the question without greetings and filler (filler.h)
 *   ranking   the passages that share words with the question, those that share most first
 *   plan      a search for each part of the question (halves.h), then the answer
 *   step      search for each part; then open the passage that shares most words with the question;
 *             then answer. How far it is shows in the prompt: one line "Call N: ..." per tool call.
 */
#include "services/engine/models/assist.h"

#include "services/engine/models/filler.h"
#include "services/engine/models/halves.h"
#include "shared/text/text.h"

enum { WORDS_MAX = 64, QUESTION_MAX_BYTES = 32 << 10 };

/* ---- rewrite ---- */

static void put_cleaned_json(struct buf *answer, const struct prompt *prompt)
{
    struct buf text;
    buf_init(&text, QUESTION_MAX_BYTES);
    struct str question = prompt->question;
    question.n = text_floor(question, question.n < QUESTION_MAX_BYTES / 2 ? question.n
                                                                          : QUESTION_MAX_BYTES / 2);
    filler_put_without(&text, question);
    buf_put_json(answer, buf_str(&text));
    buf_fini(&text);
}

/* ---- ranking ---- */

struct wanted {
    uint64_t words[WORDS_MAX];
    size_t n;
};

static void read_wanted(struct wanted *wanted, struct str question)
{
    struct text_word word;
    while (wanted->n < WORDS_MAX && text_next_word(&question, &word)) {
        uint64_t hash = text_word_key(&word);
        bool is_known = word.is_stop;
        for (size_t i = 0; i < wanted->n && !is_known; i++)
            is_known = wanted->words[i] == hash;
        if (!is_known)
            wanted->words[wanted->n++] = hash;
    }
}

static uint64_t match(const struct wanted *wanted, const char *text)
{
    struct str rest = str_of(text);
    struct text_word word;
    uint64_t bits = 0;
    while (text_next_word(&rest, &word))
        for (size_t i = 0; i < wanted->n; i++)
            if (wanted->words[i] == text_word_key(&word))
                bits |= 1ull << i;
    return bits;
}

/* How many of the question's words each passage holds, its title included. */
static void count_shared(const struct prompt *prompt, int *shared)
{
    struct wanted wanted = {.n = 0};
    read_wanted(&wanted, prompt->question);
    for (size_t i = 0; i < prompt->source_n; i++)
        shared[i] = __builtin_popcountll(match(&wanted, prompt->sources[i].title) |
                                         match(&wanted, prompt->sources[i].text));
}

/* The passage that shares most words, the first of equals; its `shared` is used up. */
static size_t take_best(const struct prompt *prompt, int *shared, int *ret_shared)
{
    size_t best = 0;
    for (size_t i = 1; i < prompt->source_n; i++)
        if (shared[i] > shared[best])
            best = i;
    *ret_shared = shared[best];
    shared[best] = -1;
    return best;
}

static void put_ranking(const struct prompt *prompt, struct buf *answer)
{
    int shared[PROMPT_SOURCES_MAX] = {0}, most;
    count_shared(prompt, shared);
    buf_lit(answer, "{\"ranking\":[");
    for (size_t i = 0; i < prompt->source_n; i++) {
        size_t best = take_best(prompt, shared, &most);
        if (most <= 0)
            break;
        buf_printf(answer, i > 0 ? ",%zu" : "%zu", best + 1);
    }
    buf_lit(answer, "]}");
}

/* ---- the agent ---- */

enum { SEARCH_MAX_BYTES = 400 };

static void put_search(struct buf *b, struct str question)
{
    filler_put_without(b, (struct str){question.at, text_floor(question, SEARCH_MAX_BYTES)});
}

static void put_plan(const struct prompt *prompt, struct buf *answer)
{
    struct str halves[HALVES_MAX];
    size_t n = halves_of(prompt->question, halves);
    buf_lit(answer, "{\"steps\":[");
    for (size_t i = 0; i < n; i++) {
        struct buf step;
        buf_init(&step, QUESTION_MAX_BYTES * 2);
        buf_lit(&step, "Search the documents for: ");
        put_search(&step, halves[i]);
        buf_put_json(answer, buf_str(&step));
        buf_put_char(answer, ',');
        buf_fini(&step);
    }
    buf_lit(answer, "\"Answer from the passages found.\"]}");
}

static size_t count_calls(struct str said)
{
    size_t n = 0;
    while (said.at != NULL)
        n += str_has_prefix(str_cut(&said, '\n'), STR("Call "));
    return n;
}

static void put_search_step(struct buf *answer, struct str question)
{
    struct buf query;
    buf_init(&query, QUESTION_MAX_BYTES);
    put_search(&query, question);
    buf_lit(answer, "{\"tool\":\"search_docs\",\"input\":{\"query\":");
    buf_put_json(answer, buf_str(&query));
    buf_lit(answer, "},\"notes\":\"Built-in rule: search for each part of the question.\"}");
    buf_fini(&query);
}

/* A search for each part of the question, then the best passage is opened, then the answer. */
static void put_step(const struct prompt *prompt, struct buf *answer)
{
    struct str halves[HALVES_MAX];
    size_t calls = count_calls(prompt->said), n = halves_of(prompt->question, halves);
    int shared[PROMPT_SOURCES_MAX] = {0}, most;
    if (calls < n) {
        put_search_step(answer, halves[calls]);
    } else if (calls == n && prompt->source_n > 0) {
        count_shared(prompt, shared);
        buf_printf(answer,
                   "{\"tool\":\"open_citation\",\"input\":{\"citation\":%zu},"
                   "\"notes\":\"Built-in rule: read the best passage whole.\"}",
                   take_best(prompt, shared, &most) + 1);
    } else {
        buf_lit(answer, "{\"tool\":\"final\",\"input\":{},"
                        "\"notes\":\"Built-in rule: answer from what was found.\"}");
    }
}

void assist_reply(const struct prompt *prompt, struct buf *answer)
{
    switch (prompt->kind) {
    case PROMPT_REWRITE:
        buf_lit(answer, "{\"rewritten_query\":");
        put_cleaned_json(answer, prompt);
        buf_put_char(answer, '}');
        break;
    case PROMPT_RANKING: put_ranking(prompt, answer); break;
    case PROMPT_PLAN: put_plan(prompt, answer); break;
    default: put_step(prompt, answer);
    }
}
