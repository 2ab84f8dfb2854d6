/* SPDX-License-Identifier: MIT
 * feeder.c - see feeder.h. */
#include "services/openai/batches/feeder.h"

#include "generated/verbs.h"
#include "services/openai/batches/line.h"
#include "shared/ask/storage_limit.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/mem.h"
#include "shared/base/sm.h"
#include "shared/http/access/gate.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    LINES_MAX = 256,           /* on their way */
    LINES_MAX_BYTES = 4 << 20, /* of their requests; one at least */
    AHEAD_MAX = 1024,          /* of the first one that is not stored */
    PUT_MAX = 64,              /* results of one call: lua/batches/batch_put.lua */
    PUT_MAX_BYTES = 4 << 20,   /* of them; one at least */
    TICK_MS = 1000,
    ASK_MS = 15000, /* whether it was cancelled, while nothing is stored */

    /* A node that holds as many batches as it may gives each back after a while, since accounts
     * take turns at what is taken: first no more lines are sent, then those are taken back that no
     * engine has answered in that time. */
    TURN_MS = 60000,
    LEAVE_MS = 60000,
};

static const struct sm_state states[] = {
    [FEEDER_LOADING] = {"LOADING", SM(FEEDER_CHECKING) | SM(FEEDER_FEEDING)},
    [FEEDER_CHECKING] = {"CHECKING", SM(FEEDER_FEEDING) | SM(FEEDER_ENDING)},
    [FEEDER_FEEDING] = {"FEEDING", SM(FEEDER_ENDING)},
    [FEEDER_ENDING] = {"ENDING", SM(FEEDER_ENDING)},
};
static const struct sm sm = SM_OF("feeder", states);

/* Lines whose results this process stored. */
static atomic_ullong answered_n, failed_n;

void feeder_put_metrics(struct buf *b)
{
    buf_printf(b,
               "# HELP parley_batch_lines_total Lines of batches whose results were stored\n"
               "# TYPE parley_batch_lines_total counter\n"
               "parley_batch_lines_total{outcome=\"answered\"} %llu\n"
               "parley_batch_lines_total{outcome=\"failed\"} %llu\n",
               atomic_load(&answered_n), atomic_load(&failed_n));
}

static void move(struct feeder *f, enum feeder_state to)
{
    f->state = sm_move(&sm, f->sm_id, f->state, to);
}

static struct loop *loop_of(const struct feeder *f)
{
    return f->all->openai->server->loop;
}

static struct shards *shards_of(const struct feeder *f)
{
    return f->all->openai->server->shards;
}

void feeder_wake(struct feeder *f, uint64_t after_ms)
{
    loop_set_deadline(loop_of(f), &f->tick, after_ms);
}

/* --- ends ------------------------------------------------------------------------------------- */

static void free_lines(struct feeder *f)
{
    list_for_each (struct line, line, &f->lines, link)
        line_free(line);
}

void feeder_drop(struct feeder *f)
{
    call_detach(&f->call);
    call_detach(&f->put_call);
    loop_cancel_deadline(loop_of(f), &f->tick);
    free_lines(f);
    input_fini(&f->input);
    check_fini(&f->check);
    lease_let_go(&f->lease);
    free(f->account);
    free(f->user);
    free(f->endpoint);
    free(f->input_file);
    free(f->stored);
    free(f);
}

static void on_ended(struct call *call, enum err error, struct str reply)
{
    struct feeder *f = container_of(call, struct feeder, call);
    (void)reply;
    if (err_is_outage(error))
        feeder_wake(f, TICK_MS);
    else
        feeder_drop(f);
}

/* Ends the batch: it was cancelled, or cannot continue. */
static void end_batch(struct feeder *f)
{
    struct buf errors;
    move(f, FEEDER_ENDING);
    list_for_each (struct line, line, &f->lines, link)
        inner_withdraw(&line->inner);
    free_lines(f);
    if (call_is_under_way(&f->put_call) || call_is_under_way(&f->call))
        return;
    buf_init(&errors, 4096);
    if (!f->is_cancelled) {
        buf_printf(&errors, "[{\"code\":\"%s\",\"message\":", f->fault_code);
        buf_put_json(&errors, str_of(f->fault));
        buf_lit(&errors, ",\"param\":null,\"line\":null}]");
    }
    call_batch_end(shards_call(shards_of(f), &f->call, on_ended), .owner = str_of(f->owner),
                   .batch = str_of(f->batch), .fence = f->lease.fence,
                   .how = f->is_cancelled ? BATCH_END_CANCELLED : BATCH_END_FAILED,
                   .errors = f->is_cancelled ? STR("") : buf_str(&errors));
    buf_fini(&errors);
}

void feeder_cancel(struct feeder *f)
{
    f->is_cancelled = true;
    feeder_wake(f, 0);
}

void feeder_ask(struct feeder *f)
{
    f->asked_ms = 0;
    feeder_wake(f, 0);
}

static void fail(struct feeder *f, const char *code, const char *why)
{
    f->fault_code = code;
    f->fault = why;
    feeder_wake(f, 0);
}

/* --- its input -------------------------------------------------------------------------------- */

static void take_lines(struct feeder *f);

static void on_block(struct call *call, enum err error, struct str reply)
{
    struct feeder *f = container_of(call, struct feeder, call);
    struct str parts = reply, head = str_cut(&parts, '\0');
    struct lines lines = lines_of(head);
    if (error != ERR_OK) {
        feeder_wake(f, TICK_MS);
        return;
    }
    if (!str_eq(lines_next(&lines), STR("ok")) || !input_add(&f->input, &lines, parts)) {
        fail(f, "input_file_gone", "The input file was deleted, or has expired.");
        return;
    }
    take_lines(f);
}

static void read_more(struct feeder *f)
{
    if (!call_is_under_way(&f->call))
        call_file_content(shards_call(shards_of(f), &f->call, on_block), .owner = str_of(f->owner),
                          .account = str_of(f->account), .user = str_of(f->user),
                          .file = str_of(f->input_file), .from = f->input.block);
}

static void on_checked(struct call *call, enum err error, struct str reply)
{
    struct feeder *f = container_of(call, struct feeder, call);
    struct lines lines = lines_of(reply);
    if (error != ERR_OK) { /* it is checked again */
        feeder_wake(f, TICK_MS);
        return;
    }
    bool is_held = str_eq(lines_next(&lines), STR("ok"));
    struct str status = lines_next(&lines);
    if (is_held && str_eq(status, STR("in_progress"))) {
        check_fini(&f->check);
        input_fini(&f->input);
        input_init(&f->input, 0);
        f->is_read = false;
        move(f, FEEDER_FEEDING);
        feeder_wake(f, 0);
    } else if (is_held && str_eq(status, STR("cancelling"))) {
        feeder_cancel(f);
    } else {
        feeder_drop(f);
    }
}

static void check_lines(struct feeder *f)
{
    enum input_found found;
    struct str line;
    uint64_t ends;
    while ((found = input_next(&f->input, &line, &ends)) == INPUT_LINE || found == INPUT_LONG_LINE)
        check_line(&f->check, line, found == INPUT_LONG_LINE, str_of(f->endpoint));
    if (found == INPUT_NEEDS_MORE) {
        read_more(f);
        return;
    }
    f->is_read = true;
    feeder_wake(f, 0);
}

static void end_check(struct feeder *f)
{
    if (!call_is_under_way(&f->call))
        call_batch_check(shards_call(shards_of(f), &f->call, on_checked), .owner = str_of(f->owner),
                         .batch = str_of(f->batch), .fence = f->lease.fence,
                         .total = f->check.total, .errors = check_errors(&f->check));
}

static void on_models(struct call *call, enum err error, struct str reply)
{
    struct feeder *f = container_of(call, struct feeder, call);
    enum openai_api api = OPENAI_CHAT;
    if (error != ERR_OK) {
        feeder_wake(f, TICK_MS);
        return;
    }
    (void)!batch_endpoint(str_of(f->endpoint), &api);
    check_init(&f->check, reply, api);
    read_more(f);
}

static void work_on_check(struct feeder *f)
{
    if (f->is_read)
        end_check(f);
    else if (f->check.ids != NULL)
        read_more(f);
    else if (!call_is_under_way(&f->call))
        call_models(turn_call(shards_cluster(shards_of(f)), &f->call, on_models));
}

/* --- lines ------------------------------------------------------------------------------------ */

static bool is_stored(const struct feeder *f, uint64_t number)
{
    for (size_t i = 0; i < f->stored_n; i++)
        if (f->stored[i] == number)
            return true;
    return false;
}

static bool has_room(const struct feeder *f)
{
    const struct line *first = list_first(&f->lines, struct line, link);
    return f->line_n < LINES_MAX && (f->line_n == 0 || f->line_bytes < LINES_MAX_BYTES) &&
           (first == NULL || f->next - first->number < AHEAD_MAX);
}

static void feed_lines(struct feeder *f)
{
    struct input_line said;
    enum input_found found;
    struct str line;
    uint64_t ends;
    while (has_room(f)) {
        found = input_next(&f->input, &line, &ends);
        if (found == INPUT_NEEDS_MORE) {
            read_more(f);
            return;
        }
        f->is_read = found == INPUT_END;
        if (f->is_read)
            return;
        if (line.n == 0)
            continue;
        uint64_t number = f->next++;
        if (is_stored(f, number))
            continue;
        input_read_line(line, str_of(f->endpoint), &said);
        line_add(f, &said, number, ends);
        feeder_wake(f, 0);
    }
}

static void take_lines(struct feeder *f)
{
    if (f->state == FEEDER_CHECKING)
        check_lines(f);
    else if (f->state == FEEDER_FEEDING)
        feed_lines(f);
    else
        feeder_wake(f, 0);
}

/* Its account, as the file of accounts has it now. NULL: it is gone, or may not ask any more. */
static const struct account *account_of(const struct feeder *f)
{
    char bytes[1024];
    struct buf name = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    if (!buf_put_unnamed(&name, str_of(f->account)))
        return NULL;
    const struct account *account =
        accounts_find(gate_accounts(f->all->openai->server->gate), buf_str(&name));
    return account != NULL && (account->role == ROLE_USER || account->role == ROLE_FRONTEND)
               ? account
               : NULL;
}

/* `ends_turn`: only ends requests that were answered. */
static void send_lines(struct feeder *f, const struct account *account, bool ends_turn)
{
    char bytes[1024];
    struct buf user = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    uint64_t now_ms = clock_mono_ms();
    (void)!buf_put_unnamed(&user, lines_name_within(str_of(f->user)));
    list_for_each (struct line, line, &f->lines, link) {
        if (line->state == LINE_RUNNING || line->state == LINE_STORING)
            continue;
        inner_end(&line->inner, line->state == LINE_ANSWERED);
        if (line->state == LINE_ANSWERED)
            continue;
        if (f->is_full)
            line_fail(line, LINE_SHORT, "insufficient_quota",
                      "The results of this batch have as much room as they may have.");
        else if (!ends_turn && line->again_ms <= now_ms)
            line_send(line, account, buf_str(&user));
    }
}

static void expire_lines(struct feeder *f)
{
    f->is_expired = true;
    list_for_each (struct line, line, &f->lines, link)
        if (line->state == LINE_RUNNING || line->state == LINE_WAITING)
            line_fail(line, LINE_SHORT, "batch_expired",
                      "This request could not be executed before the completion window expired.");
}

/* --- storing ---------------------------------------------------------------------------------- */

static struct line *find_storing(const struct feeder *f, uint64_t number)
{
    list_for_each (struct line, line, &f->lines, link)
        if (line->number == number && line->state == LINE_STORING)
            return line;
    return NULL;
}

/* There is no room for these results. */
static void refuse_lines(struct feeder *f, struct lines *lines)
{
    while (lines_are_left(lines)) {
        struct line *line = find_storing(f, lines_next_u64(lines));
        if (line == NULL)
            continue;
        f->is_full |= line->kind == LINE_OUTPUT;
        line_fail(line, LINE_SHORT, "insufficient_quota",
                  "The results of this batch have as much room as they may have.");
    }
}

static void on_put(struct call *call, enum err error, struct str reply)
{
    struct feeder *f = container_of(call, struct feeder, put_call);
    struct lines lines = lines_of(reply);
    if (error != ERR_OK) {
        list_for_each (struct line, line, &f->lines, link)
            if (line->state == LINE_STORING)
                line_move(line, LINE_ANSWERED);
        feeder_wake(f, TICK_MS);
        return;
    }
    struct str tag = lines_next(&lines), status = lines_next(&lines);
    bool is_open = str_eq(status, STR("in_progress")) || str_eq(status, STR("cancelling"));
    if (!str_eq(tag, STR("ok")) || !is_open) {
        feeder_drop(f);
        return;
    }
    refuse_lines(f, &lines);
    list_for_each (struct line, line, &f->lines, link)
        if (line->state == LINE_STORING) {
            atomic_fetch_add(line->kind == LINE_OUTPUT ? &answered_n : &failed_n, 1);
            line_free(line);
        }
    f->asked_ms = clock_mono_ms();
    f->is_cancelled |= str_eq(status, STR("cancelling"));
    feeder_wake(f, 0);
}

static void store_lines(struct feeder *f, const struct account *account)
{
    static const enum verb_batch_put_kind kinds[] = {[LINE_OUTPUT] = BATCH_PUT_OUTPUT,
                                                     [LINE_ERROR] = BATCH_PUT_ERROR,
                                                     [LINE_SHORT] = BATCH_PUT_SHORT};
    unsigned n = 0, shard_n = shards_of(f)->n;
    size_t bytes = 0;
    bool is_any = false;
    list_for_each (struct line, line, &f->lines, link)
        is_any |= line->state == LINE_ANSWERED;
    if (!is_any || call_is_under_way(&f->put_call))
        return;
    struct verb_writer verb = begin_batch_put(
        shards_call(shards_of(f), &f->put_call, on_put), .owner = str_of(f->owner),
        .batch = str_of(f->batch), .fence = f->lease.fence, .is_expired = f->is_expired,
        .max_stored = storage_limit_for(account, shard_n),
        .max_stored_per_user = storage_limit_for_user(account, shard_n));
    list_for_each (struct line, line, &f->lines, link) {
        if (line->state != LINE_ANSWERED)
            continue;
        if (n == PUT_MAX || (n > 0 && bytes + line->result.n > PUT_MAX_BYTES))
            break;
        put_batch_put_result(&verb, .line = line->number, .ends = line->ends,
                             .kind = kinds[line->kind], .text = buf_str(&line->result));
        line_move(line, LINE_STORING);
        bytes += line->result.n;
        n++;
    }
    end_verb(&verb);
}

/* --- loading ---------------------------------------------------------------------------------- */

static void on_asked(struct call *call, enum err error, struct str reply)
{
    struct feeder *f = container_of(call, struct feeder, call);
    struct lines lines = lines_of(reply);
    if (error != ERR_OK) { /* it is asked again */
        feeder_wake(f, TICK_MS);
        return;
    }
    if (!str_eq(lines_next(&lines), STR("ok"))) {
        feeder_drop(f);
        return;
    }
    f->asked_ms = clock_mono_ms();
    f->is_cancelled |= str_eq(lines_next(&lines), STR("cancelling"));
    feeder_wake(f, 0);
}

static void load(struct feeder *f, call_reply_cb *on_reply)
{
    call_batch_load(shards_call(shards_of(f), &f->call, on_reply), .owner = str_of(f->owner),
                    .batch = str_of(f->batch), .fence = f->lease.fence);
}

static void on_loaded(struct call *call, enum err error, struct str reply)
{
    struct feeder *f = container_of(call, struct feeder, call);
    struct lines lines = lines_of(reply);
    if (error != ERR_OK) {
        feeder_wake(f, TICK_MS);
        return;
    }
    if (!str_eq(lines_next(&lines), STR("ok"))) {
        feeder_drop(f);
        return;
    }
    struct str status = lines_next(&lines);
    f->endpoint = str_copy(lines_next(&lines));
    f->input_file = str_copy(lines_next(&lines));
    f->asked_ms = clock_mono_ms();
    f->expires_ms = f->asked_ms + lines_next_u64(&lines);
    (void)lines_next(&lines); /* how many lines */
    f->next = lines_next_u64(&lines);
    input_init(&f->input, lines_next_u64(&lines));
    f->is_full = lines_next_u64(&lines) != 0;
    while (lines_are_left(&lines)) {
        f->stored = mem_grow(f->stored, f->stored_n, sizeof *f->stored);
        f->stored[f->stored_n++] = lines_next_u64(&lines);
    }
    f->is_cancelled |= str_eq(status, STR("cancelling"));
    move(f, str_eq(status, STR("validating")) ? FEEDER_CHECKING : FEEDER_FEEDING);
    feeder_wake(f, 0);
}

/* --- working ---------------------------------------------------------------------------------- */

/* Its turn is over: others wait perhaps. */
static bool is_leaving(const struct feeder *f, uint64_t now_ms)
{
    return now_ms >= f->turn_ms && batches_are_full(f->all);
}

/* Gives it back once nothing is under way, or for too long. Returns whether it did. */
static bool leave(struct feeder *f, uint64_t now_ms)
{
    bool is_late = now_ms >= f->turn_ms + LEAVE_MS;
    bool is_busy = call_is_under_way(&f->put_call);
    list_for_each (struct line, line, &f->lines, link)
        is_busy |= line->state == LINE_ANSWERED || (line->state == LINE_RUNNING && !is_late);
    if (is_busy)
        return false;
    lease_give_back(&f->lease, 0);
    return true;
}

static void work_on_lines(struct feeder *f)
{
    uint64_t now_ms = clock_mono_ms();
    bool ends_turn = is_leaving(f, now_ms);
    const struct account *account = account_of(f);
    if (account == NULL) {
        fail(f, "account_gone", "The account of this batch was removed.");
        return;
    }
    if (now_ms >= f->expires_ms)
        expire_lines(f);
    if (ends_turn && leave(f, now_ms))
        return;
    send_lines(f, account, ends_turn);
    store_lines(f, account);
    if (ends_turn)
        return;
    if (!f->is_read)
        feed_lines(f);
    else if (f->line_n == 0 && !call_is_under_way(&f->put_call))
        fail(f, "input_file_changed", "The input file has fewer lines than before.");
    if (now_ms >= f->asked_ms + ASK_MS && !call_is_under_way(&f->call))
        load(f, on_asked);
}

static void work(struct feeder *f)
{
    if (f->state != FEEDER_LOADING && (f->is_cancelled || f->fault != NULL)) {
        end_batch(f);
    } else if (f->state == FEEDER_LOADING) {
        if (!call_is_under_way(&f->call))
            load(f, on_loaded);
    } else if (f->state == FEEDER_CHECKING) {
        work_on_check(f);
    } else if (f->state == FEEDER_FEEDING) {
        work_on_lines(f);
    }
}

static void on_tick(struct deadline *deadline)
{
    struct feeder *f = container_of(deadline, struct feeder, tick);
    feeder_wake(f, TICK_MS);
    work(f);
}

void feeder_start(struct batches *all, struct str id, uint64_t fence, struct str account,
                  struct str user)
{
    struct str rest = id, owner = str_cut(&rest, '-');
    if (owner.n != FILE_OWNER_CHARS || rest.n != BATCH_ID_CHARS)
        return;
    struct feeder *f = mem_zeroed(sizeof *f);
    f->all = all;
    f->sm_id = sm_number();
    f->account = str_copy(account);
    f->user = str_copy(user);
    f->tick.on_expire = on_tick;
    f->turn_ms = clock_mono_ms() + TURN_MS;
    memcpy(f->owner, owner.at, owner.n);
    memcpy(f->batch, rest.at, rest.n);
    lease_hold(&all->leases, &f->lease, id, fence);
    feeder_wake(f, 0);
}
