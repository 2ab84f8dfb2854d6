/* SPDX-License-Identifier: MIT
 * lookup_pages.c - GET /api/get-lookups: the queries of a topic with their lookups and what was
 * found (lua/lookup/list.lua), page by page. A query whose lookups do not fit into a page goes on
 * with the next one: its object stays open until another query comes. */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/http/pages.h"

struct listing {
    struct pages pages;
    struct str topic;
    struct buf waiting; /* fingerprints of the open query that have no matches yet */
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

static void put_fragment(struct buf *b, struct lines *lines, struct listing *listing)
{
    struct str print = lines_next(lines), fragment = lines_next(lines), matches = lines_next(lines);
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

static void put_query(struct buf *b, struct lines *lines, struct listing *listing)
{
    uint64_t seq = lines_next_u64(lines);
    struct str query = lines_next(lines);
    if (seq != listing->seq) {
        close_query(b, listing);
        buf_put(b, listing->seq == 0 ? STR("{\"Query\":") : STR(",{\"Query\":"));
        buf_put(b, query);
        buf_lit(b, ",\"Fragments\":[");
        buf_clear(&listing->waiting);
        listing->seq = seq;
        listing->is_first_fragment = true;
    }
    for (uint64_t n = lines_next_u64(lines); n > 0 && lines_are_left(lines); n--)
        put_fragment(b, lines, listing);
}

static void on_lookups(struct request *r, enum err error, struct str reply)
{
    struct listing *listing = r->state;
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    struct buf *b = pages_buf(&listing->pages, r);
    struct str next = lines_next(&lines);
    uint64_t n = 0;
    if (b->n == 0) {
        buf_lit(b, "{\"Topic\":");
        names_put_topic(b, r, listing->topic);
        buf_lit(b, ",\"Lookups\":[");
    }
    for (; lines_are_left(&lines); n++)
        put_query(b, &lines, listing);
    if (pages_go_on(&listing->pages, r, next, n)) {
        ask_for_lookups(r);
        return;
    }
    close_query(b, listing);
    buf_lit(b, "]}");
    b->is_over |= listing->waiting.is_over;
    respond_json(r, 200, b);
}

static void ask_for_lookups(struct request *r)
{
    struct listing *listing = r->state;
    call_list_lookups(request_call(r, on_lookups), .topic = listing->topic, .user = names_viewer(r),
                      .after = listing->pages.after, .limit = pages_limit(&listing->pages));
}

static void on_gone(struct request *r)
{
    struct listing *listing = r->state;
    pages_fini(&listing->pages);
    buf_fini(&listing->waiting);
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
    r->state = listing;
    r->on_gone = on_gone;
    ask_for_lookups(r);
}
