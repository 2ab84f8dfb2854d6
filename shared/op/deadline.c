/* SPDX-License-Identifier: MIT
 * deadline.c - see deadline.h. heap[0] is unused, so that place 0 can mean "not set". */
#include "shared/op/deadline.h"

#include "shared/base/mem.h"

static void put(struct deadlines *all, size_t place, struct deadline_entry entry)
{
    all->heap[place] = entry;
    entry.deadline->place = place;
}

static void sift_up(struct deadlines *all, size_t place)
{
    struct deadline_entry entry = all->heap[place];
    for (; place > 1 && all->heap[place / 2].at_ms > entry.at_ms; place /= 2)
        put(all, place, all->heap[place / 2]);
    put(all, place, entry);
}

static void sift_down(struct deadlines *all, size_t place)
{
    struct deadline_entry entry = all->heap[place];
    for (size_t child; (child = place * 2) <= all->n; place = child) {
        if (child < all->n && all->heap[child + 1].at_ms < all->heap[child].at_ms)
            child++;
        if (all->heap[child].at_ms >= entry.at_ms)
            break;
        put(all, place, all->heap[child]);
    }
    put(all, place, entry);
}

/* Puts an entry in the place of one that is no longer needed. */
static void replace(struct deadlines *all, size_t place, struct deadline_entry entry)
{
    put(all, place, entry);
    if (place > 1 && all->heap[place / 2].at_ms > entry.at_ms)
        sift_up(all, place);
    else
        sift_down(all, place);
}

void deadlines_fini(struct deadlines *all)
{
    free(all->heap);
    *all = (struct deadlines){0};
}

void deadline_set(struct deadlines *all, struct deadline *d, uint64_t at_ms)
{
    if (d->place == 0) {
        all->heap = mem_grow(all->heap, all->heap == NULL ? 0 : all->n + 1, sizeof *all->heap);
        d->place = ++all->n;
    }
    d->at_ms = at_ms;
    replace(all, d->place, (struct deadline_entry){at_ms, d});
}

void deadline_cancel(struct deadlines *all, struct deadline *d)
{
    if (d->place == 0)
        return;
    struct deadline_entry last = all->heap[all->n--];
    if (last.deadline != d)
        replace(all, d->place, last);
    d->place = 0;
}

uint64_t deadlines_wait_ms(const struct deadlines *all, uint64_t now_ms, uint64_t most_ms)
{
    if (all->n == 0)
        return most_ms;
    uint64_t at = all->heap[1].at_ms;
    if (at <= now_ms)
        return 0;
    return at - now_ms < most_ms ? at - now_ms : most_ms;
}

void deadlines_run(struct deadlines *all, uint64_t now_ms)
{
    while (all->n > 0 && all->heap[1].at_ms <= now_ms) {
        struct deadline *d = all->heap[1].deadline;
        deadline_cancel(all, d);
        d->on_expire(d);
    }
}
