/* SPDX-License-Identifier: MIT
 * model_prompt.c - see model_prompt.h.
 *
 * The user's message is read by line, by people and by the built-in engine, so what comes from a
 * client is on one line: it cannot add a line of ours. */
#include "services/workflow/agents/model_prompt.h"

#include "services/workflow/trees/trees.h"
#include "shared/base/json_scan.h"
#include "shared/text/text.h"

#define FORMAT                                                                                     \
    "Reply with a JSON object {\"decision\":\"yes\" or \"no\",\"confidence\":0 to "                \
    "1,\"reason\":\"...\",\"output\":{...}} and nothing else."

#define CORRECTED                                                                                  \
    "Agents have objected to this request, and a person has answered. Each \"Objection:\" is "     \
    "followed by the \"Correction:\" that answers it. Decide about the request as the "            \
    "corrections "                                                                                 \
    "change it: what they decide is no reason for a \"no\".\n\n"

/* --- asking ----------------------------------------------------------------------------------- */

static void put_line(struct buf *b, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        buf_put_char(b, (unsigned char)text.at[i] < ' ' ? ' ' : text.at[i]);
}

/* Compact JSON has no raw newline, and texts in it have theirs escaped. */
static void put_body(struct buf *b, const json_t *body)
{
    json_t *rest = json_copy((json_t *)(uintptr_t)body);
    if (rest == NULL)
        abort();
    json_object_del(rest, "raw_text");
    json_object_del(rest, BODY_CORRECTIONS);
    buf_put_json_value(b, rest);
    json_decref(rest);
}

static void put_corrections(struct buf *b, const json_t *body)
{
    const json_t *note;
    size_t i;
    json_array_foreach(json_object_get(body, BODY_CORRECTIONS), i, note)
    {
        buf_lit(b, "\nObjection: ");
        put_line(b, json_member_str(note, "agent"));
        buf_lit(b, ": ");
        put_line(b, json_member_str(note, "objection"));
        buf_lit(b, "\nCorrection: ");
        put_line(b, json_member_str(note, "correction"));
    }
}

void model_prompt_put_request(struct buf *b, const json_t *body)
{
    static const char *const names[] = {"raw_text", "rule_text", "text"};
    const json_t *raw = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && raw == NULL; i++)
        raw = json_object_get(body, names[i]);
    if (json_is_string(raw))
        put_line(b, json_str(raw));
    else if (raw != NULL)
        buf_put_json_value(b, raw);
}

static void put_user(struct buf *b, const struct agent_task *task, const json_t *tables,
                     struct str verbs)
{
    if (task->complaint != NULL) {
        buf_lit(b, "Your last reply was refused: ");
        put_line(b, str_of(task->complaint));
        buf_put_char(b, '\n');
    }
    buf_lit(b, "Agent: ");
    put_line(b, task->agent->name);
    buf_lit(b, "\nVerb: ");
    put_line(b, task->verb);
    if (verbs.n > 0) {
        buf_lit(b, "\nVerbs: ");
        put_line(b, verbs);
    }
    if (tables != NULL) {
        buf_lit(b, "\nTables: ");
        buf_put_json_value(b, tables);
    }
    put_corrections(b, task->body);
    buf_lit(b, "\nBody: ");
    put_body(b, task->body);
    buf_lit(b, "\nRequest: ");
    model_prompt_put_request(b, task->body);
}

void model_prompt_put(struct buf *b, const struct agent_task *task, const json_t *tables,
                      struct str verbs)
{
    struct buf text;
    buf_init(&text, MODEL_PROMPT_MAX_BYTES);
    buf_put(&text, task->agent->prompt);
    if (task->agent->prompt.n > 0)
        buf_lit(&text, "\n\n");
    if (json_array_size(json_object_get(task->body, BODY_CORRECTIONS)) > 0)
        buf_lit(&text, CORRECTED);
    buf_lit(&text, FORMAT);
    buf_lit(b, "[{\"role\":\"system\",\"content\":");
    buf_put_json(b, buf_str(&text));
    buf_clear(&text);
    put_user(&text, task, tables, verbs);
    buf_lit(b, "},{\"role\":\"user\",\"content\":");
    buf_put_json(b, buf_str(&text));
    buf_lit(b, "}]");
    buf_fini(&text);
}

/* --- reading ---------------------------------------------------------------------------------- */

static struct str without_fence(struct str text)
{
    const struct str fence = STR("```");
    if (text.n < 2 * fence.n || !str_has_prefix(text, fence) ||
        !str_eq((struct str){text.at + text.n - fence.n, fence.n}, fence))
        return text;
    text.n -= fence.n;
    str_cut(&text, '\n');
    return text.at == NULL ? STR("") : str_trim(text);
}

static struct str cut(struct str text)
{
    struct str rest = text;
    uint32_t code;
    size_t step;
    for (size_t n = 0; n < MODEL_REASON_MAX_CHARS && (step = text_char(rest, &code)) != 0; n++) {
        rest.at += step;
        rest.n -= step;
    }
    return (struct str){text.at, text.n - rest.n};
}

static const char *read_members(json_t *object, struct model_reply *reply)
{
    struct str decision = str_trim(json_member_str(object, "decision"));
    const json_t *confidence = json_object_get(object, "confidence");
    json_t *output = json_object_get(object, "output");
    struct str reason = str_trim(json_member_str(object, "reason"));
    reply->is_yes = str_eq_nocase(decision, STR("yes"));
    if (!reply->is_yes && !str_eq_nocase(decision, STR("no")))
        return "its \"decision\" is neither \"yes\" nor \"no\"";
    reply->confidence = json_number_value(confidence);
    if (!json_is_number(confidence) || reply->confidence < 0 || reply->confidence > 1)
        return "its \"confidence\" is not a number from 0 to 1";
    if (reason.n == 0)
        return "it has no \"reason\"";
    reply->reason = cut(reason);
    if (output != NULL && !json_is_null(output) && !json_is_object(output))
        return "its \"output\" is not an object";
    if (json_is_deeper(output, JSON_DEPTH_MAX - 4)) /* it is shown inside other objects */
        return "its \"output\" is nested deeper than 60 levels";
    reply->output = json_is_object(output) ? output : NULL;
    return NULL;
}

const char *model_reply_read(struct str text, struct model_reply *ret_reply)
{
    struct model_reply reply = {.json = NULL};
    text = without_fence(str_trim(text));
    /* With two decisions, it has made none. */
    reply.json = json_loadb(text.at == NULL ? "" : text.at, text.n, JSON_REJECT_DUPLICATES, NULL);
    if (reply.json == NULL)
        return "it is not one JSON object without repeated members";
    const char *fault =
        json_is_object(reply.json) ? read_members(reply.json, &reply) : "it is not one JSON object";
    if (fault != NULL) {
        json_decref(reply.json);
        return fault;
    }
    *ret_reply = reply;
    return NULL;
}
