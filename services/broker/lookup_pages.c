/* SPDX-License-Identifier: MIT
 * lookup_pages.c - GET /api/get-lookups: the queries of a topic with their lookups and what was
 * found (lua/lookup/list.lua), page by page. A query whose lookups do not fit into a page continues
 * with the next one: its object stays open until another query comes.
 *
 * Of several shards a page takes two calls: the topic's shard says which lookups there are, and
 * shard 0 what they are. It may know more than fits; then the page ends there. */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/http/request/pages.h"
#include <stdio.h>

enum { NOTED_MAX = 8 << 20 };

struct listing {
    struct pages pages;
    struct str topic;
    struct buf waiting; /* fingerprints of the open query that have no matches yet */
    struct buf noted;   /* of several shards: what the topic's shard has replied */
    uint64_t seq;       /* the query whose object is open; 0: none */
    bool is_detail, is_first_fragment;
};

static void ask_for_lookups(struct request *r);

static void close_query(struct buf *b, struct listing *listing)
{
    if (listing->seq == 0)
        return;
    buf_put_char(b, ']');
    if (listing->is_detail) {
        buf_lit(b, ",\"Seq\":");
        buf_put_u64(b, listing->seq);
        buf_lit(b, ",\"Pending\":[");
        buf_put(b, buf_str(&listing->waiting));
        buf_put_char(b, ']');
    }
    buf_put_char(b, '}');
}

static void put_fragment(struct buf *b, struct listing *listing, struct str print,
                         struct str fragment, struct str matches)
{
    if (matches.n == 0) {
        buf_printf(&listing->waiting, "%s\"%.*s\"", listing->waiting.n > 0 ? "," : "",
                   STR_ARG(print));
        return;
    }
    buf_put(b, listing->is_first_fragment ? STR("{") : STR(",{"));
    listing->is_first_fragment = false;
    buf_put(b, fragment);
    buf_put_char(b, ':');
    buf_put(b, matches);
    buf_put_char(b, '}');
}

static void begin_query(struct buf *b, struct listing *listing, uint64_t seq, struct str query)
{
    if (seq == listing->seq)
        return;
    close_query(b, listing);
    buf_put(b, listing->seq == 0 ? STR("{\"Query\":") : STR(",{\"Query\":"));
    buf_put(b, query);
    buf_lit(b, ",\"Fragments\":[");
    buf_clear(&listing->waiting);
    listing->seq = seq;
    listing->is_first_fragment = true;
}

static void put_query(struct buf *b, struct lines *lines, struct listing *listing)
{
    uint64_t seq = lines_next_u64(lines);
    begin_query(b, listing, seq, lines_next(lines));
    for (uint64_t n = lines_next_u64(lines); n > 0 && lines_are_left(lines); n--) {
        struct str print = lines_next(lines), fragment = lines_next(lines);
        put_fragment(b, listing, print, fragment, lines_next(lines));
    }
}

/* The answer under way. */
static struct buf *begin_page(struct request *r)
{
    struct listing *listing = r->state;
    struct buf *b = pages_buf(&listing->pages, r);
    if (b->n == 0) {
        buf_lit(b, "{\"Topic\":");
        names_put_topic(b, r, listing->topic);
        buf_lit(b, ",\"Lookups\":[");
    }
    return b;
}

/* A page brought `n` queries, the next one begins at `next`. */
static void end_page(struct request *r, struct buf *b, struct str next, uint64_t n)
{
    struct listing *listing = r->state;
    if (pages_go_on(&listing->pages, r, next, n, ask_for_lookups))
        return;
    close_query(b, listing);
    buf_lit(b, "]}");
    b->is_over |= listing->waiting.is_over || listing->noted.is_over;
    pages_respond(&listing->pages, r, b);
}

static void on_lookups(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    struct buf *b = begin_page(r);
    struct str next = lines_next(&lines);
    uint64_t n = 0;
    for (; lines_are_left(&lines); n++)
        put_query(b, &lines, r->state);
    end_page(r, b, next, n);
}

/* --- of several shards ------------------------------------------------------------------------ */

static void put_noted(struct request *r, struct lines *found)
{
    struct listing *listing = r->state;
    struct buf *b = begin_page(r);
    struct noted noted = lines_noted_of(buf_str(&listing->noted));
    struct str next = noted.next;
    char cursor[48];
    uint64_t query_n = 0;
    for (bool is_cut = false; !is_cut && lines_next_noted(&noted); query_n++) {
        begin_query(b, listing, noted.seq, noted.query);
        for (uint64_t i = 0; i < noted.n && !is_cut; i++) {
            is_cut = !lines_are_left(found);
            if (is_cut) {
                snprintf(cursor, sizeof cursor, "%llu.%llu", (unsigned long long)noted.seq,
                         (unsigned long long)(noted.before_n + i));
                next = str_of(cursor);
                continue;
            }
            struct str print = lines_next(&noted.lines), fragment = lines_next(found);
            struct str matches = lines_next(found);
            if (fragment.n > 0)
                put_fragment(b, listing, print, fragment, matches);
        }
    }
    end_page(r, b, next, query_n);
}

static void on_found(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (!reply_refuse(r, error, lines_next(&lines), &lines))
        put_noted(r, &lines);
}

static void on_noted(struct request *r, enum err error, struct str reply)
{
    struct listing *listing = r->state;
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    size_t had = listing->noted.cap;
    buf_clear(&listing->noted);
    buf_put(&listing->noted, reply);
    if (!pages_hold(&listing->pages, r, listing->noted.cap - had))
        return;
    struct noted noted = lines_noted_of(buf_str(&listing->noted));
    uint64_t lookup_n = 0;
    while (lines_next_noted(&noted))
        for (uint64_t i = 0; i < noted.n; i++, lookup_n++)
            lines_next(&noted.lines);
    if (lookup_n == 0) {
        struct lines none = lines_of(STR(""));
        put_noted(r, &none);
        return;
    }
    noted = lines_noted_of(buf_str(&listing->noted));
    struct verb_writer verb = begin_read_lookups(
        request_call(r, on_found), .need = lookup_need(r, listing->topic, noted.number));
    while (lines_next_noted(&noted))
        for (uint64_t i = 0; i < noted.n; i++)
            put_read_lookups_lookup(&verb, .fingerprint = lines_next(&noted.lines));
    end_verb(&verb);
}

/* ---------------------------------------------------------------------------------------------- */

static void ask_for_lookups(struct request *r)
{
    struct listing *listing = r->state;
    if (r->server->shards->n > 1) {
        call_noted_lookups(request_call(r, on_noted), .topic = listing->topic,
                           .user = names_viewer(r), .after = listing->pages.after,
                           .limit = pages_limit(&listing->pages));
        return;
    }
    call_list_lookups(request_call(r, on_lookups), .topic = listing->topic, .user = names_viewer(r),
                      .after = listing->pages.after, .limit = pages_limit(&listing->pages));
}

static void on_gone(struct request *r)
{
    struct listing *listing = r->state;
    pages_fini(&listing->pages);
    buf_fini(&listing->waiting);
    buf_fini(&listing->noted);
}

/* "<Seq>" (0: from the first query on) or "<Seq>.<lookups of it>" */
static bool is_cursor(struct str after)
{
    uint64_t seq, n;
    struct str rest = after;
    return str_parse_u64(str_cut(&rest, '.'), &seq) && seq <= INT32_MAX &&
           (rest.at == NULL || (seq > 0 && str_parse_u64(rest, &n)));
}

void broker_get_lookups(struct request *r)
{
    struct listing *listing = request_alloc(r, sizeof *listing);
    struct str topic;
    if (!names_topic_either(r, &topic))
        return;
    *listing = (struct listing){.topic = topic, .is_detail = request_param_is_true(r, "Detail")};
    if (!pages_init(&listing->pages, r, STR("0"), is_cursor))
        return;
    buf_init(&listing->waiting, 1 << 20);
    buf_init(&listing->noted, NOTED_MAX);
    r->state = listing;
    r->on_gone = on_gone;
    ask_for_lookups(r);
}
