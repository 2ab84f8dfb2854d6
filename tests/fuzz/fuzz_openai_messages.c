/* SPDX-License-Identifier: MIT
 * fuzz_openai_messages.c - requests of Anthropic's interface as chat requests, and what an engine
 * sends as its events: JSON, whatever came. */
#include "services/openai/messages/events.h"
#include "services/openai/messages/passed.h"
#include "services/openai/messages/translate.h"
#include "services/openai/messages/whole.h"

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

/* The same of an engine that serves messages itself. */
static void pass(struct str text)
{
    const struct usage usage = {.request_bytes = 1};
    struct passed passed;
    struct members event;
    struct buf b;
    passed_init(&passed, true);
    buf_init(&b, MESSAGE_EVENT_MAX_BYTES);
    while (text.at != NULL) {
        struct str line = str_cut(&text, '\n');
        const char *name;
        if (passed_is_event(line, &event) &&
            passed_take(&passed, line, &event, &name) == PASSED_WRONG)
            break;
    }
    passed_put_start(&passed, &b, STR("msg_1"), STR("m"), &usage);
    expect_json(&b);
    buf_clear(&b);
    passed_put_end(&passed, &b, STR(""), &usage);
    expect_json(&b);
    buf_clear(&b);
    passed_put_whole(&passed, &b, STR("msg_1"), STR("m"), STR(""), &usage);
    expect_json(&b);
    buf_fini(&b);
    passed_fini(&passed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    translate(text);
    answer(text);
    pass(text);
    return 0;
}
