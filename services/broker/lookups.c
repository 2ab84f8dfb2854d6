/* SPDX-License-Identifier: MIT
 * lookups.c - fragments that users ask engines to find matches for (lua/lookup): asking, and
 * reading what was found. How engines get them is lookup_polls.c. */
#include "services/broker/handlers.h"

#include <openssl/sha.h>
#include <stdio.h>

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
    if (store_refuse(r, error, lines_next(&lines), &lines))
        return;
    fingerprint(request_member_text(r, "Fragment"), true, print);
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_printf(b, "{\"Fingerprint\":\"%s\",\"Timestamp\":", print);
    buf_put_json_ms(b, lines_next_u64(&lines));
    buf_put_char(b, '}');
    respond_json(r, 200, buf_str(b));
}

void broker_add_lookup(struct request *r)
{
    struct str topic, fragment;
    uint64_t seq;
    int64_t count = 5;
    char print[13], alias[13], threshold_text[32];
    if (!request_body(r) || !store_topic_member(r, &topic) || !store_seq_member(r, 1, &seq) ||
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
    struct turn *turn = request_begin_verb(r, LANE_ADD, STR("add_lookup"), on_lookup_added);
    turn_put(turn, topic);
    turn_put_u64(turn, seq);
    turn_put(turn, store_viewer(r));
    turn_put(turn, str_of(print));
    turn_put(turn, str_of(alias));
    turn_put(turn, buf_str(b));
    turn_put_u64(turn, (uint64_t)count);
    turn_put(turn, str_of(threshold_text));
    turn_end(turn);
}

static void put_fragments(struct buf *b, struct lines *lines, struct buf *pending, bool *is_first)
{
    struct str print = lines_next(lines), fragment = lines_next(lines), matches = lines_next(lines);
    if (matches.n > 0) {
        buf_put(b, *is_first ? STR("{") : STR(",{"));
        *is_first = false;
        buf_put(b, fragment);
        buf_put_char(b, ':');
        buf_put(b, matches);
        buf_put_char(b, '}');
    } else {
        buf_printf(pending, "%s\"%.*s\"", pending->n > 0 ? "," : "", STR_ARG(print));
    }
}

static void on_lookups(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (store_refuse(r, error, lines_next(&lines), &lines))
        return;
    bool is_detail = request_param_is_true(r, "Detail");
    struct buf *b = &r->server->scratch, pending;
    buf_init(&pending, 1 << 20);
    buf_clear(b);
    buf_lit(b, "{\"Topic\":");
    store_put_topic(b, r, *(struct str *)r->state);
    buf_lit(b, ",\"Lookups\":[");
    lines_next(&lines); /* the last Seq */
    for (bool is_first = true; lines_are_left(&lines); is_first = false) {
        struct str seq = lines_next(&lines);
        buf_put(b, is_first ? STR("{\"Query\":") : STR(",{\"Query\":"));
        buf_put(b, lines_next(&lines));
        buf_lit(b, ",\"Fragments\":[");
        bool is_first_fragment = true;
        buf_clear(&pending);
        for (uint64_t n = lines_next_u64(&lines); n > 0 && lines_are_left(&lines); n--)
            put_fragments(b, &lines, &pending, &is_first_fragment);
        buf_put_char(b, ']');
        if (is_detail)
            buf_printf(b, ",\"Seq\":%.*s,\"Pending\":[%.*s]", STR_ARG(seq),
                       STR_ARG(buf_str(&pending)));
        buf_put_char(b, '}');
    }
    buf_lit(b, "]}");
    buf_fini(&pending);
    respond_json(r, 200, buf_str(b));
}

void broker_get_lookups(struct request *r)
{
    struct str *topic = request_alloc(r, sizeof *topic);
    if (request_param_plus(r, "Topic").at == NULL && r->h2o->entity.len > 0) {
        if (!request_body(r) || !store_topic_member(r, topic))
            return;
    } else if (!store_topic_param(r, topic)) {
        return;
    }
    r->state = topic;
    struct turn *turn = request_begin_verb(r, LANE_READ, STR("list_lookups"), on_lookups);
    turn_put(turn, *topic);
    turn_put(turn, store_viewer(r));
    turn_end(turn);
}
