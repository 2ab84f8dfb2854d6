/* SPDX-License-Identifier: MIT
 * fuzz_openai_messages.c - requests of Anthropic's interface as chat requests, and what an engine
 * sends as its events: JSON, whatever came. */
#include "services/openai/messages/events.h"
#include "services/openai/messages/translate.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_json(const struct buf *b)
{
    struct members members;
    if (!b->is_over && !members_read(&members, buf_str(b)))
        abort();
}

static void put_event(void *context, const char *event, const struct buf *data)
{
    (void)context;
    (void)event;
    expect_json(data);
}

static void translate(struct str body)
{
    char fault[MESSAGE_FAULT_BYTES];
    struct json_span title = {.kind = JSON_SPAN_ABSENT};
    struct buf b;
    buf_init(&b, TRANSLATE_MAX_BYTES);
    if (translate_messages(&b, body, true, fault))
        expect_json(&b);
    translate_title(body, &title);
    buf_fini(&b);
}

static void answer(struct str text)
{
    struct usage usage;
    struct message_events events;
    struct str whole = text;
    struct buf b;
    usage_init(&usage, 0);
    message_events_init(&events, put_event, NULL, &usage);
    message_events_begin(&events, STR("msg_1"), STR("m"));
    while (text.at != NULL)
        if (!message_events_give(&events, str_cut(&text, '\n')))
            break;
    message_events_end(&events, STR(""));
    message_events_fini(&events);
    usage_fini(&usage);
    buf_init(&b, MESSAGE_EVENT_MAX_BYTES);
    if (message_put_whole(&b, STR("msg_1"), STR("m"), whole))
        expect_json(&b);
    buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    translate(text);
    answer(text);
    return 0;
}
