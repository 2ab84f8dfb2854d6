/* SPDX-License-Identifier: MIT
 * lookups.c - fragments that users ask engines to find matches for (lua/lookup): asking. Reading
 * what was found is lookup_pages.c, how engines get them lookup_polls.c. */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include <openssl/sha.h>
#include <stdio.h>

/* Open ones of an account of role user; a frontend has its share. */
enum { LOOKUPS_OF_USER = 1000 };

/* The first 12 hex digits of SHA-1 of the fragment, with or without a newline behind it. */
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

static void on_lookup_added(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    char print[13];
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    fingerprint(request_member_text(r, "Fragment"), true, print);
    queue_look_after_delivery(broker_of(r)->queue);
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_printf(b, "{\"Fingerprint\":\"%s\",\"Timestamp\":", print);
    buf_put_json_ms(b, lines_next_u64(&lines));
    buf_put_char(b, '}');
    respond_json(r, 200, b);
}

void broker_add_lookup(struct request *r)
{
    struct str topic, fragment;
    uint64_t seq;
    int64_t count = 5;
    char print[13], alias[13], threshold_text[32];
    if (!request_body(r) || !names_topic_member(r, &topic) || !params_seq(r, 1, &seq) ||
        !request_text(r, "Fragment", 1, FRAGMENT_MAX_BYTES, &fragment) ||
        (request_member(r, "Count") != NULL && !request_number(r, "Count", 1, 100, &count)))
        return;
    const struct json_span *threshold = request_member(r, "Threshold");
    double value = 1.0;
    bool is_number = threshold == NULL || (threshold->kind == JSON_SPAN_NUMBER &&
                                           str_parse_double(threshold->raw, &value));
    if (!is_number || value < 0 || value > 2) {
        respond_error(r, ERR_BAD_REQUEST, "Threshold must be a number from 0 to 2.");
        return;
    }
    snprintf(threshold_text, sizeof threshold_text, "%.6g", value);
    fingerprint(fragment, true, print);
    fingerprint(fragment, false, alias);
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_put_json(b, fragment);
    call_add_lookup(request_call(r, on_lookup_added), .topic = topic, .seq = seq,
                    .user = names_viewer(r), .fingerprint = str_of(print), .alias = str_of(alias),
                    .fragment = buf_str(b), .count = (uint64_t)count,
                    .threshold = str_of(threshold_text), .account = r->account->name_token,
                    .max_open = r->account->role == ROLE_USER ? LOOKUPS_OF_USER : UINT32_MAX);
}
