/* SPDX-License-Identifier: MIT
 * searches.c - see searches.h. */
#include "services/broker/searches.h"

static bool may_run(const struct searches *searches, struct str account)
{
    unsigned all_n = 0, own_n = 0;
    for (const struct search_place *at = searches->first; at != NULL; at = at->next) {
        all_n += at->is_running;
        own_n += at->is_running && str_eq(at->account, account);
    }
    return all_n < SEARCHES_MAX && own_n < SEARCHES_OF_ACCOUNT;
}

bool searches_enter(struct searches *searches, struct search_place *place)
{
    struct search_place **at = &searches->first;
    while (*at != NULL)
        at = &(*at)->next;
    *at = place;
    place->next = NULL;
    place->is_listed = true;
    place->is_running = may_run(searches, place->account);
    return place->is_running;
}

static struct search_place *next_to_run(const struct searches *searches)
{
    for (struct search_place *at = searches->first; at != NULL; at = at->next)
        if (!at->is_running && may_run(searches, at->account))
            return at;
    return NULL;
}

void searches_leave(struct searches *searches, struct search_place *place)
{
    struct search_place **at = &searches->first, *next;
    if (!place->is_listed)
        return;
    while (*at != place)
        at = &(*at)->next;
    *at = place->next;
    place->is_listed = place->is_running = false;
    while ((next = next_to_run(searches)) != NULL) {
        next->is_running = true;
        next->start(next);
    }
}
