/* SPDX-License-Identifier: MIT
 * sql.c - the store of a node: calls wait in a queue, children work on one each (sql.h).
 *
 *   EMPTY --spawn--> STARTING --opened--> IDLE <---job, reply---> WORKING
 *     ^  ^              |                   |                        |
 *     |  +-- RESTING <--+ (not opened)      | (unused)               |
 *     +-------------------------------------+------ lost, killed ----+
 *
 * When a child is lost while it writes, nobody knows whether its statement has committed. It is
 * sent again, which is safe by the ledger; after a few losses, or when it was killed at its limit,
 * the next child looks it up instead. So every end says what is true of the database. */
#include "services/workflow/sql/child.h"
#include "services/workflow/sql/settings.h"
#include "shared/base/sm.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    SLOTS_MAX = 4,
    START_MS = 9000,   /* of a child: connect and create the ledger */
    AWAY_MS = 6000,    /* that a call waits while no child has the database open */
    BUSY_MS = 30000,   /* that it waits for others */
    IDLE_MS = 60000,   /* after which an unused child ends */
    REST_MIN_MS = 100, /* before a child is started again after one that could not open */
    REST_MAX_MS = 2000,
    LOSSES_MAX = 3,         /* of children while they worked on one call */
    TABLES_FRESH_MS = 5000, /* of a description, also of one that failed */
    TABLES_WAIT_MS = 2000,
    RUN_BYTES = 64,
    REASON_BYTES = 512
};

enum slot_state { SLOT_EMPTY, SLOT_STARTING, SLOT_IDLE, SLOT_WORKING, SLOT_RESTING };

static const struct sm_state states[] = {
    [SLOT_EMPTY] = {"EMPTY", SM(SLOT_STARTING) | SM(SLOT_RESTING)},
    [SLOT_STARTING] = {"STARTING", SM(SLOT_IDLE) | SM(SLOT_RESTING)},
    [SLOT_IDLE] = {"IDLE", SM(SLOT_WORKING) | SM(SLOT_EMPTY)},
    [SLOT_WORKING] = {"WORKING", SM(SLOT_IDLE) | SM(SLOT_EMPTY)},
    [SLOT_RESTING] = {"RESTING", SM(SLOT_EMPTY)},
};
static const struct sm sm = SM_OF("database child", states);

/* Place for one child. */
struct slot {
    struct sql_store *store;
    enum slot_state state;
    uint64_t number; /* for the log of its states */
    struct child *child;
    struct sql_call *call;
    bool has_begun;
    struct deadline limit; /* of its state */
};

struct sql_call {
    struct sql_store *store;
    struct sql_call *before, *after; /* in the queue, or in that of calls that end */
    struct slot *slot;               /* that works on it */
    enum database_task task;
    char run[RUN_BYTES];
    uint64_t step, since_ms;
    char *text;
    unsigned loss_n;
    enum sql_outcome looked; /* of a LOOK: the outcome if the statement has not happened */
    sql_end_cb *on_end;
    sql_tables_cb *on_tables;
    void *context;
    struct deadline limit; /* of its wait */
    bool is_ending;        /* with this, at its deadline: */
    enum sql_outcome outcome;
    char reason[REASON_BYTES];
};

struct queue_of_calls {
    struct sql_call *first, *last;
};

struct sql_store {
    struct loop *loop;
    const struct sql_settings *settings;
    struct slot slots[SLOTS_MAX];
    struct queue_of_calls waiting, ending;
    unsigned waiting_n, rest_ms;
    json_t *tables;             /* of the last description; NULL: it failed, or there was none */
    uint64_t tables_ms;         /* 0: there was none */
    char trouble[REASON_BYTES]; /* why the last child could not open the database; "": it did */
    struct log_limit trouble_said;
};

static void pump(struct sql_store *store);

static void move(struct slot *slot, enum slot_state to)
{
    slot->state = sm_move(&sm, slot->number, slot->state, to);
}

/* ---- queues ---- */

static void insert(struct queue_of_calls *queue, struct sql_call *call, bool is_first)
{
    call->before = is_first ? NULL : queue->last;
    call->after = is_first ? queue->first : NULL;
    *(call->before == NULL ? &queue->first : &call->before->after) = call;
    *(call->after == NULL ? &queue->last : &call->after->before) = call;
}

static void take_out(struct queue_of_calls *queue, struct sql_call *call)
{
    *(call->before == NULL ? &queue->first : &call->before->after) = call->after;
    *(call->after == NULL ? &queue->last : &call->after->before) = call->before;
}

static void free_call(struct sql_call *call)
{
    loop_cancel_deadline(call->store->loop, &call->limit);
    free(call->text);
    free(call);
}

/* Takes `tables`. */
static void keep_tables(struct sql_store *store, json_t *tables)
{
    json_decref(store->tables);
    store->tables = tables;
    store->tables_ms = clock_mono_ms();
}

/* ---- the end of a call, which is in no queue and in no slot ---- */

static void end_with(struct sql_call *call, const struct sql_end *end)
{
    if (call->on_tables != NULL && end->outcome != SQL_DONE && !call->is_ending)
        keep_tables(call->store, NULL);
    if (call->on_tables != NULL)
        call->on_tables(call->context, end->outcome == SQL_DONE ? call->store->tables : NULL,
                        end->reason);
    else
        call->on_end(call->context, end);
    free_call(call);
}

static void end_call(struct sql_call *call, enum sql_outcome outcome, const char *reason)
{
    struct sql_end end = {.outcome = outcome, .reason = str_of(reason)};
    end_with(call, &end);
}

/* Not inside the function that its caller has called. */
static void end_later(struct sql_call *call, enum sql_outcome outcome, struct str reason)
{
    call->is_ending = true;
    call->outcome = outcome;
    snprintf(call->reason, sizeof call->reason, "%.*s", STR_ARG(reason));
    insert(&call->store->ending, call, false);
    loop_set_deadline(call->store->loop, &call->limit, 0);
}

static bool is_reachable(const struct sql_store *store)
{
    for (unsigned i = 0; i < store->settings->kind->child_n; i++)
        if (store->slots[i].state == SLOT_IDLE || store->slots[i].state == SLOT_WORKING)
            return true;
    return false;
}

static void leave_queue(struct sql_call *call)
{
    take_out(&call->store->waiting, call);
    call->store->waiting_n--;
}

static void on_call_limit(struct deadline *deadline)
{
    struct sql_call *call = H2O_STRUCT_FROM_MEMBER(struct sql_call, limit, deadline);
    struct sql_store *store = call->store;
    if (call->is_ending) {
        take_out(&store->ending, call);
        end_call(call, call->outcome, call->reason);
        return;
    }
    if (call->task != DATABASE_DESCRIBE && is_reachable(store) &&
        clock_mono_ms() - call->since_ms < BUSY_MS) {
        loop_set_deadline(store->loop, &call->limit, AWAY_MS);
        return;
    }
    leave_queue(call);
    end_call(call, SQL_UNREACHABLE,
             is_reachable(store)      ? "The database is busy with other statements."
             : store->trouble[0] != 0 ? store->trouble
                                      : "The database does not respond.");
}

static void wait_for_slot(struct sql_call *call, bool is_first)
{
    struct sql_store *store = call->store;
    call->since_ms = clock_mono_ms();
    insert(&store->waiting, call, is_first);
    store->waiting_n++;
    loop_set_deadline(store->loop, &call->limit,
                      call->task == DATABASE_DESCRIBE ? TABLES_WAIT_MS : AWAY_MS);
}

/* ---- a child that is lost ---- */

/* Whether the statement has happened is to be found out. */
static void look_up(struct sql_call *call, enum sql_outcome looked, const char *reason)
{
    call->task = DATABASE_LOOK;
    call->looked = looked;
    snprintf(call->reason, sizeof call->reason, "%s", reason);
    wait_for_slot(call, true);
}

static void time_out(struct sql_call *call)
{
    static const char reason[] = "The statement was ended: it ran for 5 seconds.";
    if (call->task == DATABASE_WRITE)
        look_up(call, SQL_TIMED_OUT, reason);
    else if (call->task == DATABASE_LOOK)
        end_call(call, SQL_UNREACHABLE,
                 "The database does not respond: whether the statement has happened is not known.");
    else
        end_call(call, SQL_TIMED_OUT, reason);
}

static void try_again(struct sql_call *call)
{
    static const char reason[] = "The process that held the database ended several times.";
    if (++call->loss_n < LOSSES_MAX)
        wait_for_slot(call, true);
    else if (call->task == DATABASE_WRITE)
        look_up(call, SQL_FAILED, reason);
    else
        end_call(call, call->task == DATABASE_LOOK ? SQL_UNREACHABLE : SQL_FAILED, reason);
}

/* Its call, if it had one, is the caller's to deal with. */
static struct sql_call *empty_slot(struct slot *slot)
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
    while ((call = store->waiting.first) != NULL) {
        leave_queue(call);
        end_later(call, SQL_UNREACHABLE, str_of(store->trouble));
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
    if (is_refused && !is_reachable(store))
        fail_waiting(store);
}

static void on_opened(struct slot *slot, const json_t *frame)
{
    struct sql_store *store = slot->store;
    json_int_t opened = json_integer_value(json_object_get(frame, "opened"));
    if (opened != DATABASE_OPEN) {
        empty_slot(slot);
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

static void put_reason(struct buf *b, const struct sql_call *call, const struct sql_end *end)
{
    if (end->had_happened)
        buf_lit(b, "This step's statement had already run: ");
    buf_put_u64(b, end->row_n);
    buf_put(b, end->row_n == 1 ? STR(" row") : STR(" rows"));
    if (call->task == DATABASE_READ)
        buf_put(b, end->is_cut ? STR(", and more that are left out.") : STR("."));
    else
        buf_lit(b, " inserted or updated.");
}

/* The call is in no slot any more. */
static void finish(struct sql_call *call, const json_t *frame)
{
    struct buf reason;
    struct sql_end end = {
        .outcome = (enum sql_outcome)json_integer_value(json_object_get(frame, "outcome")),
        .columns = json_object_get(frame, "columns"),
        .rows = json_object_get(frame, "rows"),
        .row_n = (uint64_t)json_integer_value(json_object_get(frame, "row_n")),
        .is_cut = json_is_true(json_object_get(frame, "is_cut")),
        .had_happened = json_is_true(json_object_get(frame, "had_happened")),
        .reason = json_member_str(frame, "reason"),
    };
    json_t *none = json_array();
    buf_init(&reason, REASON_BYTES);
    if (call->task == DATABASE_DESCRIBE && end.outcome == SQL_DONE)
        keep_tables(call->store, json_deep_copy(json_object_get(frame, "tables")));
    if (call->task == DATABASE_LOOK && end.outcome == SQL_DONE && !end.had_happened) {
        end.outcome = call->looked;
        end.reason = str_of(call->reason);
    }
    if (end.outcome == SQL_DONE) {
        end.columns = end.columns != NULL ? end.columns : none;
        end.rows = end.rows != NULL ? end.rows : none;
        put_reason(&reason, call, &end);
        end.reason = buf_str(&reason);
    } else {
        end.columns = end.rows = NULL;
    }
    if (end.reason.n == 0)
        end.reason = STR("The database gave no reason.");
    end_with(call, &end);
    json_decref(none);
    buf_fini(&reason);
}

static void on_reply(struct slot *slot, const json_t *frame)
{
    struct sql_store *store = slot->store;
    struct sql_call *call = slot->call;
    if (json_is_true(json_object_get(frame, "began"))) {
        slot->has_begun = true;
        loop_set_deadline(store->loop, &slot->limit,
                          SQL_LIMIT_MS + store->settings->kind->grace_ms);
        return;
    }
    if (json_is_true(json_object_get(frame, "is_lost"))) {
        try_again(empty_slot(slot));
    } else {
        slot->call = NULL;
        call->slot = NULL;
        move(slot, SLOT_IDLE);
        loop_set_deadline(store->loop, &slot->limit, IDLE_MS);
        finish(call, frame);
    }
    pump(store);
}

static void on_frame(void *context, const json_t *frame)
{
    struct slot *slot = context;
    if (slot->state == SLOT_STARTING) {
        on_opened(slot, frame);
        pump(slot->store);
    } else if (slot->state == SLOT_WORKING) {
        on_reply(slot, frame);
    }
}

static void on_gone(void *context)
{
    struct slot *slot = context;
    struct sql_store *store = slot->store;
    bool is_starting = slot->state == SLOT_STARTING;
    struct sql_call *call = empty_slot(slot);
    if (is_starting)
        rest(slot, STR("The process that opens the database ended."), false);
    else if (call != NULL)
        try_again(call);
    pump(store);
}

static void on_slot_limit(struct deadline *deadline)
{
    struct slot *slot = H2O_STRUCT_FROM_MEMBER(struct slot, limit, deadline);
    struct sql_store *store = slot->store;
    switch (slot->state) {
    case SLOT_RESTING: move(slot, SLOT_EMPTY); break;
    case SLOT_STARTING:
        empty_slot(slot);
        rest(slot, STR("The database does not respond."), false);
        break;
    case SLOT_IDLE: empty_slot(slot); break;
    case SLOT_WORKING: time_out(empty_slot(slot)); break;
    case SLOT_EMPTY: abort();
    }
    pump(store);
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
    leave_queue(call);
    loop_cancel_deadline(store->loop, &call->limit);
    slot->call = call;
    call->slot = slot;
    slot->has_begun = false;
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

static bool is_session_busy(const struct sql_store *store, const struct sql_call *call)
{
    for (unsigned i = 0; i < SLOTS_MAX; i++) {
        const struct sql_call *other = store->slots[i].call;
        if (other != NULL && strncmp(other->run, call->run, strcspn(call->run, ".")) == 0)
            return true;
    }
    return false;
}

/* The first one, of sessions that have none at work if there are any. */
static struct sql_call *choose(const struct sql_store *store)
{
    for (struct sql_call *call = store->waiting.first; call != NULL; call = call->after)
        if (call->run[0] == 0 || !is_session_busy(store, call))
            return call;
    return store->waiting.first;
}

static void pump(struct sql_store *store)
{
    unsigned starting_n = 0;
    for (unsigned i = 0; i < store->settings->kind->child_n; i++) {
        struct slot *slot = &store->slots[i];
        starting_n += slot->state == SLOT_STARTING;
        if (slot->state == SLOT_IDLE && store->waiting.first != NULL)
            give(slot, choose(store));
    }
    for (unsigned i = 0; i < store->settings->kind->child_n; i++)
        if (store->slots[i].state == SLOT_EMPTY && store->waiting_n > starting_n) {
            start_child(&store->slots[i]);
            starting_n++;
        }
}

/* ---- the interface ---- */

struct sql_store *sql_store_create(struct loop *loop, const struct sql_settings *settings)
{
    struct sql_store *store = calloc(1, sizeof *store);
    if (store == NULL || settings->kind->child_n > SLOTS_MAX)
        abort();
    store->loop = loop;
    store->settings = settings;
    for (unsigned i = 0; i < SLOTS_MAX; i++)
        store->slots[i] =
            (struct slot){.store = store, .number = sm_number(), .limit.on_expire = on_slot_limit};
    return store;
}

static void free_all(struct queue_of_calls *queue)
{
    for (struct sql_call *call = queue->first, *next; call != NULL; call = next) {
        next = call->after;
        free_call(call);
    }
    *queue = (struct queue_of_calls){.first = NULL};
}

void sql_store_destroy(struct sql_store *store)
{
    if (store == NULL)
        return;
    for (unsigned i = 0; i < SLOTS_MAX; i++) {
        struct slot *slot = &store->slots[i];
        loop_cancel_deadline(store->loop, &slot->limit);
        child_kill(slot->child);
        if (slot->call != NULL)
            free_call(slot->call);
    }
    free_all(&store->waiting);
    free_all(&store->ending);
    child_reap_all();
    json_decref(store->tables);
    free(store);
}

static struct sql_call *make_call(struct sql_store *store, enum database_task task, void *context)
{
    struct sql_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        abort();
    call->store = store;
    call->task = task;
    call->context = context;
    call->limit.on_expire = on_call_limit;
    return call;
}

struct sql_call *sql_start(struct sql_store *store, const struct sql_statement *statement,
                           sql_end_cb *on_end, void *context)
{
    struct buf reason;
    bool may_write = statement->right == SQL_WRITE;
    struct sql_call *call = make_call(store, may_write ? DATABASE_WRITE : DATABASE_READ, context);
    call->on_end = on_end;
    call->step = statement->step;
    snprintf(call->run, sizeof call->run, "%.*s.%llu", STR_ARG(statement->session),
             (unsigned long long)statement->run);
    buf_init(&reason, REASON_BYTES);
    if (!statement_check(statement->text, statement->right, store->settings->kind->dialect,
                         &reason))
        end_later(call, SQL_REFUSED, buf_str(&reason));
    else if (store->waiting_n >= SQL_WAITING_MAX)
        end_later(call, SQL_UNREACHABLE, STR("Too many statements wait for the database."));
    else {
        call->text = str_copy(statement->text);
        wait_for_slot(call, false);
        pump(store);
    }
    buf_fini(&reason);
    return call;
}

struct sql_call *sql_describe(struct sql_store *store, sql_tables_cb *on_tables, void *context)
{
    struct sql_call *call = make_call(store, DATABASE_DESCRIBE, context);
    call->on_tables = on_tables;
    if (store->tables_ms != 0 && clock_mono_ms() - store->tables_ms < TABLES_FRESH_MS)
        end_later(call, store->tables != NULL ? SQL_DONE : SQL_UNREACHABLE,
                  STR("The database does not respond."));
    else if (store->waiting_n >= SQL_WAITING_MAX)
        end_later(call, SQL_UNREACHABLE, STR("Too many statements wait for the database."));
    else {
        wait_for_slot(call, false);
        pump(store);
    }
    return call;
}

void sql_cancel(struct sql_call *call)
{
    struct sql_store *store = call->store;
    if (call->slot != NULL)
        empty_slot(call->slot);
    else if (call->is_ending)
        take_out(&store->ending, call);
    else
        leave_queue(call);
    free_call(call);
    pump(store);
}
