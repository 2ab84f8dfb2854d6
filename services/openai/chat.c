/* SPDX-License-Identifier: MIT
 * chat.c - POST /v1/chat/completions: reads the request. Engines get its body as it came;
 * models of services get the question in it. */
#include "services/openai/input.h"
#include "services/openai/own_chat.h"
#include "services/openai/own_models.h"

void openai_chat(struct request *r)
{
    struct job_settings settings = {.api = OPENAI_CHAT};
    struct str engine_model;
    if (!request_body(r) || !input_read(r, &settings) || !input_list(r, "messages"))
        return;
    settings.own = own_models_find(r, settings.model, &engine_model);
    if (settings.own != NULL &&
        !own_chat_read(r, &settings, request_member(r, "messages"), engine_model))
        return;
    settings.title = input_title_of_messages(r, request_member(r, "messages"));
    job_start(r, &settings);
}
