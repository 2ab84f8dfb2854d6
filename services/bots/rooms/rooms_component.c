/* SPDX-License-Identifier: MIT
 * rooms_component.c - rooms in the life of a node (see rooms.h, services/bots/bots.h). */
#include "services/bots/rooms/post.h"
#include "services/bots/rooms/rooms.h"
#include "services/bots/rooms/say.h"

#include "shared/base/mem.h"

static void create(struct bots *bots)
{
    struct rooms *rooms = mem_zeroed(sizeof *rooms);
    rooms->bots = bots;
    bots->rooms = rooms;
    room_follow_init(rooms);
}

static void destroy(struct bots *bots)
{
    room_sockets_fini(bots->rooms);
    say_end_all(bots->rooms);
    post_end_all(bots->rooms);
    room_follow_fini(bots->rooms);
    free(bots->rooms);
    bots->rooms = NULL;
}

static void on_event(struct bots *bots, struct lines *rest)
{
    room_follow_on_event(bots->rooms, rest);
}

static void on_up(struct bots *bots, unsigned shard)
{
    room_follow_on_up(bots->rooms, shard);
}

extern const struct bots_component rooms_component;
const struct bots_component rooms_component = {
    .create = create,
    .destroy = destroy,
    .event = "room",
    .on_event = on_event,
    .on_up = on_up,
};
