/* SPDX-License-Identifier: MIT
 * audit.c - see audit.h. */
#include "shared/http/access/audit.h"

#include "generated/verbs.h"
#include "shared/http/access/gate.h"
#include "shared/http/request/peer.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <stdlib.h>

enum { TEXT_MAX_BYTES = 256, ONCE_BYTES = 12, STATE_MAX_BYTES = 4096 };

static const char *const event_names[AUDIT_EVENT_NR] = {
    [AUDIT_NONE] = "",
    [AUDIT_QUERY_REOPENED] = "query_reopened",
    [AUDIT_ENGINE_DRAINED] = "engine_drained",
    [AUDIT_RECOMMENDATION_DELETED] = "recommendation_deleted",
    [AUDIT_TOPIC_DELETED] = "topic_deleted",
    [AUDIT_USER_DELETED] = "user_deleted",
    [AUDIT_DOCUMENT_DELETED] = "document_deleted",
    [AUDIT_BOT_DELETED] = "bot_deleted",
    [AUDIT_ROOM_DELETED] = "room_deleted",
    [AUDIT_FILE_DELETED] = "file_deleted",
    [AUDIT_RESPONSE_DELETED] = "response_deleted",
    [AUDIT_COMPLETION_DELETED] = "chat_completion_deleted",
    [AUDIT_BATCH_CANCELLED] = "batch_cancelled",
};

/* Names of what a request is about, in its query or in its body, and in the entry. `User` of a
 * query is who signs. */
static const struct {
    const char *said, *shown;
} subjects[] = {{"Topic", "Topic"}, {"OnBehalfOf", "OnBehalfOf"}, {"Id", "Id"},
                {"Seq", "Seq"},     {"Drain", "Drain"},           {"account", "Owner"}};
enum { SUBJECT_NR = sizeof subjects / sizeof *subjects };

/* --- rows ------------------------------------------------------------------------------------- */

/* At most TEXT_MAX_BYTES of a text that is UTF-8, in whole characters. */
static void put_text(struct buf *row, const char *name, struct str text)
{
    size_t n = text.n < TEXT_MAX_BYTES ? text.n : TEXT_MAX_BYTES;
    while (n > 0 && n < text.n && ((unsigned char)text.at[n] & 0xc0) == 0x80)
        n--;
    buf_put_key(row, name);
    buf_put_json(row, (struct str){text.at, n});
}

/* A text that may hold any bytes is left out then. */
static void put_foreign(struct buf *row, const char *name, struct str text)
{
    if (text.at != NULL && str_is_utf8(text))
        put_text(row, name, text);
}

static void begin_row(struct buf *row, const char *event)
{
    buf_lit(row, "{\"Event\":\"");
    buf_put(row, str_of(event));
    buf_put_char(row, '"');
}

static void put_origin(struct buf *row, struct request *r)
{
    put_foreign(row, "Address", peer_address(r));
    put_foreign(row, "Request", r->id);
    put_text(row, "Node", str_of(r->server->node_id));
}

static void put_subject(struct buf *row, struct request *r, const char *said, const char *name)
{
    struct str text = request_param(r, said);
    const struct json_span *member =
        r->members == NULL || text.at != NULL ? NULL : request_member(r, said);
    if (member != NULL && member->raw.n > 0 && member->kind != JSON_SPAN_TEXT) {
        if (member->raw.n < TEXT_MAX_BYTES && member->raw.at[0] != '{' &&
            member->raw.at[0] != '[') {
            buf_put_key(row, name);
            buf_put(row, member->raw);
        }
        return;
    }
    put_foreign(row, name, member == NULL ? text : request_member_text(r, said));
}

/* Below /v1 a frontend names its user in a header; of a batch an operator does, in the body. */
static void put_person(struct buf *row, struct request *r)
{
    struct str user = request_header(r, "x-parley-user");
    if (r->route->audit == AUDIT_BATCH_CANCELLED)
        put_subject(row, r, "user", "OnBehalfOf");
    else if (r->route->takes_api_key && r->account->role == ROLE_FRONTEND)
        put_foreign(row, "OnBehalfOf", user);
}

static void put_status(struct buf *row, int status)
{
    if (status != AUDIT_UNANSWERED)
        buf_printf(row, ",\"Status\":%d", status);
}

static void put_request(struct buf *row, struct request *r, int status)
{
    put_text(row, "Account", r->account->name);
    put_foreign(row, "Path", r->path);
    for (unsigned i = 0; i < SUBJECT_NR; i++)
        put_subject(row, r, subjects[i].said, subjects[i].shown);
    put_person(row, r);
    if (r->members != NULL)
        put_foreign(row, "Engine", request_member_text(r, "User"));
    put_status(row, status);
    put_origin(row, r);
    buf_put_char(row, '}');
}

/* --- requests --------------------------------------------------------------------------------- */

void audit_request(struct request *r, int status)
{
    const char *event = event_names[r->route->audit];
    if (r->account == NULL || (status >= 400 && status < 500))
        return;
    struct buf row;
    bool is_operator = r->account->role == ROLE_OPERATOR;
    buf_init(&row, AUDIT_ROW_MAX_BYTES);
    begin_row(&row, event);
    put_request(&row, r, status);
    if (row.is_over) { /* escapes made it that long */
        buf_clear(&row);
        begin_row(&row, event);
        put_text(&row, "Account", r->account->name);
        put_status(&row, status);
        buf_put_char(&row, '}');
    }
    if (is_operator)
        log_write(LOG_INFO, "audit", LOG_STR("id", r->id), LOG_S("event", event),
                  LOG_STR("account", r->account->name), LOG_U("status", status));
    call_audit_note(shards_forget(r->server->shards),
                    .class = is_operator ? AUDIT_NOTE_OPERATOR : AUDIT_NOTE_DELETION,
                    .once = STR(""), .row = buf_str(&row));
    buf_fini(&row);
}

void audit_put_refused(struct buf *row, struct request *r, struct str account)
{
    begin_row(row, "login_refused");
    if (account.n > 0 && r->server->gate->accounts != NULL &&
        accounts_find(gate_accounts(r->server->gate), account) != NULL)
        put_text(row, "Account", account);
    put_text(row, "Route", str_of(r->route == NULL ? "" : r->route->path));
    put_origin(row, r);
    buf_put_char(row, '}');
}

/* --- accounts --------------------------------------------------------------------------------- */

static void put_state(struct buf *b, const struct account *account)
{
    if (account == NULL)
        return;
    buf_put(b, account->secret);
    buf_printf(b, " %d %d ", account->is_hashed, (int)account->role);
    buf_put(b, account->namespace);
    buf_put_char(b, ' ');
    buf_put(b, account->weight_text);
    buf_printf(b, " %u %u %u %llu %llu %llu %u %llu %u %d", account->max_waiting,
               account->upload_rate, account->max_rate, (unsigned long long)account->max_nonces,
               (unsigned long long)account->max_stored,
               (unsigned long long)account->max_stored_per_user, account->requests_per_minute,
               (unsigned long long)account->tokens_per_day, account->max_concurrent,
               account->is_deployed);
    if (account->former != NULL)
        buf_printf(b, " %llu %.*s", (unsigned long long)account->former_until_s,
                   STR_ARG(account->former->secret));
}

/* Names the change for all nodes that notice it. Without the cluster's key nobody can try secrets
 * against it. */
static void name_change(const struct server *server, const struct account *before,
                        const struct account *after, char hex[2 * ONCE_BYTES + 1])
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned mac_n = 0;
    struct buf text;
    buf_init(&text, STATE_MAX_BYTES);
    buf_put(&text, (after == NULL ? before : after)->name);
    buf_put_char(&text, '\n');
    put_state(&text, before);
    buf_put_char(&text, '\n');
    put_state(&text, after);
    if (HMAC(EVP_sha256(), server->gate->token_key.bytes, sizeof server->gate->token_key.bytes,
             (const unsigned char *)text.at, text.n, mac, &mac_n) == NULL)
        abort();
    OPENSSL_cleanse(text.at, text.n);
    buf_fini(&text);
    str_hex(mac, ONCE_BYTES, hex);
}

static bool is_same_state(const struct account *one, const struct account *other)
{
    struct buf a, b;
    buf_init(&a, STATE_MAX_BYTES);
    buf_init(&b, STATE_MAX_BYTES);
    put_state(&a, one);
    put_state(&b, other);
    bool is_same = str_eq(buf_str(&a), buf_str(&b));
    buf_fini(&a);
    buf_fini(&b);
    return is_same;
}

static const char *event_of(const struct account *before, const struct account *after)
{
    if (before == NULL)
        return "account_added";
    if (after == NULL)
        return "account_removed";
    if (before->is_hashed != after->is_hashed || !str_eq(before->secret, after->secret))
        return "account_secret_changed";
    if (before->role != after->role)
        return "account_role_changed";
    if (before->former != NULL && after->former == NULL)
        return "account_former_secret_ended";
    return "account_changed";
}

static void note_account(struct server *server, const struct account *before,
                         const struct account *after)
{
    const struct account *account = after == NULL ? before : after;
    const char *event = event_of(before, after);
    char once[2 * ONCE_BYTES + 1];
    struct buf row;
    name_change(server, before, after, once);
    buf_init(&row, AUDIT_ROW_MAX_BYTES);
    begin_row(&row, event);
    put_text(&row, "Account", account->name);
    put_text(&row, "Role", role_name(account->role));
    put_text(&row, "Node", str_of(server->node_id));
    buf_put_char(&row, '}');
    log_write(LOG_INFO, "audit", LOG_S("event", event), LOG_STR("account", account->name));
    call_audit_note(shards_forget(server->shards), .class = AUDIT_NOTE_ACCOUNT,
                    .once = str_of(once), .row = buf_str(&row));
    buf_fini(&row);
}

static void note_many(struct server *server, size_t n)
{
    struct buf row;
    buf_init(&row, AUDIT_ROW_MAX_BYTES);
    begin_row(&row, "more_accounts_changed");
    buf_printf(&row, ",\"Count\":%zu}", n);
    call_audit_note(shards_forget(server->shards), .class = AUDIT_NOTE_ACCOUNT, .once = STR(""),
                    .row = buf_str(&row));
    buf_fini(&row);
}

void audit_accounts(struct server *server, const struct accounts *before,
                    const struct accounts *after)
{
    size_t n = 0;
    if (before == NULL)
        return;
    for (size_t i = 0; i < accounts_count(after); i++) {
        const struct account *now = accounts_at(after, i);
        const struct account *was = accounts_find(before, now->name);
        if ((was == NULL || !is_same_state(was, now)) && ++n <= AUDIT_ACCOUNTS_MAX)
            note_account(server, was, now);
    }
    for (size_t i = 0; i < accounts_count(before); i++) {
        const struct account *was = accounts_at(before, i);
        if (accounts_find(after, was->name) == NULL && ++n <= AUDIT_ACCOUNTS_MAX)
            note_account(server, was, NULL);
    }
    if (n > AUDIT_ACCOUNTS_MAX)
        note_many(server, n - AUDIT_ACCOUNTS_MAX);
}
