/* SPDX-License-Identifier: MIT
 * rooms.c - POST /api/rooms creates a room; DELETE /api/rooms/{id} deletes one; GET /api/rooms
 * lists those of a namespace, newest first. Each shard has some of them; one page of each is merged
 * (shard_list.h). */
#include "generated/verbs.h"
#include "services/bots/bots.h"
#include "services/bots/registry/registry.h"
#include "services/bots/rooms/handlers.h"
#include "services/bots/rooms/message.h"
#include "shared/ask/reply.h"
#include "shared/ask/shard_list.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/once.h"

enum {
    PAGE_ROOMS = 1000,
    LIMIT_USUAL = 100,
    LIST_MAX_BYTES = 2 << 20,
    FULL_RETRY_S = 300,
};

void rooms_refuse_missing(struct request *r)
{
    (void)explain_missing(r, "room", request_path_param(r, "id"),
                          "GET /api/rooms lists those that exist.");
}

/* --- POST ------------------------------------------------------------------------------------- */

struct created {
    char room[ROOM_ID_BYTES + 1];
    struct str name_json;
};

/* full/<whose share is used up> */
static void refuse_full(struct request *r, struct lines *rest)
{
    if (str_eq(lines_next(rest), STR("account")))
        respond_error_more(r, ERR_RATE_LIMITED,
                           "This account has as many rooms as it may: half of the namespace's "
                           "20,000. Delete some (DELETE /api/rooms/{id}).",
                           NULL, FULL_RETRY_S);
    else
        respond_error_more(r, ERR_NAMESPACE_FULL,
                           "This namespace has as many rooms as it may: 20,000.", NULL,
                           FULL_RETRY_S);
}

static void on_created(struct request *r, enum err error, struct str reply)
{
    const struct created *created = r->state;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    struct buf *b = &r->server->scratch;
    if (error == ERR_OK && str_eq(tag, STR("full"))) {
        refuse_full(r, &lines);
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
    once_id(once_key(r), ROOM_ID_BYTES / 2, created->room);
    buf_init(&json, 6 * ROOM_NAME_MAX_BYTES + 2);
    buf_put_json(&json, name);
    created->name_json = request_copy(r, buf_str(&json));
    buf_fini(&json);
    r->state = created;
    call_room_create(request_call(r, on_created), .room = str_of(created->room),
                     .namespace = who.namespace, .room_name = created->name_json,
                     .account = who.account, .user = who.user_name,
                     .most = shards_part(r->server->shards, ROOMS_MAX), .key = once_key(r));
}

/* --- DELETE ----------------------------------------------------------------------------------- */

struct deletion {
    struct registrant who;
    struct str room;
    bool has_begun;
};

static void on_deleted(struct request *r, enum err error, struct str reply);

static void delete_part(struct request *r)
{
    const struct deletion *d = r->state;
    call_room_delete(request_call(r, on_deleted), .room = d->room, .namespace = d->who.namespace,
                     .account = d->who.account, .user = d->who.user_name,
                     .is_operator = d->who.role == ROLE_OPERATOR, .has_begun = d->has_begun);
}

/* If the client leaves, or this node dies, other nodes continue with it (lua/bots/delivery_take).
 */
static void on_deleted(struct request *r, enum err error, struct str reply)
{
    struct deletion *d = r->state;
    struct lines none = lines_of(STR(""));
    if (error == ERR_OK && str_eq(reply, STR("more"))) {
        d->has_begun = true;
        delete_part(r);
    } else if (error == ERR_OK && str_eq(reply, STR("done"))) {
        respond_json_fixed(r, 200, STR("{\"status\":\"OK\"}"));
    } else if (error == ERR_OK && str_eq(reply, STR("missing"))) {
        rooms_refuse_missing(r);
    } else if (error == ERR_OK && str_eq(reply, STR("forbidden"))) {
        respond_error(r, ERR_FORBIDDEN,
                      "Only the account and user that created this room, or an operator, may "
                      "delete it.");
    } else if (!reply_refuse(r, error, reply, &none)) {
        respond_error(r, ERR_INTERNAL, NULL);
    }
}

void rooms_delete_room(struct request *r)
{
    struct deletion *d = request_alloc(r, sizeof *d);
    *d = (struct deletion){.room = request_path_param(r, "id")};
    if (!registrant_of_request(r, &d->who))
        return;
    r->state = d;
    if (message_is_room(d->room))
        delete_part(r);
    else
        rooms_refuse_missing(r);
}

/* --- GET -------------------------------------------------------------------------------------- */

struct listing {
    uint64_t limit;
};

static bool put_room(struct buf *b, struct request *r, struct lines *lines)
{
    (void)r;
    buf_lit(b, "{\"id\":\"");
    buf_put(b, lines_next(lines));
    buf_lit(b, "\",\"name\":");
    buf_put(b, lines_next(lines));
    buf_put_char(b, '}');
    lines_next(lines); /* when it was created: the cursor says it too */
    return true;
}

static void on_pages(struct request *r, enum err error, const struct gather *all)
{
    const struct listing *listing = r->state;
    shard_list_respond(r, error, all,
                       &(struct shard_list){"rooms", listing->limit, LIST_MAX_BYTES, put_room});
}

void rooms_list(struct request *r)
{
    struct listing *listing = request_alloc(r, sizeof *listing);
    struct bots_who who;
    struct str after;
    if (!bots_who_of(r, &who) ||
        !request_param_u64(r, "limit", 1, PAGE_ROOMS, LIMIT_USUAL, &listing->limit) ||
        !shard_list_cursor(r, message_is_room, &after))
        return;
    r->state = listing;
    struct gather *all = gather_begin(r, on_pages);
    for (unsigned i = 0; i < all->n; i++)
        call_room_list(gather_call(r, i), .namespace = who.namespace, .limit = listing->limit,
                       .after = after);
}
