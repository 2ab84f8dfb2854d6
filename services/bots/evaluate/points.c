/* SPDX-License-Identifier: MIT
 * points.c - POST /api/bots/evaluate: how similar several answers to a question are to the original
 * one, as the first clients of annex ask for it.
 *
 *   the original --> the 1st answer --> ... --> the last one --> responded
 *
 * What is compared are the embeddings of `question + " " + answer`. A text that has no embedding
 * fails the request: points among the rest would mean something else. */
#include "services/bots/evaluate/evaluate.h"
#include "services/bots/evaluate/measure.h"

#include "shared/base/json_scan.h"
#include "shared/base/mem.h"
#include "shared/embed/embed.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/respond.h"
#include "shared/text/text.h"

#include <stdio.h>

enum {
    ANSWERS_MAX = 50,
    TEXT_MAX_BYTES = 64 << 10,
    NAME_MAX_BYTES = 128,
    EMBED_MAX_BYTES = 8192 /* as in compare.c */
};

struct scoring {
    struct request *r;
    struct bots *bots;
    struct embedding *embedding;
    struct str question, original;
    struct json_member answers[ANSWERS_MAX];
    double similarities[ANSWERS_MAX];
    size_t answer_n, place; /* 0: the original */
    float *vector;          /* of the original; own memory */
    uint32_t dimension;
};

static void on_gone(struct request *r)
{
    struct scoring *s = r->state;
    embed_cancel(s->bots->settings->embedder, s->embedding);
    free(s->vector);
}

static void respond(struct scoring *s)
{
    double min = s->similarities[0], max = s->similarities[0];
    struct buf *b = &s->r->server->scratch;
    for (size_t i = 1; i < s->answer_n; i++) {
        min = s->similarities[i] < min ? s->similarities[i] : min;
        max = s->similarities[i] > max ? s->similarities[i] : max;
    }
    buf_clear(b);
    buf_printf(b, "{\"message\":\"Compared %zu answer%s with the original.\"", s->answer_n,
               s->answer_n == 1 ? "" : "s");
    buf_put_key(b, "scoredDistances");
    buf_put_char(b, '{');
    for (size_t i = 0; i < s->answer_n; i++) {
        if (i > 0)
            buf_put_char(b, ',');
        buf_put_span(b, &s->answers[i].name);
        buf_printf(b, ":{\"similarity\":%.17g,\"points\":%u}", s->similarities[i],
                   measure_points(s->similarities[i], min, max));
    }
    buf_lit(b, "}}");
    respond_json(s->r, 200, b);
}

/* Returns true if another text is to be embedded. */
static bool take(struct scoring *s, const float *vector, uint32_t dimension)
{
    bool is_sound = measure_is_sound(vector, dimension);
    if (s->place == 0 && is_sound) {
        s->vector = mem_alloc(dimension * sizeof *vector);
        memcpy(s->vector, vector, dimension * sizeof *vector);
        s->dimension = dimension;
    } else if (is_sound && dimension == s->dimension) {
        is_sound = measure_similarity(s->vector, vector, dimension, &s->similarities[s->place - 1]);
    } else {
        is_sound = false;
    }
    if (!is_sound) {
        respond_error(s->r, ERR_BAD_REQUEST,
                      s->place == 0 ? "The question with the original answer has no embedding that "
                                      "can be compared: it is zero or not finite."
                                    : "The question with one of the answers has no embedding that "
                                      "can be compared: it is zero or not finite.");
        return false;
    }
    if (s->place == s->answer_n) {
        respond(s);
        return false;
    }
    s->place++;
    return true;
}

static void put_text(struct buf *b, const struct scoring *s)
{
    buf_put(b, s->question);
    buf_put_char(b, ' ');
    if (s->place == 0)
        buf_put(b, s->original);
    else
        buf_put_span_text(b, &s->answers[s->place - 1].value);
}

static struct str cut(const struct buf *b)
{
    struct str text = buf_str(b);
    text.n = text_floor(text, text.n < EMBED_MAX_BYTES ? text.n : EMBED_MAX_BYTES);
    return text;
}

static void embed(struct scoring *s);

static void on_embedded(void *context, const float *vector, uint32_t dimension, const char *reason)
{
    struct scoring *s = context;
    s->embedding = NULL;
    if (vector == NULL) {
        char detail[400];
        snprintf(detail, sizeof detail, "The embedding server gave no vector (%s): retry later.",
                 reason);
        respond_error_more(s->r, ERR_BUSY, detail, NULL, 5);
    } else if (take(s, vector, dimension)) {
        embed(s);
    }
}

static void embed(struct scoring *s)
{
    struct embedder *embedder = s->bots->settings->embedder;
    struct buf b;
    bool goes_on;
    do {
        float *vector = NULL;
        uint32_t dimension;
        goes_on = false;
        buf_init(&b, 2 * TEXT_MAX_BYTES + 1);
        put_text(&b, s);
        struct str text = cut(&b);
        if (!embedder->is_quick)
            s->embedding = embed_start(embedder, evaluate_client(s->bots), text, on_embedded, s);
        else if (embed_texts(embedder, &text, 1, NULL, &vector, &dimension, NULL))
            goes_on = take(s, vector, dimension);
        else
            respond_error(s->r, ERR_INTERNAL, NULL);
        free(vector);
        buf_fini(&b);
    } while (goes_on);
}

/* --- the request ------------------------------------------------------------------------------ */

static bool refuse(struct request *r)
{
    return explain_member(r, "emsAnswers",
                          "an object of 1 to 50 answers: names of at most 128 bytes, each with a "
                          "string of at most 64 KiB");
}

static bool is_short(const struct json_span *text, size_t max)
{
    return text->kind == JSON_SPAN_TEXT && text->raw.n <= max;
}

static bool read_answers(struct request *r, struct scoring *s)
{
    const struct json_span *answers = request_member(r, "emsAnswers");
    const char *reason;
    size_t at;
    bool is_object;
    if (answers == NULL || answers->kind != JSON_SPAN_OBJECT ||
        !json_scan_object(answers->raw, s->answers, ANSWERS_MAX, &s->answer_n, &reason, &at,
                          &is_object) ||
        s->answer_n == 0 || s->answer_n > ANSWERS_MAX)
        return refuse(r);
    for (size_t i = 0; i < s->answer_n; i++) {
        for (size_t k = 0; k < i; k++) /* a name twice: the last one counts for json_parse */
            if (str_eq(s->answers[k].name.raw, s->answers[i].name.raw))
                return refuse(r);
        if (!is_short(&s->answers[i].value, TEXT_MAX_BYTES) ||
            s->answers[i].name.raw.n > NAME_MAX_BYTES)
            return refuse(r);
    }
    return true;
}

void evaluate_points(struct request *r)
{
    struct scoring *s = request_alloc(r, sizeof *s);
    *s = (struct scoring){.r = r, .bots = bots_of(r)};
    if (!request_body(r) || !request_text(r, "question", 0, TEXT_MAX_BYTES, &s->question) ||
        !request_text(r, "originalAnswer", 1, TEXT_MAX_BYTES, &s->original) || !read_answers(r, s))
        return;
    r->state = s;
    r->on_gone = on_gone;
    embed(s);
}
