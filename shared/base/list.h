/* SPDX-License-Identifier: MIT
 *
 * list: doubly linked lists whose links are members of their items, so that nothing is allocated
 * and an item leaves its list in one step, without looking for it. An item with several links may
 * be in several lists. Links and lists are zeroed initially. A list stays at its address while it
 * has items, and so does an item that is linked. The caller owns both; one thread at a time.
 *
 *     struct poll { struct list_link link; ... };
 *     struct list parked = {0};
 *
 *     list_append(&parked, &poll->link);
 *     list_for_each (struct poll, poll, &parked, link)
 *         count(poll);
 *     list_remove(&poll->link);
 */
#ifndef PARLEY_BASE_LIST_H
#define PARLEY_BASE_LIST_H

#include "shared/base/container_of.h"

#include <stdbool.h>
#include <stdlib.h>

/* A list is a ring: its ends are linked with the first and the last item. */
struct list_link {
    struct list_link *next, *previous; /* NULL: in no list */
};
struct list {
    struct list_link ends; /* NULL: nothing was ever put into it */
};

static inline bool list_is_linked(const struct list_link *link)
{
    return link->next != NULL;
}

static inline bool list_is_empty(const struct list *list)
{
    return list->ends.next == NULL || list->ends.next == &list->ends;
}

/* Puts `link`, which is in no list, right before `next`, which is in one. */
static inline void list_insert(struct list_link *next, struct list_link *link)
{
    if (list_is_linked(link))
        abort();
    *link = (struct list_link){next, next->previous};
    link->previous->next = next->previous = link;
}

static inline struct list_link *list_ends_of(struct list *list)
{
    if (list->ends.next == NULL)
        list->ends.next = list->ends.previous = &list->ends;
    return &list->ends;
}

static inline void list_append(struct list *list, struct list_link *link)
{
    list_insert(list_ends_of(list), link);
}

static inline void list_prepend(struct list *list, struct list_link *link)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is freed has left the list */
    list_insert(list_ends_of(list)->next, link);
}

/* Does nothing if it is in no list. */
static inline void list_remove(struct list_link *link)
{
    if (!list_is_linked(link))
        return;
    link->next->previous = link->previous;
    link->previous->next = link->next;
    *link = (struct list_link){NULL, NULL};
}

/* Moves all items of `from` to `to`, which is empty; their order stays. */
static inline void list_move(struct list *to, struct list *from)
{
    if (!list_is_empty(to))
        abort();
    if (list_is_empty(from))
        return;
    struct list_link *ends = &to->ends;
    *ends = from->ends;
    ends->next->previous = ends->previous->next = ends;
    from->ends = (struct list_link){NULL, NULL};
}

/* The item of a link; NULL for the ends of `list`, and for NULL. */
static inline void *list_item_at(const struct list *list, const struct list_link *link,
                                 size_t offset)
{
    return link == NULL || link == &list->ends ? NULL : (char *)link - offset;
}

/* Items; NULL: there is none. */
#define list_first(list, type, member)                                                             \
    ((type *)list_item_at((list), (list)->ends.next, offsetof(type, member)))
#define list_last(list, type, member)                                                              \
    ((type *)list_item_at((list), (list)->ends.previous, offsetof(type, member)))
#define list_next(list, item, type, member)                                                        \
    ((type *)list_item_at((list), (item)->member.next, offsetof(type, member)))

/* A loop over all items. The current one may leave the list or be freed, the one after it may not.
 * If a loop's body can end others, take items off with list_first or list_move instead. */
#define list_for_each(type, item, list, member)                                                    \
    for (type *item = list_first(list, type, member), *item##_after;                               \
         item != NULL && (item##_after = list_next(list, item, type, member), true);               \
         item = item##_after)

#endif
