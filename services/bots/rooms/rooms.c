/* SPDX-License-Identifier: MIT
 * rooms.c - POST /api/rooms creates a room; GET /api/rooms lists those of a namespace, newest
 * first. Each shard has some of them; one page of each is merged (shard_pages.h). */
#include "generated/verbs.h"
#include "services/bots/bots.h"
#include "services/bots/rooms/handlers.h"
#include "services/bots/rooms/message.h"
#include "shared/ask/reply.h"
#include "shared/http/gather.h"
#include "shared/http/pages.h"
#include "shared/queue/shard_pages.h"

enum {
    PAGE_ROOMS = 1000,
    LIMIT_USUAL = 100,
    CURSOR_MAX_BYTES = 64,
    LIST_MAX_BYTES = 2 << 20,
    FULL_RETRY_S = 300,
};

/* --- POST ------------------------------------------------------------------------------------- */

struct created {
    char room[ROOM_ID_BYTES + 1];
    struct str name_json;
};

static void on_created(struct request *r, enum err error, struct str reply)
{
    const struct created *created = r->state;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    struct buf *b = &r->server->scratch;
    if (error == ERR_OK && str_eq(tag, STR("full"))) {
        respond_error_more(r, ERR_RATE_LIMITED,
                           "This namespace has as many rooms as it may: 20,000.", NULL,
                           FULL_RETRY_S);
        return;
    }
    if (reply_refuse(r, error, tag, &lines))
        return;
    buf_clear(b);
    buf_lit(b, "{\"id\":\"");
    buf_put(b, str_of(created->room));
    buf_lit(b, "\",\"name\":");
    buf_put(b, created->name_json);
    buf_put_char(b, '}');
    respond_json(r, 201, b);
}

void rooms_create_room(struct request *r)
{
    struct created *created = request_alloc(r, sizeof *created);
    struct bots_who who;
    struct str name;
    struct buf json;
    if (!bots_who_of(r, &who) || !request_body(r) ||
        !request_text(r, "name", 1, ROOM_NAME_MAX_BYTES, &name))
        return;
    str_random_hex(ROOM_ID_BYTES / 2, created->room);
    buf_init(&json, 6 * ROOM_NAME_MAX_BYTES + 2);
    buf_put_json(&json, name);
    created->name_json = request_copy(r, buf_str(&json));
    buf_fini(&json);
    r->state = created;
    call_room_create(request_call(r, on_created), .room = str_of(created->room),
                     .namespace = who.namespace, .room_name = created->name_json,
                     .account = who.account, .user = who.user_name,
                     .most = shards_part(r->server->shards, ROOMS_MAX));
}

/* --- GET -------------------------------------------------------------------------------------- */

struct listing {
    uint64_t limit;
};

static void put_room(struct buf *b, struct shard_page *page)
{
    buf_lit(b, "{\"id\":\"");
    buf_put(b, lines_next(&page->lines));
    buf_lit(b, "\",\"name\":");
    buf_put(b, lines_next(&page->lines));
    buf_put_char(b, '}');
    lines_next(&page->lines); /* when it was created: the cursor says it too */
    page->cursor = lines_next(&page->lines);
}

static void on_pages(struct request *r, enum err error, const struct gather *all)
{
    const struct listing *listing = r->state;
    struct shard_page *pages = request_alloc(r, all->n * sizeof *pages), *page;
    struct str next = {NULL, 0}, end;
    struct buf b;
    uint64_t n = 0;
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
        return;
    }
    for (unsigned i = 0; i < all->n; i++)
        pages[i] = shard_page_of(all->replies[i]);
    buf_init(&b, LIST_MAX_BYTES);
    buf_lit(&b, "{\"rooms\":[");
    while (n < listing->limit && (page = shard_pages_newest(pages, all->n, &end)) != NULL) {
        if (n++ > 0)
            buf_put_char(&b, ',');
        next = page->cursor;
        put_room(&b, page);
    }
    buf_lit(&b, "]}");
    page = shard_pages_newest(pages, all->n, &end);
    if (page == NULL && end.n > 0)
        pages_link(r, end);
    else if (page != NULL)
        pages_link(r, next);
    respond_json(r, 200, &b);
    buf_fini(&b);
}

static bool read_cursor(struct request *r, struct str *ret_after)
{
    struct str after = request_param(r, "after"), rest = after;
    uint64_t ms;
    if (after.n > 0 && (after.n > CURSOR_MAX_BYTES || !str_parse_u64(str_cut(&rest, '.'), &ms) ||
                        !message_is_room(rest))) {
        respond_error(r, ERR_BAD_REQUEST,
                      "after must be the cursor from the Link header of an earlier response.");
        return false;
    }
    *ret_after = after.at == NULL ? STR("") : after;
    return true;
}

void rooms_list(struct request *r)
{
    struct listing *listing = request_alloc(r, sizeof *listing);
    struct bots_who who;
    struct str after;
    if (!bots_who_of(r, &who) ||
        !request_param_u64(r, "limit", 1, PAGE_ROOMS, LIMIT_USUAL, &listing->limit) ||
        !read_cursor(r, &after))
        return;
    r->state = listing;
    struct gather *all = gather_begin(r, on_pages);
    for (unsigned i = 0; i < all->n; i++)
        call_room_list(gather_call(r, i), .namespace = who.namespace, .limit = listing->limit,
                       .after = after);
}
