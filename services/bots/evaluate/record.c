/* SPDX-License-Identifier: MIT
 * record.c - a turn as it is stored, and the sums over all turns (see evaluation.h). Texts are cut,
 * so that a run of 2,000 turns fits into what a run may store, whatever the bot says. */
#include "services/bots/evaluate/evaluation.h"

#include "shared/base/json.h"
#include "shared/text/text.h"

#include <stdlib.h>

/* Limits of JSON, in bytes. */
enum { TEXT_BYTES = 500, ORIGINAL_BYTES = 1000, ANSWER_BYTES = 1000 };

void record_put_text(struct buf *b, struct str text, size_t max)
{
    struct buf json;
    size_t n = text_floor(text, text.n < max ? text.n : max);
    /* An escape is six bytes at most, so this ends soon. */
    buf_init(&json, max + 2);
    buf_put_json(&json, (struct str){text.at, n});
    while (json.is_over) {
        buf_clear(&json);
        json.is_over = false;
        n = text_floor(text, n - n / 4 - 1);
        buf_put_json(&json, (struct str){text.at, n});
    }
    buf_put(b, buf_str(&json));
    buf_fini(&json);
}

static void put_span(struct buf *b, const struct json_span *span, size_t max)
{
    struct buf plain;
    buf_init(&plain, CONVERSATION_TEXT_MAX_BYTES);
    buf_put_span_text(&plain, span);
    record_put_text(b, buf_str(&plain), max);
    buf_fini(&plain);
}

static void put_number(struct buf *b, double value)
{
    buf_printf(b, "%.17g", value);
}

static void put_measured(struct buf *b, bool is_measured, double value)
{
    if (is_measured)
        put_number(b, value);
    else
        buf_lit(b, "null");
}

void record_put_turn(struct buf *b, const struct evaluation *e)
{
    const struct conversation_turn *turn = &e->talk.turns[e->at];
    const struct conversation_message *message = &e->talk.messages[turn->message];
    bool has_failed = e->error[0] != 0;
    buf_printf(b, "{\"turn\":%u,\"id\":\"%.*s\",\"text\":", e->at + 1, STR_ARG(message->id.raw));
    put_span(b, &message->text, TEXT_BYTES);
    buf_printf(b, ",\"originals\":%u,\"original\":", turn->original_n);
    if (has_failed || e->nearest == 0)
        buf_lit(b, "null");
    else
        put_span(b, &message[e->nearest].text, ORIGINAL_BYTES);
    buf_put_key(b, "answer");
    if (e->answer == NULL)
        buf_lit(b, "null");
    else
        record_put_text(b, str_of(e->answer), ANSWER_BYTES);
    buf_put_key(b, "distance");
    put_measured(b, !has_failed, e->distance);
    buf_put_key(b, "score");
    put_measured(b, !has_failed, measure_score(e->distance));
    buf_put_key(b, "error");
    if (has_failed)
        record_put_text(b, str_of(e->error), EVALUATION_ERROR_BYTES);
    else
        buf_lit(b, "null");
    buf_printf(b, ",\"attempts\":%u,\"ms\":%llu}", e->attempt,
               (unsigned long long)(clock_mono_ms() - e->began_ms));
}

void record_put_summary(struct buf *b, const struct evaluation_summary *summary)
{
    buf_printf(b, "{\"n\":%llu,\"mean\":", (unsigned long long)summary->distances.n);
    put_number(b, summary->distances.mean);
    buf_put_key(b, "m2");
    put_number(b, summary->distances.m2);
    buf_printf(b, ",\"failed\":%llu,\"failed_in_row\":%llu,\"reason\":",
               (unsigned long long)summary->failed, (unsigned long long)summary->failed_in_row);
    record_put_text(b, str_of(summary->reason), EVALUATION_ERROR_BYTES);
    buf_put_char(b, '}');
}

static uint64_t count_of(const json_t *root, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(root, name));
    return value > 0 ? (uint64_t)value : 0;
}

void record_read_summary(struct str json, struct evaluation_summary *ret_summary)
{
    char reason[200];
    json_t *root = NULL;
    struct evaluation_summary s = {.failed = 0};
    if (json.n > 0 && json_parse(json, reason, sizeof reason, &root)) {
        struct str why = json_member_str(root, "reason");
        s.distances = (struct statistics){count_of(root, "n"),
                                          json_number_value(json_object_get(root, "mean")),
                                          json_number_value(json_object_get(root, "m2"))};
        s.failed = count_of(root, "failed");
        s.failed_in_row = count_of(root, "failed_in_row");
        if (why.n > 0 && why.n <= EVALUATION_ERROR_BYTES)
            memcpy(s.reason, why.at, why.n);
    }
    json_decref(root);
    *ret_summary = s;
}
