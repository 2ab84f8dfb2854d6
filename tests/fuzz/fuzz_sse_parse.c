/* SPDX-License-Identifier: MIT
 * fuzz_sse_parse.c - what a model server sends: events, <think>, citation marks, and the deltas
 * that are made of it. The first byte says how the rest is cut into pieces; the result must be that
 * of the whole. */
#include "services/engine/models/messages_delta.h"
#include "services/engine/models/openai_delta.h"
#include "services/engine/models/openai_reply.h"
#include "services/engine/models/stream.h"
#include "shared/http/request/error_text.h"
#include "shared/text/cite.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct run {
    struct buf events, think, answer, cited, replied;
    struct delta_maker maker;
    struct messages_maker messages;
};

static bool on_event(void *context, struct str type, struct str data)
{
    struct run *run = context;
    buf_put(&run->events, type);
    buf_put_char(&run->events, 0);
    buf_put(&run->events, data);
    buf_put_char(&run->events, 0);
    return true;
}

static bool on_text(void *context, struct str think, struct str answer)
{
    struct run *run = context;
    buf_put(&run->replied, think);
    buf_put_char(&run->replied, 0);
    buf_put(&run->replied, answer);
    buf_put_char(&run->replied, 0);
    if (!str_is_utf8(think) || !str_is_utf8(answer))
        abort();
    return true;
}

/* Their ids are random, but equally long. */
static bool on_delta(void *context, struct str delta)
{
    struct run *run = context;
    char reason[160];
    json_t *json;
    if (delta.n > DELTA_MAX_BYTES || !json_parse(delta, reason, sizeof reason, &json))
        abort();
    json_decref(json);
    buf_printf(&run->replied, "%zu ", delta.n);
    return true;
}

static bool on_chunk(void *context, const json_t *json, bool is_repaired)
{
    struct run *run = context;
    return delta_maker_feed(&run->maker, json, is_repaired);
}

static bool on_event_chunk(void *context, const json_t *json, bool is_repaired)
{
    struct run *run = context;
    return messages_maker_feed(&run->messages, json, is_repaired);
}

/* The same body, as the engine reads it of Anthropic's interface. */
static void reply_to_message(struct run *run, struct str in, size_t step)
{
    struct openai_reply reply;
    bool goes_on = true;
    reply_init(&reply, on_text, on_event_chunk, run);
    reply.is_of_messages = true;
    messages_maker_init(&run->messages, on_delta, run);
    for (size_t at = 0; at < in.n && goes_on; at += step)
        goes_on = reply_feed(&reply, (struct str){in.at + at, in.n - at < step ? in.n - at : step});
    reply_finish(&reply, goes_on);
    messages_maker_fini(&run->messages);
    buf_printf(&run->replied, "%s %s %d", reply.finish, reply.reason, reply_is_whole(&reply));
    reply_fini(&reply);
}

/* The same body, as the engine reads it. */
static void reply_to(struct run *run, struct str in, size_t step)
{
    struct openai_reply reply;
    bool goes_on = true;
    enum api api = in.n % 2 == 0 ? API_CHAT : API_COMPLETIONS;
    reply_init(&reply, on_text, on_chunk, run);
    delta_maker_init(&run->maker, api, on_delta, run);
    for (size_t at = 0; at < in.n && goes_on; at += step)
        goes_on = reply_feed(&reply, (struct str){in.at + at, in.n - at < step ? in.n - at : step});
    reply_finish(&reply, goes_on);
    if (delta_maker_finish(&run->maker) && run->maker.choice_n > 0 &&
        !delta_maker_has_ended(&run->maker))
        abort();
    delta_maker_fini(&run->maker);
    buf_printf(&run->replied, "%s %s %d %d", reply.finish, reply.reason, reply_is_whole(&reply),
               reply.is_hopeless);
    reply_fini(&reply);
}

static void feed(struct run *run, struct str in, size_t step)
{
    struct sse sse;
    struct think_split split = {.where = THINK_START};
    struct cite_filter cite = {.source_n = 3};
    bool goes_on = true;
    sse_init(&sse, 1 << 20);
    for (size_t at = 0; at < in.n; at += step) {
        struct str piece = {in.at + at, in.n - at < step ? in.n - at : step};
        goes_on = goes_on && sse_feed(&sse, piece, on_event, run);
        size_t answer_n = run->answer.n;
        think_feed(&split, piece, &run->think, &run->answer);
        if (run->answer.n > answer_n)
            cite_feed(&cite, (struct str){run->answer.at + answer_n, run->answer.n - answer_n},
                      &run->cited);
    }
    think_finish(&split, &run->think, &run->answer);
    cite_finish(&cite, &run->cited);
    sse_fini(&sse);
    reply_to(run, in, step);
    reply_to_message(run, in, step);
    http_put_error_text(&run->replied, in);
    if (!str_is_utf8((struct str){run->replied.at, run->replied.n}))
        abort();
}

static void init(struct run *run)
{
    buf_init(&run->events, 1 << 22);
    buf_init(&run->think, 1 << 22);
    buf_init(&run->answer, 1 << 22);
    buf_init(&run->cited, 1 << 22);
    buf_init(&run->replied, 1 << 22);
}

static void fini(struct run *run)
{
    buf_fini(&run->events);
    buf_fini(&run->think);
    buf_fini(&run->answer);
    buf_fini(&run->cited);
    buf_fini(&run->replied);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct run whole, cut;
    if (n < 2)
        return 0;
    struct str in = {(const char *)data + 1, n - 1};
    init(&whole);
    init(&cut);
    feed(&whole, in, in.n);
    feed(&cut, in, 1 + data[0] % 16);
    if (!str_eq(buf_str(&whole.events), buf_str(&cut.events)) ||
        !str_eq(buf_str(&whole.think), buf_str(&cut.think)) ||
        !str_eq(buf_str(&whole.answer), buf_str(&cut.answer)) ||
        !str_eq(buf_str(&whole.cited), buf_str(&cut.cited)) ||
        !str_eq(buf_str(&whole.replied), buf_str(&cut.replied)))
        abort();
    fini(&whole);
    fini(&cut);
    return 0;
}
