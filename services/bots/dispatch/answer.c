/* SPDX-License-Identifier: MIT
 * answer.c - see answer.h. Zulip's rules are those of https://zulip.com/api/outgoing-webhooks and
 * of its server: an object without content, or with nothing but white space in it, is no reply. */
#include "services/bots/dispatch/answer.h"

#include "shared/base/json_fault.h"

enum { REASON_BYTES = 200 };

static const struct str names[BOT_FORMAT_NR] = {
    [BOT_FORMAT_ANNEX] = {"annex", 5}, [BOT_FORMAT_ZULIP] = {"zulip", 5}};

struct str bot_format_name(enum bot_format format)
{
    return names[format];
}

bool bot_format_of(struct str name, enum bot_format *ret_format)
{
    for (unsigned i = 0; i < BOT_FORMAT_NR; i++)
        if (str_eq(names[i], name)) {
            *ret_format = (enum bot_format)i;
            return true;
        }
    return false;
}

static const char *take_text(struct bot_answer *answer, const json_t *text, const char *fault)
{
    answer->text = json_str(text);
    if (answer->text.at == NULL)
        return fault;
    if (answer->text.n > BOT_ANSWER_MAX_BYTES)
        return "is larger than 64 KiB";
    return NULL;
}

static bool has_alike(json_t *object, const char *name)
{
    const char *other;
    json_t *value;
    json_object_foreach(object, other, value)
    {
        if (json_is_alike(str_of(other), str_of(name)))
            return true;
    }
    return false;
}

static const char *read_annex(struct bot_answer *answer)
{
    const char *fault = has_alike(answer->json, "message")
                            ? "has a member whose name is almost \"message\": correct its spelling"
                            : "has neither a text \"message\" nor \"response_not_required\": true";
    const char *wrong = take_text(answer, json_object_get(answer->json, "message"), fault);
    return wrong == NULL && answer->text.n == 0 ? "has an empty \"message\"" : wrong;
}

static const char *read_zulip(struct bot_answer *answer)
{
    const json_t *text = json_object_get(answer->json, "response_string");
    if (text == NULL)
        text = json_object_get(answer->json, "content");
    if (text == NULL && has_alike(answer->json, "content")) /* its text would be lost */
        return "has a member whose name is almost \"content\": correct its spelling";
    if (text == NULL || json_is_null(text)) {
        answer->is_silent = true;
        return NULL;
    }
    const char *fault = take_text(answer, text, "has a \"content\" that is no text");
    answer->is_silent = fault == NULL && str_trim(answer->text).n == 0;
    return fault;
}

const char *bot_answer_read(enum bot_format format, struct str body, struct bot_answer *ret_answer)
{
    struct bot_answer answer = {.json = NULL};
    const char *fault = NULL;
    char reason[REASON_BYTES];
    if (body.n > BOT_ANSWER_MAX_BYTES)
        return "is larger than 64 KiB";
    if (!json_parse(body, reason, sizeof reason, &answer.json))
        return "is not JSON";
    if (!json_is_object(answer.json))
        fault = "is not a JSON object";
    else if (json_is_true(json_object_get(answer.json, "response_not_required")))
        answer.is_silent = true;
    else
        fault = format == BOT_FORMAT_ZULIP ? read_zulip(&answer) : read_annex(&answer);
    if (fault == NULL)
        *ret_answer = answer;
    else
        json_decref(answer.json);
    return fault;
}

void bot_answer_fini(struct bot_answer *answer)
{
    json_decref(answer->json);
    *answer = (struct bot_answer){0};
}
