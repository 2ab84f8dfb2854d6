/* SPDX-License-Identifier: MIT
 * stored.c - see stored.h; and GET, POST and DELETE of /v1/chat/completions/{id}. */
#include "services/openai/stored.h"

#include "generated/verbs.h"
#include "services/openai/input.h"
#include "services/openai/metadata.h"
#include "shared/ask/reply.h"
#include "shared/ask/storage_limit.h"
#include "shared/http/request/explain.h"

enum { ANSWER_MAX_BYTES = 16 << 20 };

/* --- putting ---------------------------------------------------------------------------------- */

bool stored_next(struct lines *lines, struct stored *ret_stored)
{
    struct stored stored;
    if (!lines_next_part(lines, &stored.asker) || !lines_next_part(lines, &stored.metadata) ||
        !lines_next_part(lines, &stored.row) || !lines_next_part(lines, &stored.text))
        return false;
    *ret_stored = stored;
    return true;
}

static void put_texts(struct buf *delta, const char *name, struct str list)
{
    struct buf text;
    buf_init(&text, ANSWER_MAX_BYTES);
    buf_put_json_texts(&text, list);
    if (text.n > 0) {
        buf_put(delta, delta->at[delta->n - 1] == '{' ? STR("") : STR(","));
        buf_printf(delta, "\"%s\":", name);
        buf_put_json(delta, buf_str(&text));
    }
    buf_fini(&text);
}

/* Puts one whose node was lost before it was stored as its client would have got it: there is the
 * text of its answer. */
static void put_text(struct buf *b, const struct stored *stored)
{
    struct buf lines_text, delta;
    struct usage usage;
    struct merged merged;
    buf_init(&lines_text, ANSWER_MAX_BYTES);
    buf_init(&delta, ANSWER_MAX_BYTES);
    buf_lit(&lines_text, "Done\n");
    buf_put(&lines_text, stored->row);
    buf_put_char(&lines_text, '\n');
    buf_put(&lines_text, stored->text);
    struct lines lines = lines_of(buf_str(&lines_text));
    struct outcome o = lines_next_outcome(&lines);
    usage_init(&usage, 0);
    merged_init(&merged, OPENAI_CHAT, &usage);
    buf_lit(&delta, "{\"choices\":[{\"index\":0,\"delta\":{");
    put_texts(&delta, "content", o.answer);
    put_texts(&delta, "reasoning_content", o.think);
    buf_lit(&delta, "}}]}");
    merged_add(&merged, buf_str(&delta));
    usage_say_facts(&usage, o.facts);
    buf_printf(b, "\"created\":%llu,\"model\":", (unsigned long long)(o.row.created_ms / 1000));
    buf_put(b, o.row.model);
    merged_put(&merged, b, outcome_cut_by(&o));
    buf_lit(b, ",\"usage\":");
    usage_put(&usage, b, true);
    merged_fini(&merged);
    usage_fini(&usage);
    buf_fini(&lines_text);
    buf_fini(&delta);
}

void stored_put(struct buf *b, struct request *r, const struct completion_id *id,
                const struct stored *stored)
{
    buf_lit(b, "{\"id\":\"");
    completion_id_put(b, r, COMPLETION_PREFIX, id);
    buf_lit(b, "\",\"object\":\"chat.completion\",");
    if (str_has_prefix(stored->text, STR("[")))
        put_text(b, stored);
    else
        buf_put(b, stored->text);
    buf_lit(b, ",\"metadata\":");
    metadata_put(b, stored->metadata);
    buf_put_char(b, '}');
}

/* --- which one -------------------------------------------------------------------------------- */

void stored_explain_missing(struct request *r)
{
    (void)!explain_missing(r, "stored chat completion", request_path_param(r, "completion_id"),
                           NULL);
}

bool stored_find(struct request *r, struct on_behalf *ret_person, struct completion_id *ret_id)
{
    if (!input_person(r, (struct str){NULL, 0}, ret_person))
        return false;
    if (completion_id_read(r, COMPLETION_PREFIX, request_path_param(r, "completion_id"), ret_id)) {
        r->about.topic = ret_id->topic;
        r->about.seq = ret_id->seq;
        return true;
    }
    stored_explain_missing(r);
    return false;
}

bool stored_order(struct request *r, bool *ret_is_back)
{
    struct str order = request_param(r, "order");
    *ret_is_back = order.at != NULL && str_eq(order, STR("desc"));
    return order.at == NULL || *ret_is_back || str_eq(order, STR("asc")) ||
           explain_param(r, "order", "asc or desc");
}

/* --- the routes ------------------------------------------------------------------------------- */

/* Answers what is refused, and returns true. */
static bool refuse(struct request *r, enum err error, struct lines *lines)
{
    struct str tag = lines_next(lines);
    if (error == ERR_OK && str_eq(tag, STR("missing"))) {
        stored_explain_missing(r);
        return true;
    }
    return reply_refuse(r, error, tag, lines);
}

static void on_shown(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct completion_id id;
    struct stored stored;
    struct buf b;
    if (refuse(r, error, &lines))
        return;
    (void)str_cut(&lines.rest, '\0');
    buf_init(&b, ANSWER_MAX_BYTES);
    if (completion_id_read(r, COMPLETION_PREFIX, request_path_param(r, "completion_id"), &id) &&
        stored_next(&lines, &stored))
        stored_put(&b, r, &id, &stored);
    respond_json(r, 200, &b);
    buf_fini(&b);
}

void openai_show_chat(struct request *r)
{
    struct on_behalf person;
    struct completion_id id;
    if (stored_find(r, &person, &id))
        call_door_show(request_call(r, on_shown), .topic = id.topic, .seq = id.seq,
                       .account = r->account->name_token, .user = person.user_name,
                       .asker = id.asker, .what = DOOR_SHOW_ANSWER);
}

void openai_update_chat(struct request *r)
{
    struct on_behalf person;
    struct completion_id id;
    struct str metadata;
    if (!request_body(r) || !stored_find(r, &person, &id))
        return;
    if (request_member(r, "metadata") == NULL) {
        (void)!explain_member(r, "metadata", "an object of texts");
        return;
    }
    if (metadata_read(r, &metadata))
        call_door_note(request_call(r, on_shown), .topic = id.topic, .seq = id.seq,
                       .account = r->account->name_token, .user = person.user_name,
                       .asker = id.asker, .metadata = metadata,
                       .max_stored = storage_limit_of_account(r),
                       .max_stored_per_user = storage_limit_of_user(r));
}

static void on_deleted(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct buf b;
    if (refuse(r, error, &lines))
        return;
    buf_init(&b, 4096);
    buf_lit(&b, "{\"object\":\"chat.completion.deleted\",\"id\":");
    buf_put_json(&b, request_path_param(r, "completion_id"));
    buf_lit(&b, ",\"deleted\":true}");
    respond_json(r, 200, &b);
    buf_fini(&b);
}

void openai_delete_chat(struct request *r)
{
    struct on_behalf person;
    struct completion_id id;
    if (stored_find(r, &person, &id))
        call_door_delete(request_call(r, on_deleted), .topic = id.topic, .seq = id.seq,
                         .account = r->account->name_token, .user = person.user_name,
                         .asker = id.asker);
}
