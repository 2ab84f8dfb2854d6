/* SPDX-License-Identifier: MIT
 * lookups.c - fragments that users ask engines to find matches for (lua/lookup): asking. Reading
 * what was found is lookup_pages.c, how engines get them lookup_polls.c. */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/ask/storage_limit.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/once.h"

#include <openssl/sha.h>
#include <stdio.h>

/* Open ones of an account of role user; a frontend has its share. */
enum { LOOKUPS_OF_USER = 1000 };

struct str lookup_need(struct request *r, struct str topic, struct str number)
{
    struct buf need;
    buf_init(&need, 1024);
    buf_printf(&need, "%.*s:%.*s", STR_ARG(topic), STR_ARG(number));
    struct str copy = request_copy(r, buf_str(&need));
    buf_fini(&need);
    return copy;
}

/* The first 12 hex digits of SHA-1 of the fragment, with or without a trailing newline. */
static void fingerprint(struct str fragment, bool has_newline, char out[13])
{
    unsigned char digest[SHA_DIGEST_LENGTH];
    char hex[SHA_DIGEST_LENGTH * 2 + 1];
    struct buf text;
    buf_init(&text, FRAGMENT_MAX_BYTES + 1);
    buf_put(&text, fragment);
    if (has_newline)
        buf_put_char(&text, '\n');
    SHA1((const unsigned char *)text.at, text.n, digest);
    buf_fini(&text);
    str_hex(digest, sizeof digest, hex);
    memcpy(out, hex, 12);
    out[12] = 0;
}

/* One that is being added, in the request's pool. Of one shard one verb adds it; of several the
 * topic's shard notes it first (note_lookup), and then shard 0 opens it (open_lookup). */
struct adding {
    struct str topic;
    uint64_t seq;
    int64_t count;
    char print[13], alias[13], threshold[32];
    struct str number, stamp; /* of several: of the topic, and of a note that is new */
    uint64_t bytes;           /* of the fragment as JSON */
};

static void answer_added(struct request *r, struct lines *rest)
{
    const struct adding *adding = r->state;
    queue_cover_delivery(broker_of(r)->queue);
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_printf(b, "{\"Fingerprint\":\"%s\",\"Timestamp\":", adding->print);
    buf_put_json_zoneless_time(b, lines_next_u64(rest));
    buf_put_char(b, '}');
    respond_json(r, 200, b);
}

static void on_added(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (!reply_refuse(r, error, lines_next(&lines), &lines))
        answer_added(r, &lines);
}

/* Open ones that the account may have. */
static uint64_t max_open(const struct request *r)
{
    return r->account->role == ROLE_USER ? LOOKUPS_OF_USER : UINT32_MAX;
}

static struct str put_fragment(struct request *r)
{
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_put_json(b, request_member_text(r, "Fragment"));
    return buf_str(b);
}

static void on_opened(struct request *r, enum err error, struct str reply)
{
    const struct adding *adding = r->state;
    struct lines lines = lines_of(reply);
    if (!reply_refuse(r, error, lines_next(&lines), &lines))
        answer_added(r, &lines);
    else if (!err_is_outage(error) && adding->stamp.n > 0) /* else it may have been opened */
        call_unnote_lookup(shards_forget(r->server->shards), .topic = adding->topic,
                           .seq = adding->seq, .fingerprint = str_of(adding->print),
                           .stamp = adding->stamp, .bytes = adding->bytes);
}

static void on_noted(struct request *r, enum err error, struct str reply)
{
    struct adding *adding = r->state;
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    adding->number = request_copy(r, lines_next(&lines));
    adding->stamp = request_copy(r, lines_next(&lines));
    call_open_lookup(request_call(r, on_opened),
                     .need = lookup_need(r, adding->topic, adding->number),
                     .fingerprint = str_of(adding->print), .alias = str_of(adding->alias),
                     .fragment = put_fragment(r), .count = (uint64_t)adding->count,
                     .threshold = str_of(adding->threshold), .account = r->account->name_token,
                     .user = lines_next(&lines), .max_open = max_open(r),
                     .is_counted = storage_limit_of_account(r) != NO_NUMBER, .key = once_key(r));
}

static bool read_threshold(struct request *r, char ret_text[32])
{
    const struct json_span *threshold = request_member(r, "Threshold");
    double value = 1.0;
    bool is_number = threshold == NULL || (threshold->kind == JSON_SPAN_NUMBER &&
                                           str_parse_double(threshold->raw, &value));
    if (!is_number || value < 0 || value > 2)
        return explain_member(r, "Threshold", "a number from 0 to 2");
    snprintf(ret_text, 32, "%.6g", value);
    return true;
}

void broker_add_lookup(struct request *r)
{
    struct str fragment;
    struct adding *adding = r->state = request_alloc(r, sizeof *adding);
    *adding = (struct adding){.count = 5};
    if (!request_body(r) || !names_topic_member(r, &adding->topic) ||
        !params_seq(r, 1, &adding->seq) ||
        !request_text(r, "Fragment", 1, FRAGMENT_MAX_BYTES, &fragment) ||
        (request_member(r, "Count") != NULL &&
         !request_number(r, "Count", 1, 100, &adding->count)) ||
        !read_threshold(r, adding->threshold))
        return;
    fingerprint(fragment, true, adding->print);
    fingerprint(fragment, false, adding->alias);
    struct str json = put_fragment(r);
    adding->bytes = json.n;
    if (r->server->shards->n > 1)
        call_note_lookup(request_call(r, on_noted), .topic = adding->topic, .seq = adding->seq,
                         .user = names_viewer(r), .fingerprint = str_of(adding->print),
                         .bytes = adding->bytes, .max_stored = storage_limit_of_account(r),
                         .max_stored_per_user = storage_limit_of_user(r));
    else
        call_add_lookup(request_call(r, on_added), .topic = adding->topic, .seq = adding->seq,
                        .user = names_viewer(r), .fingerprint = str_of(adding->print),
                        .alias = str_of(adding->alias), .fragment = json,
                        .count = (uint64_t)adding->count, .threshold = str_of(adding->threshold),
                        .account = r->account->name_token, .max_open = max_open(r),
                        .max_stored = storage_limit_of_account(r),
                        .max_stored_per_user = storage_limit_of_user(r), .key = once_key(r));
}
