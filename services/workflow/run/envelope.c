/* SPDX-License-Identifier: MIT
 * envelope.c - see envelope.h. */
#include "services/workflow/run/envelope.h"

#include "services/workflow/workflow.h"
#include "shared/base/clock.h"
#include "shared/base/json_fault.h"
#include "shared/base/shown.h"

#include <stdio.h>

/* --- reading ---------------------------------------------------------------------------------- */

static bool say(char *reason, const char *text)
{
    snprintf(reason, ENVELOPE_FAULT_BYTES, "%s", text);
    return false;
}

static bool has_alike(const json_t *object, const char *name)
{
    const char *other;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, other, value)
    {
        if (json_is_alike(str_of(other), str_of(name)) && !str_eq(str_of(other), str_of(name)))
            return true;
    }
    return false;
}

/* A member that must be there; names one that is spelt almost as it. */
static bool say_missing(char *reason, const json_t *object, const char *name)
{
    struct buf b = {.at = reason, .cap = ENVELOPE_FAULT_BYTES, .max = ENVELOPE_FAULT_BYTES - 1};
    const char *other;
    json_t *value;
    buf_printf(&b, "%s is missing", name);
    json_object_foreach((json_t *)(uintptr_t)object, other, value)
    {
        if (json_is_alike(str_of(other), str_of(name))) {
            buf_lit(&b, ", but there is ");
            buf_put_quoted(&b, str_of(other));
            buf_lit(&b, ": a name must be spelt exactly");
            break;
        }
    }
    buf_put_char(&b, '.');
    reason[b.n] = 0;
    return false;
}

static bool is_id(struct str id)
{
    if (id.n < 1 || id.n > WORKFLOW_ID_MAX_BYTES)
        return false;
    for (size_t i = 0; i < id.n; i++)
        if ((unsigned char)id.at[i] < 0x20 || id.at[i] == 0x7f)
            return false;
    return true;
}

/* The member `name`, else `other`; null counts as absent. */
static const json_t *member(const json_t *object, const char *name, const char *other)
{
    const json_t *value = json_object_get(object, name);
    if ((value == NULL || json_is_null(value)) && other != NULL)
        value = json_object_get(object, other);
    return json_is_null(value) ? NULL : value;
}

static bool read_id(const json_t *object, const char *name, const char *other, struct str *ret_id,
                    char *reason)
{
    const json_t *value = member(object, name, other);
    if (value == NULL)
        return true;
    struct str id = json_str(value);
    if (!is_id(id)) {
        snprintf(reason, ENVELOPE_FAULT_BYTES,
                 "%s must be a text of 1 to %d bytes without control characters.", name,
                 WORKFLOW_ID_MAX_BYTES);
        return false;
    }
    *ret_id = id;
    return true;
}

/* A text that may be absent. */
static bool read_text(const json_t *object, const char *name, size_t max, struct str *ret_text,
                      char *reason)
{
    const json_t *value = member(object, name, NULL);
    struct str text = json_str(value);
    if (value != NULL && (text.at == NULL || text.n > max)) {
        snprintf(reason, ENVELOPE_FAULT_BYTES, "%s must be a text of at most %zu bytes.", name,
                 max);
        return false;
    }
    *ret_text = text;
    return true;
}

static bool read_decision(const json_t *value, bool *ret_is_yes, char *reason)
{
    struct str text = str_trim(json_str(value));
    bool is_yes = str_eq_nocase(text, STR("yes"));
    if (!is_yes && !str_eq_nocase(text, STR("no")))
        return say(reason, "decision must be \"yes\" or \"no\".");
    *ret_is_yes = is_yes;
    return true;
}

/* `approved`, else the envelope's `decision`, decides. */
static bool read_answer(struct envelope *e, const json_t *answer, char *reason)
{
    const json_t *approved = member(answer, "approved", NULL);
    const json_t *decision = member(e->json, "decision", NULL);
    const json_t *corrections = member(answer, "corrections", NULL);
    e->type = ENVELOPE_ANSWER;
    if (!json_is_object(answer))
        return say(reason, "hitl_response must be an object.");
    if (approved != NULL && !json_is_boolean(approved))
        return say(reason, "hitl_response.approved must be true or false.");
    if (approved == NULL && decision == NULL)
        return say(reason, "hitl_response.approved is missing: it must be true or false.");
    if (corrections == NULL && has_alike(answer, "corrections")) /* they would be lost */
        return say_missing(reason, answer, "corrections");
    if (corrections != NULL && !json_is_object(corrections))
        return say(reason, "hitl_response.corrections must be an object.");
    if (json_object_size(corrections) > 0)
        e->corrections = corrections;
    if (approved != NULL)
        e->is_approved = json_is_true(approved);
    else if (!read_decision(decision, &e->is_approved, reason))
        return false;
    return read_text(answer, "approved_by", 256, &e->approved_by, reason) &&
           read_text(answer, "comment", 4096, &e->comment, reason);
}

static bool read_request(struct envelope *e, char *reason)
{
    const json_t *decision = member(e->json, "decision", NULL);
    bool is_yes;
    e->type = ENVELOPE_REQUEST;
    e->body = member(e->json, "messageBody", NULL);
    if (e->body != NULL && !json_is_object(e->body))
        return say(reason, "messageBody must be an object.");
    return (decision == NULL || read_decision(decision, &is_yes, reason)) &&
           read_text(e->json, "verb", 64, &e->verb, reason) &&
           read_text(e->json, "nextAgent", 128, &e->next_agent, reason);
}

static bool read_resume(struct envelope *e, char *reason)
{
    const json_t *since = member(e->json, "since", NULL);
    e->type = ENVELOPE_RESUME;
    if (since != NULL && (!json_is_integer(since) || json_integer_value(since) < 0))
        return say(reason, "since must be the seq of a frame, or 0.");
    e->since = since == NULL ? 0 : (uint64_t)json_integer_value(since);
    return true;
}

static bool read_by_type(struct envelope *e, char *reason)
{
    struct str type = json_member_str(e->json, "type");
    const json_t *answer = member(e->json, "hitl_response", NULL);
    if (answer != NULL && (str_eq(type, STR("response")) || str_eq(type, STR("request"))))
        return read_answer(e, answer, reason);
    if (str_eq(type, STR("request")))
        return read_request(e, reason);
    if (str_eq(type, STR("resume")))
        return read_resume(e, reason);
    if (str_eq(type, STR("response")))
        return say_missing(reason, e->json, "hitl_response");
    if (type.at == NULL)
        return say_missing(reason, e->json, "type");
    struct buf b = {.at = reason, .cap = ENVELOPE_FAULT_BYTES, .max = ENVELOPE_FAULT_BYTES - 1};
    buf_lit(&b, "type must be \"request\", \"response\" or \"resume\", not ");
    buf_put_quoted(&b, type);
    buf_put_char(&b, '.');
    reason[b.n] = 0;
    return false;
}

bool envelope_read(struct str text, struct envelope *ret_envelope,
                   char reason[ENVELOPE_FAULT_BYTES])
{
    char why[ENVELOPE_FAULT_BYTES - 32];
    struct envelope *e = ret_envelope;
    *e = (struct envelope){.type = ENVELOPE_NR};
    if (!json_parse(text, why, sizeof why, &e->json)) {
        snprintf(reason, ENVELOPE_FAULT_BYTES, "The frame is not JSON: %s", why);
        return false;
    }
    if (!json_is_object(e->json))
        return say(reason, "The frame is not a JSON object.");
    bool has_ids = read_id(e->json, "session_id", "sessionId", &e->session_id, reason) &&
                   read_id(e->json, "request_id", "requestId", &e->request_id, reason);
    if (has_ids && json_is_deeper(e->json, JSON_DEPTH_MAX)) /* others are shown its messageBody */
        return say(reason, "The frame is nested deeper than 64 levels.");
    if (!has_ids || !read_by_type(e, reason))
        return false;
    if (e->request_id.at == NULL)
        return say_missing(reason, e->json, "request_id");
    if (e->session_id.at == NULL && e->type != ENVELOPE_ANSWER)
        return say_missing(reason, e->json, "session_id");
    return true;
}

void envelope_fini(struct envelope *envelope)
{
    json_decref(envelope->json);
    *envelope = (struct envelope){.type = ENVELOPE_NR};
}

/* --- writing ---------------------------------------------------------------------------------- */

static void put_text(struct buf *b, const char *key, struct str text)
{
    buf_put_key(b, key);
    if (text.n == 0)
        buf_lit(b, "null");
    else
        buf_put_json(b, text);
}

static void put_head(struct buf *b, const char *type)
{
    buf_printf(b, "{\"type\":\"%s\",\"version\":\"1.1\",\"timestamp\":", type);
    buf_put_u64(b, clock_wall_ms());
}

/* At most 4 digits, and none that say nothing. */
static void put_confidence(struct buf *b, double confidence)
{
    double within = confidence > 1 ? 1 : confidence > 0 ? confidence : 0;
    buf_put_key(b, "confidence");
    buf_printf(b, "%.4g", within);
}

void envelope_put_step(struct buf *b, const struct envelope_step *step)
{
    put_head(b, "response");
    put_text(b, "session_id", step->session_id);
    put_text(b, "request_id", step->request_id);
    put_text(b, "verb", step->verb);
    put_text(b, "agent", step->agent);
    put_text(b, "nextAgent", step->next_agent);
    buf_printf(b, ",\"returnCode\":%d,\"decision\":\"%s\"", step->return_code,
               step->is_yes ? "yes" : "no");
    put_confidence(b, step->confidence);
    put_text(b, "reason", step->reason);
    buf_put_key(b, "seq");
    buf_put_u64(b, step->seq);
    if (step->hitl.n > 0) { /* before messageBody: see envelope_end_of */
        buf_put_key(b, "hitl");
        buf_put(b, step->hitl);
    }
    buf_put_key(b, "messageBody");
    buf_put_json_value(b, step->body);
    buf_put_char(b, '}');
}

/* Returns what follows the first `key`; at == NULL if it is missing. Texts before it have their
 * quotes escaped, so they cannot contain one. */
static struct str after(struct str text, struct str key)
{
    const char *at = text.n == 0 ? NULL : memmem(text.at, text.n, key.at, key.n);
    if (at == NULL)
        return (struct str){NULL, 0};
    at += key.n;
    return (struct str){at, text.n - (size_t)(at - text.at)};
}

enum envelope_end envelope_end_of(struct str frame)
{
    struct str body = after(frame, STR(",\"messageBody\":"));
    struct str head = {frame.at, frame.n - body.n};
    if (after(head, STR(",\"hitl\":{")).at != NULL)
        return ENVELOPE_WAITS;
    return str_has_prefix(after(head, STR(",\"nextAgent\":")), STR("null")) ? ENVELOPE_OVER
                                                                            : ENVELOPE_GOES_ON;
}

void envelope_put_error(struct buf *b, const struct envelope *to, struct str reason)
{
    static const struct envelope nothing = {.type = ENVELOPE_NR};
    const struct envelope *e = to == NULL ? &nothing : to;
    put_head(b, "error");
    put_text(b, "session_id", e->session_id);
    put_text(b, "request_id", e->request_id);
    put_text(b, "verb", e->verb);
    buf_lit(b, ",\"agent\":\"parley\",\"nextAgent\":null,\"returnCode\":-1,\"decision\":\"no\""
               ",\"confidence\":0");
    put_text(b, "reason", reason);
    buf_lit(b, ",\"seq\":0,\"messageBody\":{}}");
}

/* --- merging ---------------------------------------------------------------------------------- */

bool envelope_merge(json_t *into, const json_t *from)
{
    json_t *merged = json_copy(into);
    struct buf b;
    if (merged == NULL || json_object_update(merged, (json_t *)(uintptr_t)from) != 0)
        abort();
    buf_init(&b, ENVELOPE_BODY_MAX_BYTES);
    buf_put_json_value(&b, merged);
    bool fits = !b.is_over;
    buf_fini(&b);
    if (fits && json_object_update(into, merged) != 0)
        abort();
    json_decref(merged);
    return fits;
}
