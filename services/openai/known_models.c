/* SPDX-License-Identifier: MIT
 * known_models.c - see known_models.h. The lines of a model's Apis follow each other. */
#include "services/openai/known_models.h"

static void read_api(struct lines *lines, struct known_model *model)
{
    struct str api = lines_next(lines);
    uint64_t age_ms = lines_next_u64(lines);
    if (model->api_n < KNOWN_APIS_MAX)
        model->apis[model->api_n++] = api;
    if (age_ms < model->age_ms)
        model->age_ms = age_ms;
    bool is_chat = str_eq(api, STR("chat"));
    if (is_chat)
        model->chat_age_ms = age_ms;
    if ((is_chat || str_eq(api, STR("messages"))) && age_ms < model->message_age_ms)
        model->message_age_ms = age_ms;
}

bool known_models_next(struct lines *lines, struct known_model *ret_model)
{
    struct known_model model = {.name = lines_next(lines),
                                .age_ms = UINT64_MAX,
                                .chat_age_ms = UINT64_MAX,
                                .message_age_ms = UINT64_MAX};
    if (model.name.n == 0)
        return false;
    read_api(lines, &model);
    for (struct lines ahead = *lines; str_eq(lines_next(&ahead), model.name); *lines = ahead)
        read_api(&ahead, &model);
    *ret_model = model;
    return true;
}

bool known_models_find(struct lines *lines, struct str name, struct known_model *ret_model)
{
    struct known_model model;
    struct buf wanted;
    bool is_found = false;
    buf_init(&wanted, 3 * name.n + 1);
    buf_put_name(&wanted, name);
    while (!is_found && known_models_next(lines, &model))
        is_found = str_eq(model.name, buf_str(&wanted));
    buf_fini(&wanted);
    if (is_found)
        *ret_model = model;
    return is_found;
}

bool known_model_is_for(const struct known_model *model, struct str api)
{
    for (unsigned i = 0; i < model->api_n; i++)
        if (str_eq(model->apis[i], api))
            return true;
    return false;
}

bool known_models_find_chat(struct str reply, struct str name, uint64_t *ret_age_ms)
{
    struct lines lines = lines_of(reply);
    struct known_model found;
    (void)lines_next(&lines); /* the tag */
    if (!known_models_find(&lines, name, &found) || found.chat_age_ms == UINT64_MAX)
        return false;
    *ret_age_ms = found.chat_age_ms;
    return true;
}
