/* SPDX-License-Identifier: MIT
 * chat.c - POST /v1/chat/completions: reads the request. Engines get its body as it came;
 * models of services get the question in it. */
#include "services/openai/input.h"
#include "services/openai/own_chat.h"
#include "services/openai/own_models.h"

/* The text of the last message of a user. */
static struct str title_of(struct request *r)
{
    struct members message;
    struct json_span item, part;
    struct str raw = STR("");
    const struct json_span *messages = request_member(r, "messages");
    for (struct str rest = json_list_inside(messages); json_next_item(&rest, &item);) {
        if (!members_read(&message, item.raw))
            continue;
        const struct json_span *role = members_get_kind(&message, "role", JSON_SPAN_TEXT),
                               *content = members_get(&message, "content");
        if (role == NULL || !str_eq(role->raw, STR("user")) || content == NULL)
            continue;
        raw = content->raw;
        if (content->kind == JSON_SPAN_TEXT) {
            raw = input_title(r, content);
            continue;
        }
        raw = STR("");
        for (struct str parts = json_list_inside(content); json_next_item(&parts, &part);) {
            struct members inner;
            const struct json_span *text = members_read(&inner, part.raw)
                                               ? members_get_kind(&inner, "text", JSON_SPAN_TEXT)
                                               : NULL;
            if (text != NULL)
                raw = input_title(r, text);
        }
    }
    return raw;
}

void openai_chat(struct request *r)
{
    struct job_settings settings = {.api = OPENAI_CHAT};
    struct str engine_model;
    if (!request_body(r) || !input_read(r, &settings) || !input_list(r, "messages"))
        return;
    settings.own = own_models_find(r, settings.model, &engine_model);
    if (settings.own != NULL && !own_chat_read(r, &settings, engine_model))
        return;
    settings.title = title_of(r);
    job_start(r, &settings);
}
