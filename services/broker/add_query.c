/* SPDX-License-Identifier: MIT
 * add_query.c - POST /api/add-query: one query into its topic (lua/queue/add.lua). With Wait it
 * goes on as check-query does (check_query.c, check_stream.c): the verb has registered this node.
 */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/auth/signed.h"
#include "shared/base/json.h"
#include "shared/http/stream.h"
#include "shared/queue/row.h"
#include "shared/text/text.h"

#include <openssl/sha.h>

enum {
    ROW_MAX = 2 << 20,
    IDEMPOTENCY_MAX = 128,
    DEPLOYED_QUERY_MIN_CHARS = 10,
    MODIFIERS_MAX = 64 << 10,
    DIGEST_BYTES = 16
};

bool added_read(struct request *r, enum err error, struct str reply, struct added *ret_added)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    if (error == ERR_OK && str_eq(tag, STR("mismatch"))) {
        respond_error(r, ERR_IDEMPOTENCY, NULL);
        return false;
    }
    if (reply_refuse(r, error, tag, &lines))
        return false;
    struct added added = {.is_again = str_eq(tag, STR("again"))};
    r->about.seq = added.seq = lines_next_u64(&lines);
    added.ms = lines_next_u64(&lines);
    if (!added.is_again)
        queue_count_added(broker_of(r)->queue, r->about.topic);
    *ret_added = added;
    return true;
}

void added_put(struct buf *b, struct request *r, const struct added *added)
{
    buf_lit(b, "{\"Topic\":");
    buf_put_span(b, request_member(r, "Topic"));
    buf_put_key(b, "Seq");
    buf_put_u64(b, added->seq);
    buf_put_key(b, "Timestamp");
    buf_put_json_ms(b, added->ms);
    buf_put_char(b, '}');
}

static void on_added(struct request *r, enum err error, struct str reply)
{
    struct added added;
    if (!added_read(r, error, reply, &added))
        return;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    added_put(b, r, &added);
    respond_json(r, 200, b);
}

/* The deployed dialect writes Modifiers.Category before the text. */
static void put_categories(struct buf *text, const struct json_span *modifiers)
{
    char reason[128];
    json_t *tree = NULL;
    bool has_any = false;
    if (modifiers == NULL || !json_parse(modifiers->raw, reason, sizeof reason, &tree))
        return;
    const json_t *category = json_object_get(tree, "Category");
    size_t n = json_is_array(category) ? json_array_size(category) : json_is_string(category);
    for (size_t i = 0; i < n; i++) {
        struct str one = json_str(json_is_array(category) ? json_array_get(category, i) : category);
        if (one.n == 0)
            continue;
        buf_lit(text, "Category: ");
        buf_put(text, one);
        buf_put_char(text, '\n');
        has_any = true;
    }
    if (has_any)
        buf_lit(text, ".....\n");
    json_decref(tree);
}

void added_put_tail(struct buf *b, struct request *r)
{
    const struct json_span *modifiers = request_member(r, "Modifiers");
    struct str user =
        r->account->role == ROLE_USER ? r->account->name : request_member_text(r, "User");
    row_put_who(b, user, request_member_text(r, "Model"));
    if (modifiers != NULL)
        buf_put_span(b, modifiers);
    else
        buf_lit(b, "{}");
    row_put_trace(b, request_header(r, "traceparent"));
    if (r->account->is_deployed) {
        struct buf text;
        buf_init(&text, ROW_MAX);
        put_categories(&text, modifiers);
        buf_put(&text, request_member_text(r, "Query"));
        buf_put_json(b, buf_str(&text));
        buf_fini(&text);
    } else {
        buf_put_span(b, request_member(r, "Query"));
    }
}

static bool check_modifiers(struct request *r)
{
    const struct json_span *modifiers = request_member(r, "Modifiers");
    struct buf *compact = &r->server->scratch;
    if (modifiers == NULL)
        return true;
    if (modifiers->kind != JSON_SPAN_OBJECT) {
        respond_error(r, ERR_BAD_REQUEST, "Modifiers must be an object.");
        return false;
    }
    buf_clear(compact);
    buf_put_span(compact, modifiers);
    if (compact->n > MODIFIERS_MAX) {
        respond_error(r, ERR_BAD_REQUEST, "Modifiers must be at most 64 KiB as JSON.");
        return false;
    }
    return true;
}

/* Of the body, as hex. */
static void put_digest(struct request *r, char ret_hex[2 * DIGEST_BYTES + 1])
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256((const unsigned char *)r->h2o->entity.base, r->h2o->entity.len, digest);
    str_hex(digest, DIGEST_BYTES, ret_hex);
}

/* Which verb's reply goes where: at once to the client, or after the wait that it asks for. */
static bool begin_wait(struct request *r, struct str topic, request_reply_cb **ret_on_reply)
{
    uint64_t wait_s;
    *ret_on_reply = on_added;
    if (request_param(r, "Wait").at == NULL)
        return true;
    if (!params_wait(r, WAIT_FOR_OUTCOME, &wait_s))
        return false;
    if (stream_is_wanted(r)) {
        check_stream_begin_add(r, topic);
        *ret_on_reply = check_stream_on_added;
    } else {
        check_begin_add(r, topic, wait_s);
        *ret_on_reply = check_on_added;
    }
    return true;
}

void broker_add_query(struct request *r)
{
    struct str topic, user, query, model, key = request_header(r, "idempotency-key");
    struct on_behalf whom;
    request_reply_cb *on_reply;
    if (!request_body(r) || !names_topic_member(r, &topic) ||
        !request_text(r, "User", 1, USER_MAX_BYTES, &user) ||
        !request_text(r, "Query", 1, QUERY_MAX_BYTES, &query) ||
        !request_optional_text(r, "Model", MODEL_MAX_BYTES, &model) ||
        !on_behalf_of(r, user, &whom))
        return;
    if (model.n == 0)
        model = STR("default");
    if (key.n > IDEMPOTENCY_MAX) {
        respond_error(r, ERR_BAD_REQUEST, "Idempotency-Key must be 1 to 128 bytes.");
        return;
    }
    if (r->account->is_deployed && text_length(query) < DEPLOYED_QUERY_MIN_CHARS) {
        respond_error(r, ERR_BAD_REQUEST, "Query must be at least 10 characters.");
        return;
    }
    if (!check_modifiers(r) || !begin_wait(r, topic, &on_reply))
        return;
    struct buf *row = &r->server->scratch;
    buf_clear(row);
    added_put_tail(row, r);
    char digest[2 * DIGEST_BYTES + 1] = "", mark[SIGNED_MARK_SIZE] = "";
    if (key.n > 0)
        put_digest(r, digest);
    if (r->nonce.is_set)
        signed_mark(r->nonce.bytes, (struct str){r->h2o->entity.base, r->h2o->entity.len}, mark);
    call_add(request_call(r, on_reply), .topic = topic, .user = whom.user_name,
             .account = r->account->name_token, .model = names_of(r, model),
             .weight = r->account->weight_text, .max_waiting = r->account->max_waiting,
             .tail = buf_str(row), .key = key.n == 0 ? STR("") : names_of(r, key),
             .digest = str_of(digest), .is_own = r->account->role == ROLE_USER,
             .mark = str_of(mark), .is_waiting = on_reply == check_on_added);
}
