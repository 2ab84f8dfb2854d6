/* SPDX-License-Identifier: MIT
 * sql_slots.c - the children of a store: one in each slot, which works on one call at a time.
 *
 *   EMPTY --spawn--> STARTING --opened--> IDLE <---job, reply---> WORKING
 *     ^  ^              |                   |                        |
 *     |  +-- RESTING <--+ (not opened)      | (unused)               |
 *     +-------------------------------------+------ lost, killed ----+
 *
 * When a child is lost while it writes, nobody knows whether its statement has committed. It is
 * sent again, which is safe by the ledger; after a few losses, or when it was killed at its limit,
 * the next child looks it up instead. So every end says what is true of the database. */
#include "services/workflow/sql/sql_internal.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    START_MS = 9000,   /* of a child: connect and create the ledger */
    IDLE_MS = 60000,   /* after which an unused child ends */
    REST_MIN_MS = 100, /* before a child is started again after one that could not open */
    REST_MAX_MS = 2000,
    LOSSES_MAX = 3 /* of children while they worked on one call */
};

static const struct sm_state states[] = {
    [SLOT_EMPTY] = {"EMPTY", SM(SLOT_STARTING) | SM(SLOT_RESTING)},
    [SLOT_STARTING] = {"STARTING", SM(SLOT_IDLE) | SM(SLOT_RESTING)},
    [SLOT_IDLE] = {"IDLE", SM(SLOT_WORKING) | SM(SLOT_EMPTY)},
    [SLOT_WORKING] = {"WORKING", SM(SLOT_IDLE) | SM(SLOT_EMPTY)},
    [SLOT_RESTING] = {"RESTING", SM(SLOT_EMPTY)},
};
static const struct sm sm = SM_OF("database child", states);

static void move(struct slot *slot, enum slot_state to)
{
    slot->state = sm_move(&sm, slot->number, slot->state, to);
}

bool sql_slots_reach(const struct sql_store *store)
{
    for (unsigned i = 0; i < store->settings->kind->child_n; i++)
        if (store->slots[i].state == SLOT_IDLE || store->slots[i].state == SLOT_WORKING)
            return true;
    return false;
}

/* ---- a child that is lost ---- */

/* Finds out whether the statement has happened. */
static void check_ledger(struct sql_call *call, enum sql_outcome fallback, const char *reason)
{
    call->task = DATABASE_CHECK;
    call->fallback = fallback;
    snprintf(call->reason, sizeof call->reason, "%s", reason);
    sql_call_wait(call, true);
}

static void time_out(struct sql_call *call)
{
    static const char reason[] = "The statement was ended: it ran for 5 seconds.";
    if (call->task == DATABASE_WRITE)
        check_ledger(call, SQL_TIMED_OUT, reason);
    else if (call->task == DATABASE_CHECK)
        sql_call_end(
            call, SQL_UNREACHABLE,
            "The database does not respond: whether the statement has happened is not known.");
    else
        sql_call_end(call, SQL_TIMED_OUT, reason);
}

static void try_again(struct sql_call *call)
{
    static const char reason[] = "The process that held the database ended several times.";
    if (++call->loss_n < LOSSES_MAX)
        sql_call_wait(call, true);
    else if (call->task == DATABASE_WRITE)
        check_ledger(call, SQL_FAILED, reason);
    else
        sql_call_end(call, call->task == DATABASE_CHECK ? SQL_UNREACHABLE : SQL_FAILED, reason);
}

struct sql_call *sql_slot_empty(struct slot *slot)
{
    struct sql_call *call = slot->call;
    slot->call = NULL;
    if (call != NULL)
        call->slot = NULL;
    child_kill(slot->child);
    slot->child = NULL;
    loop_cancel_deadline(slot->store->loop, &slot->limit);
    if (slot->state != SLOT_STARTING)
        move(slot, SLOT_EMPTY);
    return call;
}

/* ---- a child that starts ---- */

static void fail_waiting(struct sql_store *store)
{
    struct sql_call *call;
    while ((call = list_first(&store->waiting, struct sql_call, link)) != NULL) {
        sql_call_leave(call);
        sql_call_end_later(call, SQL_UNREACHABLE, str_of(store->trouble));
    }
}

static void rest(struct slot *slot, struct str reason, bool is_refused)
{
    struct sql_store *store = slot->store;
    uint64_t times;
    snprintf(store->trouble, sizeof store->trouble, "%.*s", STR_ARG(reason));
    if (log_limit_passes(&store->trouble_said, store->trouble, &times))
        log_write(LOG_WARN, "workflows' database unavailable",
                  LOG_S("database", store->settings->place), LOG_S("reason", store->trouble),
                  LOG_U("times", times));
    move(slot, SLOT_RESTING);
    store->rest_ms = store->rest_ms == 0 ? REST_MIN_MS : 2 * store->rest_ms;
    if (store->rest_ms > REST_MAX_MS)
        store->rest_ms = REST_MAX_MS;
    /* Half of it at random, so that many nodes do not come back at the same moment. */
    loop_set_deadline(store->loop, &slot->limit,
                      store->rest_ms / 2 + (unsigned)rand() % (store->rest_ms / 2 + 1));
    if (is_refused && !sql_slots_reach(store))
        fail_waiting(store);
}

static void on_opened(struct slot *slot, const json_t *frame)
{
    struct sql_store *store = slot->store;
    json_int_t opened = json_integer_value(json_object_get(frame, "opened"));
    if (opened != DATABASE_OPEN) {
        sql_slot_empty(slot);
        rest(slot, json_member_str(frame, "reason"), opened == DATABASE_REFUSED);
        return;
    }
    if (store->trouble[0] != 0)
        log_write(LOG_INFO, "workflows' database available",
                  LOG_S("database", store->settings->place));
    store->trouble[0] = 0;
    store->rest_ms = 0;
    move(slot, SLOT_IDLE);
    loop_set_deadline(store->loop, &slot->limit, IDLE_MS);
}

/* ---- replies ---- */

static void on_reply(struct slot *slot, const json_t *frame)
{
    struct sql_store *store = slot->store;
    struct sql_call *call = slot->call;
    if (json_is_true(json_object_get(frame, "began"))) {
        loop_set_deadline(store->loop, &slot->limit,
                          SQL_LIMIT_MS + store->settings->kind->grace_ms);
        return;
    }
    if (json_is_true(json_object_get(frame, "is_lost"))) {
        try_again(sql_slot_empty(slot));
    } else {
        slot->call = NULL;
        call->slot = NULL;
        move(slot, SLOT_IDLE);
        loop_set_deadline(store->loop, &slot->limit, IDLE_MS);
        sql_call_finish(call, frame);
    }
    sql_slots_pump(store);
}

static void on_frame(void *context, const json_t *frame)
{
    struct slot *slot = context;
    if (slot->state == SLOT_STARTING) {
        on_opened(slot, frame);
        sql_slots_pump(slot->store);
    } else if (slot->state == SLOT_WORKING) {
        on_reply(slot, frame);
    }
}

static void on_gone(void *context)
{
    struct slot *slot = context;
    struct sql_store *store = slot->store;
    bool is_starting = slot->state == SLOT_STARTING;
    struct sql_call *call = sql_slot_empty(slot);
    if (is_starting)
        rest(slot, STR("The process that opens the database ended."), false);
    else if (call != NULL)
        try_again(call);
    sql_slots_pump(store);
}

static void on_slot_limit(struct deadline *deadline)
{
    struct slot *slot = container_of(deadline, struct slot, limit);
    struct sql_store *store = slot->store;
    switch (slot->state) {
    case SLOT_RESTING: move(slot, SLOT_EMPTY); break;
    case SLOT_STARTING:
        sql_slot_empty(slot);
        rest(slot, STR("The database does not respond."), false);
        break;
    case SLOT_IDLE: sql_slot_empty(slot); break;
    case SLOT_WORKING: time_out(sql_slot_empty(slot)); break;
    case SLOT_EMPTY: abort();
    }
    sql_slots_pump(store);
}

/* ---- work for the children ---- */

static void give(struct slot *slot, struct sql_call *call)
{
    struct sql_store *store = slot->store;
    json_t *frame =
        json_pack("{s:i,s:s,s:I,s:s}", "task", (int)call->task, "run", call->run, "step",
                  (json_int_t)call->step, "text",
                  call->task == DATABASE_READ || call->task == DATABASE_WRITE ? call->text : "");
    if (frame == NULL)
        abort(); /* the text was found to be UTF-8 */
    sql_call_leave(call);
    loop_cancel_deadline(store->loop, &call->limit);
    slot->call = call;
    call->slot = slot;
    move(slot, SLOT_WORKING);
    loop_set_deadline(store->loop, &slot->limit,
                      call->task == DATABASE_DESCRIBE ? TABLES_WAIT_MS
                                                      : store->settings->kind->begin_ms);
    child_send(slot->child, frame);
    json_decref(frame);
}

static void start_child(struct slot *slot)
{
    struct sql_store *store = slot->store;
    const struct child_events events = {on_frame, on_gone, slot};
    slot->child = child_spawn(store->loop, store->settings, &events);
    if (slot->child == NULL) {
        rest(slot, STR("No process can be started for the database."), false);
        return;
    }
    move(slot, SLOT_STARTING);
    loop_set_deadline(store->loop, &slot->limit, START_MS);
}

/* One that has lost its child, which are first, or the one whose turn it is. */
static struct sql_call *choose(const struct sql_store *store)
{
    struct sql_call *first = list_first(&store->waiting, struct sql_call, link);
    if (first == NULL || first->entry.has_slot)
        return first;
    struct fair_entry *entry = fair_slots_next(store->turns);
    return entry == NULL ? NULL : container_of(entry, struct sql_call, entry);
}

void sql_slots_pump(struct sql_store *store)
{
    unsigned starting_n = 0;
    for (unsigned i = 0; i < store->settings->kind->child_n; i++) {
        struct slot *slot = &store->slots[i];
        starting_n += slot->state == SLOT_STARTING;
        struct sql_call *call = slot->state == SLOT_IDLE ? choose(store) : NULL;
        if (call != NULL)
            give(slot, call);
    }
    for (unsigned i = 0; i < store->settings->kind->child_n; i++)
        if (store->slots[i].state == SLOT_EMPTY && store->waiting_n > starting_n) {
            start_child(&store->slots[i]);
            starting_n++;
        }
}

void sql_slots_init(struct sql_store *store)
{
    for (unsigned i = 0; i < SLOTS_MAX; i++)
        store->slots[i] =
            (struct slot){.store = store, .number = sm_number(), .limit.on_expire = on_slot_limit};
}
