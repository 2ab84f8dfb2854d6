/* SPDX-License-Identifier: MIT
 * added.c - see added.h. */
#include "services/broker/added.h"

#include "generated/verbs.h"
#include "shared/auth/signed.h"
#include "shared/base/json.h"
#include "shared/http/request/explain.h"
#include "shared/queue/row.h"

#include <openssl/sha.h>

enum { ROW_MAX = 2 << 20, DIGEST_BYTES = 16, KEY_OF_ACCOUNT_MAX = 1024 };

_Static_assert(ADDED_DIGEST_SIZE == 2 * DIGEST_BYTES + 1, "added.h");

void added_put_digest(struct request *r, char ret_hex[ADDED_DIGEST_SIZE])
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256((const unsigned char *)request_entity(r).at, request_entity(r).n, digest);
    str_hex(digest, DIGEST_BYTES, ret_hex);
}

void added_put_mark(struct request *r, char ret_hex[SIGNED_MARK_SIZE])
{
    signed_mark(r->nonce.bytes, request_entity(r), ret_hex);
}

struct str added_key(struct request *r)
{
    struct str key = request_header(r, "idempotency-key");
    return key.n == 0 ? STR("") : names_of(r, key);
}

struct str added_nonce(struct request *r)
{
    char hex[2 * NONCE_ID_BYTES + 1];
    str_hex(r->nonce.bytes, NONCE_ID_BYTES, hex);
    return request_copy(r, str_of(hex));
}

struct str added_key_of_account(struct request *r, struct str key)
{
    struct buf name;
    buf_init(&name, KEY_OF_ACCOUNT_MAX);
    buf_printf(&name, "%.*s:%.*s", STR_ARG(r->account->name_token), STR_ARG(key));
    struct str copy = request_copy(r, buf_str(&name));
    buf_fini(&name);
    return copy;
}

/* Gives back, with several shards, the key of a refused request and its right to be sent again. A
 * node that dies before leaves both to equal requests. */
static void unbind(struct request *r)
{
    struct shards *shards = r->server->shards;
    struct str key = added_key(r);
    char mark[SIGNED_MARK_SIZE], digest[ADDED_DIGEST_SIZE];
    if (shards->n == 1)
        return;
    if (r->is_signed) {
        struct str nonce = {(const char *)r->nonce.bytes, NONCE_ID_BYTES};
        added_put_mark(r, mark);
        call_nonce_of_refused(turn_forget(shards_turn(shards, nonce)), .nonce = added_nonce(r),
                              .mark = str_of(mark));
    }
    if (key.n > 0) {
        added_put_digest(r, digest);
        call_unbind_key(shards_forget(shards), .key = added_key_of_account(r, key),
                        .digest = str_of(digest));
    }
}

bool added_read(struct request *r, enum err error, struct str reply, struct added *ret_added)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    bool is_mismatch = error == ERR_OK && str_eq(tag, STR("mismatch"));
    if (error == ERR_OK && str_eq(tag, STR("unplaced"))) {
        unbind(r);
        explain(r, ERR_NOT_FOUND, "Modifiers.Replaces: this user has no such query in the topic.");
        return false;
    }
    if (is_mismatch || reply_refuse(r, error, tag, &lines)) {
        if (error == ERR_OK)
            unbind(r);
        if (is_mismatch)
            respond_error(r, ERR_IDEMPOTENCY, NULL);
        return false;
    }
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
    buf_put_json_zoneless_time(b, added->ms);
    buf_put_char(b, '}');
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
    row_put_trace(b, request_header(r, "traceparent"), r->id);
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
