/* SPDX-License-Identifier: MIT
 * presence.c - see presence.h. */
#include "shared/ask/presence.h"

static void end(struct presence *presence, bool has_left)
{
    presence_stop(presence);
    presence->r->exchange.h2o->http1_is_persistent = 0;
    presence->on_end(presence, has_left);
}

static void on_left(struct left_listener *listener)
{
    end(container_of(listener, struct presence, left), true);
}

/* It had left, lost its right, or the node drained, before the wait began. */
static void on_soon(struct deadline *deadline)
{
    struct presence *presence = container_of(deadline, struct presence, soon);
    end(presence, presence->r->exchange.has_left || presence->r->revoked != ERR_OK);
}

void presence_start(struct presence *presence, struct presences *all, struct request *r,
                    void (*on_end)(struct presence *presence, bool has_left))
{
    *presence = (struct presence){
        .soon = {.on_expire = on_soon}, .left = {.on_left = on_left}, .r = r, .on_end = on_end};
    list_prepend(&all->list, &presence->link);
    request_on_left(r, &presence->left);
    if (r->exchange.has_left || r->revoked != ERR_OK || r->server->is_draining)
        loop_set_deadline(r->server->loop, &presence->soon, 0);
}

void presence_stop(struct presence *presence)
{
    struct request *r = presence->r;
    if (!list_is_linked(&presence->link))
        return;
    list_remove(&presence->link);
    request_off_left(r, &presence->left);
    loop_cancel_deadline(r->server->loop, &presence->soon);
}

void presences_drain(struct presences *all)
{
    struct presence *presence;
    while ((presence = list_first(&all->list, struct presence, link)) != NULL)
        end(presence, false);
}
