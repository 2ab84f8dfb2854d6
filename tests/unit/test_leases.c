/* SPDX-License-Identifier: MIT
 * test_leases.c - shared/lease/leases.h: rows of a kind of its own, which are evaluations in Redis.
 */
#include "shared/lease/leases.h"
#include "tests/unit/turn_fixture.h"

enum { ROW_N = 6, TICK_MS = 20 };

#define NEVER (UINT64_MAX / 2)

struct row {
    struct lease lease;
    enum lease_use use;
    struct row *victim; /* is dropped with it */
};

static struct lease_kind kind; /* of the current test */
static struct leases leases;
static struct shards shards;
static bool is_draining;
static unsigned capacity, check_n, take_n, renewal_n, renewed_n, started_n, dropped_n;

/* --- what a user of the module gives it --- */

static struct row *row_of(struct lease *lease)
{
    return H2O_STRUCT_FROM_MEMBER(struct row, lease, lease);
}

static struct lease *first_row(void)
{
    return list_first(&leases.rows, struct lease, link);
}

static struct lease *row_after(const struct lease *lease)
{
    return list_next(&leases.rows, lease, struct lease, link);
}

static struct row *hold(struct str id, uint64_t fence)
{
    struct row *row = calloc(1, sizeof *row);
    assert_non_null(row);
    row->use = LEASE_WORKING;
    lease_hold(&leases, &row->lease, id, fence);
    return row;
}

static void check(struct leases *of, struct call_start start, bool wants_age)
{
    check_n++;
    call_bots_due(start, .of_evaluations = true, .wants_age = wants_age);
}

static void take(struct leases *of, struct call_start start, unsigned limit)
{
    take_n++;
    call_evaluation_take(start, .limit = limit);
}

static struct verb_writer begin_renewal(struct call_start start)
{
    renewal_n++;
    return begin_evaluation_renew(start);
}

static void put_renewal(struct verb_writer *verb, const struct lease *lease)
{
    renewed_n++;
    put_evaluation_renew_driven(verb, .run_id = str_of(lease->id), .fence = lease->fence);
}

static void release(struct lease *lease, struct call_start start, uint64_t after_ms)
{
    call_evaluation_release(start, .evaluation = lease_home(lease), .run = 1,
                            .fence = lease->fence);
}

static unsigned count_capacity(struct leases *of)
{
    return capacity;
}

static void start(struct leases *of, struct str id, uint64_t fence, struct lines *rest)
{
    assert_true(str_eq(lines_next(rest), STR("account")));
    assert_int_equal(lines_next(rest).at[0], 'u');
    started_n++;
    hold(id, fence);
}

static void drop(struct lease *lease)
{
    struct row *row = row_of(lease), *victim = row->victim;
    dropped_n++;
    lease_let_go(lease);
    free(row);
    if (victim != NULL)
        drop(&victim->lease);
}

static enum lease_use use_of(struct lease *lease)
{
    return row_of(lease)->use;
}

/* --- a node --- */

static void flush(void *arg)
{
    leases_before_flush(&leases);
    turn_flush(turn);
}

static void run(void)
{
    loop.on_pass_end = flush;
    loop_run_once(&loop, TICK_MS);
}

/* The next test changes `kind` before it begins. */
static void set_kind(void)
{
    kind = (struct lease_kind){.tick_ms = TICK_MS,
                               .renew_ms = TICK_MS,
                               .check_ms = NEVER,
                               .check_again_ms = TICK_MS,
                               .home_bytes = 24,
                               .rows_max = ROW_N,
                               .renew_max = ROW_N,
                               .take_max = ROW_N,
                               .check = check,
                               .due = {"evaluations", "both"},
                               .take = take,
                               .begin_renewal = begin_renewal,
                               .put_renewal = put_renewal,
                               .release = release,
                               .count_capacity = count_capacity,
                               .start = start,
                               .drop = drop,
                               .use_of = use_of};
}

static void begin_node(void)
{
    check_n = take_n = renewal_n = renewed_n = started_n = dropped_n = 0;
    capacity = ROW_N;
    ask_redis("FLUSHALL");
    create_with_redis();
    shards = (struct shards){.n = 1, .turns = {turn}};
    is_draining = false;
    leases_init(&leases, &kind, &loop, &shards, &is_draining);
}

static void end_node(void)
{
    leases_fini(&leases);
    assert_null(first_row());
    turn_destroy(turn);
}

/* --- rows in Redis --- */

static struct {
    struct call call;
    bool is_answered;
    char text[512];
} asked;

static void on_asked(struct call *call, enum err error, struct str reply)
{
    assert_int_equal(error, ERR_OK);
    asked.is_answered = true;
    snprintf(asked.text, sizeof asked.text, "%.*s", STR_ARG(reply));
}

static struct call_start ask(void)
{
    asked.is_answered = false;
    return turn_call(turn, &asked.call, on_asked);
}

static struct lines answer(void)
{
    while (!asked.is_answered)
        run();
    return lines_of(str_of(asked.text));
}

static char digits[ROW_N][25], ids[ROW_N][32], users[ROW_N][8];

/* Leased to this node. Returns its fence. */
static uint64_t begin_row(unsigned i)
{
    snprintf(digits[i], sizeof digits[i], "%024u", i);
    snprintf(ids[i], sizeof ids[i], "%s-1", digits[i]);
    snprintf(users[i], sizeof users[i], "u%u", i);
    call_evaluation_begin(ask(), .evaluation = str_of(digits[i]), .namespace = STR("%"),
                          .account = STR("account"), .user = str_of(users[i]), .bot = STR("bot"),
                          .username = STR("\"bot\""), .measure = EVALUATION_BEGIN_COSINE,
                          .turns = 1, .conversation = STR("{}"), .max_stored = NO_NUMBER,
                          .max_stored_per_user = NO_NUMBER, .key = STR(""));
    struct lines lines = answer();
    assert_true(str_eq(lines_next(&lines), STR("begun")));
    assert_true(str_eq(lines_next(&lines), STR("1")));
    return lines_next_u64(&lines);
}

static struct row *hold_new(unsigned i)
{
    uint64_t fence = begin_row(i);
    return hold(str_of(ids[i]), fence);
}

/* Any node may take it now. */
static uint64_t begin_due_row(unsigned i)
{
    uint64_t fence = begin_row(i);
    call_evaluation_release(ask(), .evaluation = str_of(digits[i]), .run = 1, .fence = fence);
    answer();
    return fence;
}

/* Nobody holds it any more. */
static void cancel_row(unsigned i)
{
    call_evaluation_cancel(ask(), .evaluation = str_of(digits[i]), .run = 1,
                           .account = STR("account"), .user = str_of(users[i]));
    answer();
}

/* --- tests --- */

static void rows_that_are_due_are_taken(void **state)
{
    set_kind();
    begin_node();
    uint64_t fence = begin_due_row(0);
    while (started_n == 0)
        run();
    assert_string_equal(first_row()->id, ids[0]);
    assert_true(first_row()->fence > fence);
    end_node();
    assert_int_equal(dropped_n, 1);
}

static void without_room_and_while_it_drains_a_node_asks_nothing(void **state)
{
    set_kind();
    begin_node();
    capacity = 0;
    begin_due_row(0);
    for (unsigned i = 0; i < 5; i++)
        run();
    leases_on_up(&leases, 0);
    assert_int_equal(check_n + take_n, 0);
    is_draining = true;
    capacity = 1;
    for (unsigned i = 0; i < 5; i++)
        run();
    assert_int_equal(check_n + take_n, 0);
    is_draining = false;
    while (started_n == 0)
        run();
    end_node();
}

static void a_look_waits_for_a_turn(void **state)
{
    set_kind();
    kind.check_again_ms = NEVER;
    kind.check_ms = 0;
    begin_node();
    for (unsigned i = 0; i < 5; i++)
        run();
    assert_int_equal(check_n, 0);
    begin_due_row(0);
    assert_true(check_n > 0);
    end_node();
}

static void a_redis_that_is_back_is_asked_at_once(void **state)
{
    set_kind();
    kind.check_again_ms = NEVER;
    begin_node();
    begin_due_row(0);
    assert_int_equal(started_n, 0);
    leases_on_up(&leases, 0);
    while (started_n == 0)
        run();
    assert_int_equal(take_n, 1);
    end_node();
}

static void all_rows_are_renewed_with_a_bounded_number_in_each_call(void **state)
{
    set_kind();
    kind.renew_max = 2;
    kind.renew_ms = NEVER;
    begin_node();
    for (unsigned i = 0; i < 5; i++)
        hold_new(i);
    assert_int_equal(renewal_n, 0);
    kind.renew_ms = 0;
    while (renewal_n == 0)
        run();
    assert_int_equal(renewal_n, 3);
    assert_int_equal(renewed_n, 5);
    kind.renew_ms = NEVER;
    run_until_answered();
    assert_int_equal(dropped_n, 0);
    end_node();
    assert_int_equal(dropped_n, 5);
}

static void a_row_that_is_lost_is_dropped_unless_its_own_verb_will_say_so(void **state)
{
    set_kind();
    begin_node();
    struct row *storing = hold_new(0);
    storing->use = LEASE_STORING;
    hold_new(1);
    hold_new(2);
    cancel_row(0);
    cancel_row(1);
    while (dropped_n == 0)
        run();
    run_until_answered();
    assert_int_equal(dropped_n, 1);
    assert_string_equal(first_row()->id, ids[2]);
    assert_ptr_equal(row_after(first_row()), &storing->lease);
    storing->use = LEASE_WORKING;
    while (dropped_n == 1)
        run();
    assert_null(row_after(first_row()));
    end_node();
}

static void a_row_that_comes_again_replaces_the_former_one(void **state)
{
    set_kind();
    begin_node();
    struct row *former = hold_new(0), *row = hold(str_of(former->lease.id), 1000);
    assert_int_equal(dropped_n, 1);
    assert_ptr_equal(first_row(), &row->lease);
    assert_null(row_after(&row->lease));
    assert_string_equal(row->lease.id, ids[0]);
    assert_true(str_eq(lease_home(&row->lease), str_of(digits[0])));
    end_node();
}

static void a_row_that_comes_again_during_a_renewal_stays(void **state)
{
    set_kind();
    begin_node();
    uint64_t fence = begin_row(0);
    hold(str_of(ids[0]), fence + 1000); /* which is lost */
    while (renewal_n == 0)
        run();
    hold(str_of(ids[0]), fence);
    run_until_answered();
    for (unsigned i = 0; i < 5; i++)
        run();
    assert_int_equal(dropped_n, 1);
    end_node();
}

static void a_node_that_drains_gives_back_what_is_idle(void **state)
{
    set_kind();
    begin_node();
    struct row *idle = hold_new(0), *working = hold_new(1), *last = hold_new(2);
    idle->use = last->use = LEASE_IDLE;
    last->victim = idle; /* the drain begins with the last one, and passes over that one */
    is_draining = true;
    leases_drain(&leases);
    assert_int_equal(dropped_n, 2);
    assert_ptr_equal(first_row(), &working->lease);
    assert_null(row_after(&working->lease));
    call_evaluation_take(ask(), .limit = ROW_N);
    struct lines lines = answer();
    assert_true(str_eq(lines_next(&lines), str_of(ids[2])));
    end_node();
}

static void a_drain_survives_a_drop_of_the_next_row(void **state)
{
    set_kind();
    begin_node();
    struct row *rows[3] = {hold_new(0), hold_new(1), hold_new(2)};
    for (unsigned i = 0; i < 3; i++)
        rows[i]->use = LEASE_IDLE;
    rows[2]->victim = rows[1];
    leases_drain(&leases);
    assert_int_equal(dropped_n, 3);
    assert_null(first_row());
    end_node();
}

static void nothing_is_heard_after_the_end(void **state)
{
    set_kind();
    begin_node();
    hold_new(0);
    begin_due_row(1);
    leases_on_up(&leases, 0);
    while (renewal_n == 0)
        run();
    leases_fini(&leases);
    assert_int_equal(dropped_n, started_n + 1);
    unsigned ticks = check_n + renewal_n;
    leases.shards = &(struct shards){.n = 0}; /* for flush */
    for (unsigned i = 0; i < 5; i++)
        run();
    assert_int_equal(check_n + renewal_n, ticks);
    turn_destroy(turn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_are_due_are_taken),
        cmocka_unit_test(without_room_and_while_it_drains_a_node_asks_nothing),
        cmocka_unit_test(a_look_waits_for_a_turn),
        cmocka_unit_test(a_redis_that_is_back_is_asked_at_once),
        cmocka_unit_test(all_rows_are_renewed_with_a_bounded_number_in_each_call),
        cmocka_unit_test(a_row_that_is_lost_is_dropped_unless_its_own_verb_will_say_so),
        cmocka_unit_test(a_row_that_comes_again_replaces_the_former_one),
        cmocka_unit_test(a_row_that_comes_again_during_a_renewal_stays),
        cmocka_unit_test(a_node_that_drains_gives_back_what_is_idle),
        cmocka_unit_test(a_drain_survives_a_drop_of_the_next_row),
        cmocka_unit_test(nothing_is_heard_after_the_end),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
