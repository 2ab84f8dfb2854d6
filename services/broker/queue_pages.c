/* SPDX-License-Identifier: MIT
 * queue_pages.c - GET /api/queue: the queries in one state, page by page (lua/operator/list.lua).
 * Of several shards a page is merged by time. Where the next one begins says how many queries each
 * shard has looked at: "100" of one shard, "40.12.0.48" of four. A shard that is away stays where
 * it was: its queries come with a later page, if it is back by then. */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "services/broker/merged_pages.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/gather.h"

enum { PAGE = 100, PAGE_BYTES = 1 << 20 };

struct listing {
    enum verb_list_state state;
    struct str user;
    uint64_t scanned_n[SHARDS_MAX];
};

/* Reads up to its next query's topic; what follows is of that query. */
static void step(struct merged_page *page)
{
    page->ms = lines_next_u64(&page->rest);
    page->place = lines_next(&page->rest);
    page->topic = lines_next(&page->rest);
}

static void put_query(struct buf *b, struct str topic, struct lines *lines)
{
    uint64_t seq = lines_next_u64(lines);
    struct outcome o = lines_next_outcome(lines);
    buf_lit(b, "{\"Topic\":");
    buf_put_json_of_name(b, topic);
    buf_put_key(b, "Seq");
    buf_put_u64(b, seq);
    buf_put_key(b, "User");
    buf_put(b, o.row.user);
    buf_put_key(b, "Model");
    buf_put(b, o.row.model);
    buf_put_key(b, "Query");
    buf_put(b, o.row.query);
    buf_printf(b, ",\"Status\":\"%.*s\",\"Timestamp\":", STR_ARG(o.status));
    buf_put_json_time(b, o.row.created_ms);
    if (o.reason.n > 0) {
        buf_put_key(b, "Reason");
        buf_put(b, o.reason);
    }
    outcome_put_facts(b, &o);
    buf_put_char(b, '}');
}

/* Its next page begins at `place`; "": where this one began. */
static void move_to(struct listing *listing, unsigned shard, struct str place)
{
    uint64_t scanned_n;
    if (str_parse_u64(place, &scanned_n))
        listing->scanned_n[shard] = scanned_n;
}

/* Puts the queries that come first, and moves the shards that they are from on. */
static void put_queries(struct buf *b, struct listing *listing, struct merged_page *pages,
                        unsigned shard_n)
{
    struct merged_page *page;
    bool is_full = false;
    for (unsigned n = 0; !is_full && (page = merged_pages_first(pages, shard_n)) != NULL; n++) {
        move_to(listing, (unsigned)(page - pages), page->place);
        buf_put(b, n == 0 ? STR("") : STR(","));
        put_query(b, page->topic, &page->rest);
        step(page);
        is_full = n + 1 == PAGE || (shard_n > 1 && b->n >= PAGE_BYTES);
    }
}

static void put_next(struct buf *b, const struct listing *listing, unsigned shard_n, bool has_next)
{
    buf_lit(b, "],\"Next\":");
    if (!has_next) {
        buf_lit(b, "null");
        return;
    }
    for (unsigned i = 0; i < shard_n; i++) {
        buf_put_char(b, i == 0 ? '"' : '.');
        buf_put_u64(b, listing->scanned_n[i]);
    }
    buf_put_char(b, '"');
}

static void on_list(struct request *r, enum err error, const struct gather *all)
{
    struct listing *listing = r->state;
    struct lines none = lines_of(STR(""));
    struct merged_page pages[SHARDS_MAX] = {{.ms = 0}};
    struct str next[SHARDS_MAX];
    if (reply_refuse(r, error, STR("ok"), &none))
        return;
    for (unsigned i = 0; i < all->n; i++) {
        pages[i].rest = lines_of(gather_is_missing(all, i) ? STR("") : all->replies[i]);
        (void)lines_next(&pages[i].rest); /* "ok" */
        next[i] = lines_next(&pages[i].rest);
        pages[i].has_next = next[i].n > 0;
        step(&pages[i]);
    }
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"Queries\":[");
    put_queries(b, listing, pages, all->n);
    bool has_next = false;
    for (unsigned i = 0; i < all->n; i++) {
        bool is_at_end = pages[i].place.n == 0;
        if (is_at_end) /* the shard may have looked at more than it listed */
            move_to(listing, i, next[i]);
        has_next |= !is_at_end || pages[i].has_next;
    }
    put_next(b, listing, all->n, has_next);
    gather_put_missing(b, all->missing);
    buf_put_char(b, '}');
    respond_json(r, 200, b);
}

/* Open by default. */
static bool read_state(struct request *r, enum verb_list_state *ret_state)
{
    struct str state = request_param(r, "State");
    if (state.n == 0 || str_eq(state, STR("Open")))
        *ret_state = LIST_OPEN;
    else if (str_eq(state, STR("Pending")))
        *ret_state = LIST_PENDING;
    else if (str_eq(state, STR("Failed")))
        *ret_state = LIST_FAILED;
    else
        return false;
    return true;
}

/* A number a shard; "0" too is where the list begins. */
static bool read_after(struct request *r, struct listing *listing)
{
    struct str after = request_param(r, "After");
    unsigned n = 0, shard_n = r->server->shards->n;
    if (after.at == NULL || str_eq(after, STR("0")))
        return true;
    for (; after.at != NULL; n++) {
        uint64_t scanned_n;
        if (n == shard_n || !str_parse_u64(str_cut(&after, '.'), &scanned_n) ||
            scanned_n > UINT32_MAX)
            return false;
        listing->scanned_n[n] = scanned_n;
    }
    return n == shard_n;
}

void broker_queue(struct request *r)
{
    struct str user = request_param(r, "User");
    struct listing *listing = r->state = request_alloc(r, sizeof *listing);
    *listing = (struct listing){.user = STR("")};
    if (!read_state(r, &listing->state)) {
        (void)explain_param(r, "State", "Open, Pending or Failed");
        return;
    }
    /* User is also who signs: the one to look for is in OnBehalfOf, or in a second User. */
    struct str wanted = request_param(r, "OnBehalfOf");
    if (wanted.at == NULL && !r->is_signed)
        wanted = user;
    if (wanted.at == NULL && r->is_signed)
        wanted = request_second_param(r, "User");
    if (wanted.n > 0 && !on_behalf_any_name(r, wanted, &listing->user))
        return;
    if (!read_after(r, listing)) {
        (void)explain_param(r, "After", "the Next of an earlier response");
        return;
    }
    struct gather *all = gather_begin_partial(r, on_list);
    for (unsigned i = 0; i < all->n; i++)
        call_list(gather_call(r, i), .state = listing->state, .user = listing->user,
                  .skip = listing->scanned_n[i], .page = PAGE);
}
