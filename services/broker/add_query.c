/* SPDX-License-Identifier: MIT
 * add_query.c - POST /api/add-query: one query into its topic (lua/queue/add.lua). With Wait it
 * continues as check-query does (check_query.c, check_stream.c): the verb has registered this node.
 *
 *   broker_add_query --------------------------------------------------------------> add
 *                    of several shards --nonce_of_add--> --bind_key--> -------------> add
 *                       of a signed request: its nonce's shard   with an Idempotency-Key: that
 *                                                                one's shard
 *
 * So a used nonce or key is refused whatever the topic's shard. An equal request is admitted, and
 * the topic knows whether it has run, so a node that dies between these steps loses nothing. */
#include "services/broker/added.h"
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/ask/storage_limit.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/stream.h"
#include "shared/text/text.h"

#include <stdio.h>

enum { IDEMPOTENCY_MAX = 128, DEPLOYED_QUERY_MIN_CHARS = 10, MODIFIERS_MAX = 64 << 10 };

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

/* *ret_replaces: Modifiers.Replaces, 0 without. */
static bool check_modifiers(struct request *r, uint64_t *ret_replaces)
{
    const struct json_span *modifiers = request_member(r, "Modifiers");
    struct buf *compact = &r->server->scratch;
    if (modifiers == NULL)
        return true;
    if (modifiers->kind != JSON_SPAN_OBJECT)
        return explain_member(r, "Modifiers", "an object");
    buf_clear(compact);
    buf_put_span(compact, modifiers);
    if (compact->n > MODIFIERS_MAX) {
        explain(r, ERR_BAD_REQUEST,
                "Modifiers must be at most 64 KiB as compact JSON, not %llu %s.",
                COUNTED(compact->n, "byte"));
        return false;
    }
    if (!modifiers_replaces(buf_str(compact), ret_replaces)) {
        explain(r, ERR_BAD_REQUEST,
                "Modifiers.Replaces must be the Seq of an earlier query of this topic, a whole "
                "number of at least 1.");
        return false;
    }
    return true;
}

/* The query to be added, while shards are asked about its nonce and key; in the request's pool. */
struct adding {
    struct str topic, user, model, key; /* names; of the key `at` is NULL when there is none */
    bool waits;
    uint64_t wait_s;
    uint64_t replaces;               /* Seq; 0: none */
    char digest[ADDED_DIGEST_SIZE];  /* of the body; with a key only */
    char mark[SIGNED_MARK_SIZE + 1]; /* of a signed request; it may get a '+' */
};

/* Which verb's reply goes where: at once to the client, or after the wait that it asks for. */
static request_reply_cb *begin_wait(struct request *r, const struct adding *adding)
{
    if (!adding->waits)
        return on_added;
    if (stream_is_wanted(r)) {
        check_stream_begin_add(r, adding->topic);
        return check_stream_on_added;
    }
    check_begin_add(r, adding->topic, adding->wait_s);
    return check_on_added;
}

static void add(struct request *r, const struct adding *adding)
{
    request_reply_cb *on_reply = begin_wait(r, adding);
    struct buf *row = &r->server->scratch;
    char replaces[24] = "";
    if (adding->replaces > 0)
        snprintf(replaces, sizeof replaces, "%llu", (unsigned long long)adding->replaces);
    buf_clear(row);
    added_put_tail(row, r);
    call_add(request_call(r, on_reply), .topic = adding->topic, .user = adding->user,
             .account = r->account->name_token, .model = adding->model,
             .weight = r->account->weight_text, .max_waiting = r->account->max_waiting,
             .tail = buf_str(row), .key = adding->key, .digest = str_of(adding->digest),
             .is_own = r->account->role == ROLE_USER, .mark = str_of(adding->mark),
             .is_waiting = on_reply == check_on_added, .max_stored = storage_limit_of_account(r),
             .max_stored_per_user = storage_limit_of_user(r), .replaces = str_of(replaces));
}

/* --- of several shards ------------------------------------------------------------------------ */

/* "again": the answer came out of a backup, and is where the key is and not the topic. */
static void on_key_bound(struct request *r, enum err error, struct str reply)
{
    const struct adding *adding = r->state;
    if (error == ERR_OK && str_eq(reply, STR("ok")))
        add(r, adding);
    else
        begin_wait(r, adding)(r, error, reply);
}

static void bind_key(struct request *r)
{
    const struct adding *adding = r->state;
    if (adding->key.n == 0)
        add(r, adding);
    else
        call_bind_key(request_call(r, on_key_bound), .key = added_key_of_account(r, adding->key),
                      .digest = str_of(adding->digest));
}

static void on_nonce_used(struct request *r, enum err error, struct str reply)
{
    struct adding *adding = r->state;
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
        return;
    }
    if (str_eq(reply, STR("again")))
        strcat(adding->mark, "+");
    bind_key(r);
}

static void use_nonce(struct request *r)
{
    const struct adding *adding = r->state;
    struct str nonce = added_nonce(r);
    char member[2 * NONCE_ID_BYTES + 1 + SIGNED_MARK_SIZE];
    snprintf(member, sizeof member, "%.*s %s", STR_ARG(nonce), adding->mark);
    call_nonce_of_add(request_call(r, on_nonce_used), .member = str_of(member));
}

static bool read_wait(struct request *r, struct adding *adding)
{
    adding->waits = request_param(r, "Wait").at != NULL;
    return !adding->waits || params_wait(r, WAIT_FOR_OUTCOME, &adding->wait_s);
}

void broker_add_query(struct request *r)
{
    struct str user, query, model;
    struct on_behalf person;
    struct adding *adding = request_alloc(r, sizeof *adding);
    *adding = (struct adding){.waits = false};
    if (!request_body(r) || !names_topic_member(r, &adding->topic) ||
        !request_text(r, "User", 1, USER_MAX_BYTES, &user) ||
        !request_text(r, "Query", 1, QUERY_MAX_BYTES, &query) ||
        !request_optional_text(r, "Model", MODEL_MAX_BYTES, &model) ||
        !on_behalf_of(r, user, &person))
        return;
    if (request_header(r, "idempotency-key").n > IDEMPOTENCY_MAX) {
        explain(r, ERR_BAD_REQUEST, "Idempotency-Key must be 1 to 128 bytes, not %zu.",
                request_header(r, "idempotency-key").n);
        return;
    }
    if (r->account->is_deployed && text_length(query) < DEPLOYED_QUERY_MIN_CHARS) {
        explain(r, ERR_BAD_REQUEST, "Query must be at least %d characters, not %zu.",
                DEPLOYED_QUERY_MIN_CHARS, text_length(query));
        return;
    }
    if (!check_modifiers(r, &adding->replaces) || !read_wait(r, adding))
        return;
    adding->user = person.user_name;
    adding->model = names_of(r, model.n == 0 ? STR("default") : model);
    adding->key = added_key(r);
    if (adding->key.n > 0)
        added_put_digest(r, adding->digest);
    if (r->nonce.is_set)
        added_put_mark(r, adding->mark);
    if (r->server->shards->n == 1) {
        add(r, adding);
        return;
    }
    r->state = adding;
    if (r->nonce.is_set)
        use_nonce(r);
    else
        bind_key(r);
}
