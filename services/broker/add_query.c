/* SPDX-License-Identifier: MIT
 * add_query.c - POST /api/add-query: one query into its topic (lua/queue/add.lua). */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/base/json.h"
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

static void on_added(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    if (error == ERR_OK && str_eq(tag, STR("mismatch"))) {
        respond_error(r, ERR_IDEMPOTENCY, NULL);
        return;
    }
    if (reply_refuse(r, error, tag, &lines))
        return;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"Topic\":");
    buf_put_span(b, request_member(r, "Topic"));
    buf_put_key(b, "Seq");
    r->about.seq = lines_next_u64(&lines);
    buf_put_u64(b, r->about.seq);
    buf_put_key(b, "Timestamp");
    buf_put_json_ms(b, lines_next_u64(&lines));
    buf_put_char(b, '}');
    queue_count_added(broker_of(r)->queue, r->about.topic);
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

static bool put_row(struct buf *row, struct request *r, struct str user, struct str model,
                    struct str query)
{
    const struct json_span *modifiers = request_member(r, "Modifiers");
    if (modifiers != NULL && modifiers->kind != JSON_SPAN_OBJECT) {
        respond_error(r, ERR_BAD_REQUEST, "Modifiers must be an object.");
        return false;
    }
    row_put_who(row, user, model);
    size_t before = row->n;
    if (modifiers != NULL)
        buf_put_span(row, modifiers);
    else
        buf_lit(row, "{}");
    if (row->n - before > MODIFIERS_MAX) {
        respond_error(r, ERR_BAD_REQUEST, "Modifiers must be at most 64 KiB as JSON.");
        return false;
    }
    row_put_trace(row, request_header(r, "traceparent"));
    if (r->account->is_deployed) {
        struct buf text;
        buf_init(&text, ROW_MAX);
        put_categories(&text, modifiers);
        buf_put(&text, query);
        buf_put_json(row, buf_str(&text));
        buf_fini(&text);
    } else {
        buf_put_span(row, request_member(r, "Query"));
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

void broker_add_query(struct request *r)
{
    struct str topic, user, query, model, key = request_header(r, "idempotency-key");
    struct on_behalf whom;
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
    struct buf *row = &r->server->scratch;
    buf_clear(row);
    if (!put_row(row, r, user, model, query))
        return;
    char digest[2 * DIGEST_BYTES + 1] = "";
    if (key.n > 0)
        put_digest(r, digest);
    call_add(request_call(r, on_added), .topic = topic, .user = whom.user_name,
             .account = r->account->name_token, .model = names_of(r, model),
             .weight = r->account->weight_text, .max_waiting = r->account->max_waiting,
             .tail = buf_str(row), .key = key.n == 0 ? STR("") : names_of(r, key),
             .digest = str_of(digest), .is_own = r->account->role == ROLE_USER);
}
