/* SPDX-License-Identifier: MIT
 * fair_slots.c - see fair_slots.h: a tree of shares, one level each for accounts, users and parts.
 * A share exists as long as it has an entry, so absence earns no credit: one that arrives counts as
 * served by the last one that was. To choose costs a look at each share that waits on the way
 * down. */
#include "shared/op/fair_slots.h"

#include "shared/base/mem.h"

struct fair_share {
    struct fair_share *up;
    struct list_link link; /* of its level, in order of arrival */
    struct list below;     /* struct fair_share; of a part none */
    struct list entries;   /* struct fair_entry; of a part: that wait, oldest first */
    char *name;
    size_t entry_n, waiting_n; /* in all below it */
    uint64_t held_n;           /* slots */
    uint64_t served;           /* when it last got a slot or gave one back */
};

struct fair_slots {
    struct fair_slots_config config;
    struct fair_share root;
    uint64_t tick; /* slots that were given or taken back */
};

struct fair_slots *fair_slots_create(const struct fair_slots_config *config)
{
    struct fair_slots *slots = mem_zeroed(sizeof *slots);
    slots->config = *config;
    return slots;
}

static void free_below(struct fair_share *up)
{
    list_for_each (struct fair_share, share, &up->below, link) {
        free_below(share);
        free(share->name);
        free(share);
    }
}

void fair_slots_destroy(struct fair_slots *slots)
{
    if (slots != NULL)
        free_below(&slots->root);
    free(slots);
}

/* --- shares ----------------------------------------------------------------------------------- */

static struct fair_share *find(const struct fair_share *up, struct str name)
{
    list_for_each (struct fair_share, share, &up->below, link)
        if (str_eq(str_of(share->name), name))
            return share;
    return NULL;
}

static struct fair_share *add(struct fair_slots *slots, struct fair_share *up, struct str name)
{
    struct fair_share *share = mem_zeroed(sizeof *share);
    *share = (struct fair_share){.up = up, .name = str_copy(name), .served = slots->tick};
    list_append(&up->below, &share->link);
    return share;
}

static void drop_unused(struct fair_share *share)
{
    while (share->up != NULL && share->entry_n == 0) {
        struct fair_share *up = share->up;
        list_remove(&share->link);
        free(share->name);
        free(share);
        share = up;
    }
}

static void count_waiting(struct fair_share *share, bool is_one_more)
{
    for (; share != NULL; share = share->up)
        share->waiting_n += is_one_more ? 1 : (size_t)-1;
}

static void count_entry(struct fair_share *share, bool is_one_more)
{
    for (; share != NULL; share = share->up)
        share->entry_n += is_one_more ? 1 : (size_t)-1;
}

/* --- queues of parts -------------------------------------------------------------------------- */

static struct fair_entry *first_entry(const struct fair_share *part)
{
    return list_first(&part->entries, struct fair_entry, link);
}

static void put_last(struct fair_entry *entry)
{
    list_append(&entry->part->entries, &entry->link);
    count_waiting(entry->part, true);
}

static void take_out(struct fair_entry *entry)
{
    list_remove(&entry->link);
    count_waiting(entry->part, false);
}

/* --- slots ------------------------------------------------------------------------------------ */

static void grant(struct fair_slots *slots, struct fair_entry *entry)
{
    slots->tick++;
    entry->has_slot = true;
    for (struct fair_share *share = entry->part; share != NULL; share = share->up) {
        share->held_n += entry->cost;
        share->served = slots->tick;
    }
}

static void give_back(struct fair_slots *slots, struct fair_entry *entry)
{
    slots->tick++;
    entry->has_slot = false;
    for (struct fair_share *share = entry->part; share != NULL; share = share->up) {
        share->held_n -= entry->cost;
        share->served = slots->tick;
    }
}

static bool comes_before(const struct fair_share *a, const struct fair_share *b)
{
    return a->held_n != b->held_n ? a->held_n < b->held_n : a->served < b->served;
}

static bool may_begin(const struct fair_slots *slots, const struct fair_entry *entry)
{
    return slots->config.may_begin == NULL || slots->config.may_begin(entry);
}

/* The part below `share` whose turn it is; NULL: none waits that may begin. Whether enough is free
 * is asked of that one alone, so that what costs much is not overtaken forever. */
static struct fair_share *choose(const struct fair_slots *slots, struct fair_share *share)
{
    struct fair_share *best = NULL, *best_part = NULL;
    if (!list_is_empty(&share->entries))
        return may_begin(slots, first_entry(share)) ? share : NULL;
    list_for_each (struct fair_share, one, &share->below, link) {
        if (one->waiting_n == 0 || (best != NULL && !comes_before(one, best)))
            continue;
        struct fair_share *part = choose(slots, one);
        if (part == NULL)
            continue;
        best = one;
        best_part = part;
    }
    return best_part;
}

/* --- the interface ---------------------------------------------------------------------------- */

void fair_slots_wait(struct fair_slots *slots, struct fair_entry *entry,
                     const struct fair_owner *owner, uint64_t cost)
{
    const struct str names[FAIR_LEVELS] = {owner->account, owner->user, owner->part};
    struct fair_share *share = &slots->root;
    for (unsigned i = 0; i < FAIR_LEVELS; i++) {
        struct fair_share *below = find(share, names[i]);
        share = below != NULL ? below : add(slots, share, names[i]);
    }
    *entry = (struct fair_entry){.part = share, .cost = cost > 0 ? cost : 1};
    count_entry(share, true);
    put_last(entry);
}

struct fair_entry *fair_slots_next(struct fair_slots *slots)
{
    struct fair_share *root = &slots->root, *part = choose(slots, root);
    if (part == NULL)
        return NULL;
    struct fair_entry *entry = first_entry(part);
    if (root->held_n > 0 && root->held_n + entry->cost > slots->config.slot_n)
        return NULL;
    take_out(entry);
    grant(slots, entry);
    return entry;
}

void fair_slots_leave(struct fair_slots *slots, struct fair_entry *entry)
{
    struct fair_share *part = entry->part;
    if (part == NULL)
        return;
    if (entry->has_slot)
        give_back(slots, entry);
    else
        take_out(entry);
    count_entry(part, false);
    *entry = (struct fair_entry){.part = NULL};
    drop_unused(part);
}

bool fair_slots_yield(struct fair_slots *slots, struct fair_entry *entry)
{
    give_back(slots, entry);
    put_last(entry);
    struct fair_share *part = choose(slots, &slots->root);
    if (part == NULL || first_entry(part) != entry)
        return false;
    take_out(entry);
    grant(slots, entry);
    return true;
}

void fair_slots_resize(struct fair_entry *entry, uint64_t cost)
{
    cost = cost > 0 ? cost : 1;
    for (struct fair_share *share = entry->part; entry->has_slot && share != NULL;
         share = share->up)
        share->held_n += cost - entry->cost;
    entry->cost = cost;
}

static const struct fair_share *with_most(const struct fair_share *share)
{
    const struct fair_share *most = list_first(&share->below, struct fair_share, link);
    list_for_each (const struct fair_share, one, &share->below, link)
        if (one->waiting_n > most->waiting_n)
            most = one;
    return most;
}

struct fair_entry *fair_slots_surplus(const struct fair_slots *slots)
{
    const struct fair_share *share = &slots->root;
    if (slots->config.waiting_max == 0 || share->waiting_n <= slots->config.waiting_max)
        return NULL;
    for (unsigned i = 0; i < FAIR_LEVELS; i++)
        share = with_most(share);
    return list_last(&share->entries, struct fair_entry, link);
}

size_t fair_slots_waiting(const struct fair_slots *slots)
{
    return slots->root.waiting_n;
}

uint64_t fair_slots_held(const struct fair_slots *slots)
{
    return slots->root.held_n;
}
