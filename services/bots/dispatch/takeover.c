/* SPDX-License-Identifier: MIT
 * takeover.c - takes deliveries to this node and keeps them (delivery.h), with the verbs for their
 * leases (shared/lease/leases.h). It takes deliveries whose time has come: those that no node has,
 * those of a dead node, and those whose answer is late. */
#include "services/bots/dispatch/delivery.h"
#include "services/bots/dispatch/dispatcher.h"

#include "generated/verbs.h"

static struct delivery *delivery_of(struct lease *lease)
{
    return container_of(lease, struct delivery, lease);
}

static struct dispatcher *dispatcher_of(struct leases *leases)
{
    return container_of(leases, struct dispatcher, leases);
}

static void check(struct leases *leases, struct call_start start, bool wants_age)
{
    (void)leases;
    call_bots_due(start, .of_evaluations = false, .wants_age = wants_age);
}

static void take(struct leases *leases, struct call_start start, unsigned limit)
{
    (void)leases;
    call_delivery_take(start, .limit = limit);
}

static void put_renewal(struct verb_writer *verb, const struct lease *lease)
{
    put_delivery_renew_held(verb, .delivery = str_of(lease->id), .fence = lease->fence);
}

static unsigned count_capacity(struct leases *leases)
{
    return dispatcher_capacity(dispatcher_of(leases));
}

static enum delivery_task task_of(struct str word)
{
    static const struct str words[TASK_NR] = {[TASK_CALL] = {"call", 4},
                                              [TASK_BUSY] = {"busy", 4},
                                              [TASK_LATE] = {"late", 4},
                                              [TASK_OVER] = {"over", 4}};
    unsigned i = 0;
    while (i < TASK_OVER && !str_eq(words[i], word))
        i++;
    return (enum delivery_task)i;
}

static void start(struct leases *leases, struct str id, uint64_t fence, struct lines *rest)
{
    struct delivery_lease lease = {.id = id, .fence = fence, .bot = lines_next(rest)};
    lease.task = task_of(lines_next(rest));
    lease.attempt = (unsigned)lines_next_u64(rest);
    lease.age_ms = lines_next_u64(rest);
    lease.account = lines_next(rest);
    lease.user = lines_next(rest);
    delivery_start(dispatcher_of(leases), &lease);
}

static void drop(struct lease *lease)
{
    delivery_drop(delivery_of(lease));
}

static enum lease_use use_of(struct lease *lease)
{
    switch (delivery_of(lease)->state) {
    case DELIVERY_WAITING:
    case DELIVERY_RESTING: return LEASE_IDLE;
    case DELIVERY_REPLYING:
    case DELIVERY_ENDING: return LEASE_STORING;
    default: return LEASE_WORKING;
    }
}

const struct lease_kind delivery_leases = {
    .tick_ms = 2000,
    .renew_ms = 4000, /* three of them fit into a lease */
    .check_ms = 900,
    .check_again_ms = 1200,
    .home_at = 4, /* "dlv_<room>_" */
    .home_bytes = ROOM_ID_BYTES,
    .rows_max = 4 * DISPATCH_HELD_MAX, /* wait for a call, wait for a question, ask one, rest */
    .renew_max = 200,
    .take_max = 100,
    .check = check,
    .due = {"deliveries", "both"},
    .take = take,
    .begin_renewal = verb_begin_delivery_renew,
    .put_renewal = put_renewal,
    .count_capacity = count_capacity,
    .start = start,
    .drop = drop,
    .use_of = use_of,
};
