/* SPDX-License-Identifier: MIT
 * deadline.c - see deadline.h. heap[0] is unused, so that place 0 can mean "not set". */
#include "shared/op/deadline.h"

#include <stdlib.h>

static void put(struct deadlines *all, size_t place, struct deadline *d)
{
    all->heap[place] = d;
    d->place = place;
}

static void sift_up(struct deadlines *all, struct deadline *d)
{
    size_t place = d->place;
    for (; place > 1 && all->heap[place / 2]->at_ms > d->at_ms; place /= 2)
        put(all, place, all->heap[place / 2]);
    put(all, place, d);
}

static void sift_down(struct deadlines *all, struct deadline *d)
{
    size_t place = d->place;
    for (size_t child; (child = place * 2) <= all->n; place = child) {
        if (child < all->n && all->heap[child + 1]->at_ms < all->heap[child]->at_ms)
            child++;
        if (all->heap[child]->at_ms >= d->at_ms)
            break;
        put(all, place, all->heap[child]);
    }
    put(all, place, d);
}

void deadlines_fini(struct deadlines *all)
{
    free(all->heap);
    *all = (struct deadlines){0};
}

void deadline_set(struct deadlines *all, struct deadline *d, uint64_t at_ms)
{
    if (d->place == 0) {
        if (all->n + 2 > all->cap) {
            all->cap = all->cap == 0 ? 64 : all->cap * 2;
            all->heap = realloc(all->heap, all->cap * sizeof *all->heap);
            if (all->heap == NULL)
                abort();
        }
        put(all, ++all->n, d);
    }
    d->at_ms = at_ms;
    sift_up(all, d);
    sift_down(all, d);
}

void deadline_cancel(struct deadlines *all, struct deadline *d)
{
    if (d->place == 0)
        return;
    struct deadline *last = all->heap[all->n--];
    if (last != d) {
        put(all, d->place, last);
        sift_up(all, last);
        sift_down(all, last);
    }
    d->place = 0;
}

uint64_t deadlines_wait_ms(const struct deadlines *all, uint64_t now_ms, uint64_t most_ms)
{
    if (all->n == 0)
        return most_ms;
    uint64_t at = all->heap[1]->at_ms;
    if (at <= now_ms)
        return 0;
    return at - now_ms < most_ms ? at - now_ms : most_ms;
}

bool deadlines_run(struct deadlines *all, uint64_t now_ms)
{
    bool has_run = false;
    while (all->n > 0 && all->heap[1]->at_ms <= now_ms) {
        struct deadline *d = all->heap[1];
        deadline_cancel(all, d);
        d->on_expire(d);
        has_run = true;
    }
    return has_run;
}
