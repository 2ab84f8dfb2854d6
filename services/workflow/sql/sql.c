/* SPDX-License-Identifier: MIT
 * sql.c - the store of a node: calls wait for their turn, children work on one each (sql.h,
 * sql_slots.c). Descriptions are nobody's: they take turns as an account of their own, and all that
 * wait end with the first one that is answered. */
#include "services/workflow/sql/sql_internal.h"

#include "shared/base/mem.h"

#include <stdio.h>

enum {
    ROLES_WAIT_MS = 6000,
    BUSY_MS = 30000,       /* that a call waits for others */
    TABLES_FRESH_MS = 5000 /* of a description, also of one that failed */
};

/* ---- queues ---- */

static void free_call(struct sql_call *call)
{
    loop_cancel_deadline(call->store->loop, &call->limit);
    fair_slots_leave(call->store->turns, &call->entry);
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
    fair_slots_leave(call->store->turns, &call->entry);
    if (call->on_tables != NULL && end->outcome != SQL_DONE && !call->is_ending)
        keep_tables(call->store, NULL);
    if (call->on_tables != NULL)
        call->on_tables(call->context, end->outcome == SQL_DONE ? call->store->tables : NULL,
                        end->reason);
    else
        call->on_end(call->context, end);
    free_call(call);
}

void sql_call_end(struct sql_call *call, enum sql_outcome outcome, const char *reason)
{
    struct sql_end end = {.outcome = outcome, .reason = str_of(reason)};
    end_with(call, &end);
}

/* Not inside the function that its caller has called. */
void sql_call_end_later(struct sql_call *call, enum sql_outcome outcome, struct str reason)
{
    fair_slots_leave(call->store->turns, &call->entry);
    call->is_ending = true;
    call->outcome = outcome;
    snprintf(call->reason, sizeof call->reason, "%.*s", STR_ARG(reason));
    list_append(&call->store->ending, &call->link);
    loop_cancel_deadline(call->store->loop, &call->limit);
    loop_begin_steps(call->store->loop, &call->store->steps);
}

/* Ends one: what is begun with a description is long, since it contains the question. */
static bool end_one(struct steps *steps)
{
    struct sql_store *store = container_of(steps, struct sql_store, steps);
    struct sql_call *call = list_first(&store->ending, struct sql_call, link);
    if (call == NULL)
        return false;
    list_remove(&call->link);
    sql_call_end(call, call->outcome, call->reason);
    return !list_is_empty(&store->ending);
}

void sql_call_leave(struct sql_call *call)
{
    list_remove(&call->link);
    call->store->waiting_n--;
}

static void on_call_limit(struct deadline *deadline)
{
    struct sql_call *call = container_of(deadline, struct sql_call, limit);
    struct sql_store *store = call->store;
    if (sql_slots_reach(store) && clock_mono_ms() - call->since_ms < BUSY_MS) {
        loop_set_deadline(store->loop, &call->limit, AWAY_MS);
        return;
    }
    sql_call_leave(call);
    sql_call_end(call, SQL_UNREACHABLE,
                 sql_slots_reach(store)   ? "The database is busy with other statements."
                 : store->trouble[0] != 0 ? store->trouble
                                          : "The database does not respond.");
}

void sql_call_wait(struct sql_call *call, bool is_again)
{
    struct sql_store *store = call->store;
    call->since_ms = clock_mono_ms();
    if (is_again)
        list_prepend(&store->waiting, &call->link);
    else
        list_append(&store->waiting, &call->link);
    store->waiting_n++;
    loop_set_deadline(store->loop, &call->limit,
                      call->task == DATABASE_DESCRIBE ? TABLES_WAIT_MS : AWAY_MS);
}

/* ---- what its child replied ---- */

static void put_reason(struct buf *b, const struct sql_call *call, const struct sql_end *end)
{
    if (end->had_happened)
        buf_lit(b, "This step's statement had already run: ");
    buf_printf(b, "%llu %s", COUNTED(end->row_n, "row"));
    if (call->task == DATABASE_READ)
        buf_put(b, end->is_cut ? STR(", and more that are left out.") : STR("."));
    else
        buf_lit(b, " inserted or updated.");
}

/* They asked before it was answered. */
static void end_descriptions(struct sql_store *store)
{
    list_for_each (struct sql_call, call, &store->waiting, link) {
        if (call->task != DATABASE_DESCRIBE)
            continue;
        sql_call_leave(call);
        sql_call_end_later(call, SQL_DONE, STR(""));
    }
}

/* The call is in no slot any more. */
void sql_call_finish(struct sql_call *call, const json_t *frame)
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
    if (call->task == DATABASE_DESCRIBE && end.outcome == SQL_DONE) {
        keep_tables(call->store, json_deep_copy(json_object_get(frame, "tables")));
        end_descriptions(call->store);
    }
    if (call->task == DATABASE_CHECK && end.outcome == SQL_DONE && !end.had_happened) {
        end.outcome = call->fallback;
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

/* ---- the interface ---- */

struct sql_store *sql_store_create(struct loop *loop, const struct sql_settings *settings)
{
    struct sql_store *store = mem_zeroed(sizeof *store);
    if (settings->kind->child_n > SLOTS_MAX)
        abort();
    store->loop = loop;
    store->settings = settings;
    store->steps.step = end_one;
    store->turns = fair_slots_create(&(struct fair_slots_config){.slot_n = settings->kind->child_n,
                                                                 .waiting_max = SQL_WAITING_MAX});
    sql_slots_init(store);
    return store;
}

static void free_all(struct list *queue)
{
    list_for_each (struct sql_call, call, queue, link)
        free_call(call);
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
    steps_end(&store->steps);
    fair_slots_destroy(store->turns);
    child_reap_all();
    json_decref(store->tables);
    free(store);
}

static struct sql_call *make_call(struct sql_store *store, enum database_task task, void *context)
{
    struct sql_call *call = mem_zeroed(sizeof *call);
    call->store = store;
    call->task = task;
    call->context = context;
    call->limit.on_expire = on_call_limit;
    return call;
}

/* It begins, or waits for its turn. */
static void start(struct sql_call *call, const struct fair_owner *owner)
{
    struct sql_store *store = call->store;
    struct fair_entry *surplus;
    fair_slots_wait(store->turns, &call->entry, owner, 1);
    sql_call_wait(call, false);
    sql_slots_pump(store);
    while ((surplus = fair_slots_surplus(store->turns)) != NULL) {
        struct sql_call *last = container_of(surplus, struct sql_call, entry);
        sql_call_leave(last);
        sql_call_end_later(last, SQL_UNREACHABLE,
                           STR("Too many statements of this account wait for the database."));
    }
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
        sql_call_end_later(call, SQL_REFUSED, buf_str(&reason));
    else {
        call->text = str_copy(statement->text);
        start(call, &(struct fair_owner){statement->account, statement->user, statement->session});
    }
    buf_fini(&reason);
    return call;
}

struct sql_call *sql_describe(struct sql_store *store, sql_tables_cb *on_tables, void *context)
{
    struct sql_call *call = make_call(store, DATABASE_DESCRIBE, context);
    call->on_tables = on_tables;
    if (store->tables_ms != 0 && clock_mono_ms() - store->tables_ms < TABLES_FRESH_MS)
        sql_call_end_later(call, store->tables != NULL ? SQL_DONE : SQL_UNREACHABLE,
                           STR("The database does not respond."));
    else
        start(call, &(struct fair_owner){.account = STR("")});
    return call;
}

void sql_cancel(struct sql_call *call)
{
    struct sql_store *store = call->store;
    if (call->slot != NULL)
        sql_slot_empty(call->slot);
    else if (call->is_ending)
        list_remove(&call->link);
    else
        sql_call_leave(call);
    free_call(call);
    sql_slots_pump(store);
}

/* ---- before nodes run ---- */

bool sql_check_roles(const struct sql_settings *settings)
{
    if (!settings->kind->has_environment)
        return true;
    json_t *reply = child_try(settings, ROLES_WAIT_MS);
    bool is_refused = json_integer_value(json_object_get(reply, "opened")) == DATABASE_REFUSED;
    if (is_refused)
        config_wrong("sql-url", json_string_value(json_object_get(reply, "reason")));
    json_decref(reply);
    return !is_refused;
}
