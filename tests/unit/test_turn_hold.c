/* SPDX-License-Identifier: MIT
 * test_turn_hold.c - shared/redis/turn_hold.c: calls of a shard whose slot nobody has for a while,
 * or whose server is to be left, in which order they run, and what they hear if that takes too
 * long. */
#include "shared/redis/turn_internal.h"
#include "tests/unit/cluster_fixture.h"
#include "tests/unit/turn_fixture.h"

enum { BATCH_N = 3, HELD_N = BATCH_N * BATCH_CALLS_MAX, WAIT_MAX_MS = 20000 };

/* A call whose reply makes something happen before the turn continues. */
struct probe {
    struct call call;
    bool is_answered;
    void (*then)(void);
};

static void on_probed(struct call *call, enum err error, struct str reply)
{
    struct probe *probe = H2O_STRUCT_FROM_MEMBER(struct probe, call, call);
    assert_int_equal(error, ERR_OK);
    probe->is_answered = true;
    if (probe->then != NULL)
        probe->then();
}

static void begin_probe(struct probe *probe)
{
    static const struct verb_info info = {
        .name = {"nonce", 5}, .lane = LANE_READ, .takes_nonce = true};
    struct verb_writer writer = writer_begin(turn_call(turn, &probe->call, on_probed), &info);
    end_verb(&writer);
    turn_flush(turn);
}

static void create_with_cluster(void)
{
    create(&cluster_fixture.address);
    while (!is_up)
        run_once();
}

static void begin_batches(void)
{
    for (unsigned i = 0; i < HELD_N; i++)
        owners[i] = begin_new();
}

static void free_batches(void)
{
    for (unsigned i = 0; i < HELD_N; i++)
        free(owners[i]);
}

static unsigned held_n(void)
{
    unsigned n = 0;
    for (const struct batch *batch = turn->held; batch != NULL; batch = batch->next)
        n++;
    return n;
}

static void take_slot(void)
{
    cluster_has_slot(false);
}

static void calls_that_are_refused_twice_run_in_the_order_in_which_they_began(void **state)
{
    struct probe probe = {.then = take_slot};
    create_with_cluster();
    take_slot();
    begin_probe(&probe);
    while (!turn->is_paused)
        run_once();
    begin_batches();
    assert_int_equal(held_n(), 1 + BATCH_N);
    cluster_has_slot(true);
    while (!probe.is_answered)
        run_once();
    while (held_n() < BATCH_N)
        run_once();
    cluster_has_slot(true);
    run_until_answered();
    for (unsigned i = 0; i < HELD_N; i++) {
        assert_int_equal(owners[i]->error, ERR_OK);
        assert_int_equal(owners[i]->place, i + 1);
    }
    turn_destroy(turn);
    free_batches();
}

static void the_rest_of_a_call_is_held_like_others_and_runs_first(void **state)
{
    enum { N = LONG_CALL_N + 3 };
    create_with_cluster();
    assert_true(cluster_says(long_command(), "3"));
    for (unsigned i = 0; i < N; i++)
        owners[i] = begin_long();
    owners[0]->then = take_slot;
    turn_flush(turn);
    while (held_n() == 0)
        run_once();
    assert_int_equal(told_n, LONG_CALL_N);
    owners[N] = begin_new();
    cluster_has_slot(true);
    run_until_answered();
    for (unsigned i = 0; i <= N; i++) {
        assert_int_equal(owners[i]->error, ERR_OK);
        assert_int_equal(owners[i]->place, i + 1);
        free(owners[i]);
    }
    turn_destroy(turn);
}

static void leave(void)
{
    turn_leave(turn, "another server has it now");
}

static void a_server_that_is_to_be_left_does_not_end_the_pause(void **state)
{
    struct probe probe = {.then = leave};
    uint64_t end_ms = clock_mono_ms() + WAIT_MAX_MS;
    create_with_cluster();
    take_slot();
    begin_probe(&probe);
    while (!turn->is_paused)
        run_once();
    cluster_has_slot(true);
    while (!probe.is_answered)
        run_once();
    assert_int_equal(up_n, 1);
    while (up_n == 1 && clock_mono_ms() < end_ms)
        run_once();
    assert_int_equal(up_n, 2); /* on a new connection */
    turn_destroy(turn);
}

/* The calls in flight get all the time that a slow network takes; those that wait for their end do
 * not. */
static void what_waits_for_a_server_that_hangs_and_is_to_be_left_hears_that_it_is_busy(void **state)
{
    int status;
    create_with_cluster();
    kill(cluster_fixture.pid, SIGSTOP);
    waitpid(cluster_fixture.pid, &status, WUNTRACED);
    struct owner *owner = begin_new();
    turn->moved_ms = clock_mono_ms() + 600000;
    turn_flush(turn);
    assert_int_equal(turn->in_flight_n, 1);
    leave();
    begin_batches();
    assert_int_equal(held_n(), BATCH_N);
    for (struct batch *batch = turn->held; batch != NULL; batch = batch->next)
        batch->held_ms -= 60000;
    while (told_n < HELD_N)
        run_once();
    for (unsigned i = 0; i < HELD_N; i++)
        assert_int_equal(owners[i]->error, ERR_STORE_BUSY);
    assert_int_equal(turn_trouble(turn), REDIS_FINE);
    kill(cluster_fixture.pid, SIGCONT);
    while (owner->told_n == 0 || turn->is_paused)
        run_once();
    assert_int_equal(owner->error, ERR_OK);
    turn_destroy(turn);
    free(owner);
    free_batches();
}

static void a_name_in_moved_is_not_for_the_loop_to_look_up(void **state)
{
    struct redis_address place;
    char reason[256], moved[64];
    snprintf(moved, sizeof moved, "MOVED %u localhost:1", cluster_fixture.address.slot);
    assert_true(
        topology_await(&cluster_fixture.address, WAIT_MAX_MS, &place, reason, sizeof reason));
    for (unsigned i = 0; i < 10; i++) {
        topology_hint(&cluster_fixture.address, &place, moved);
        assert_true(topology_locate(&cluster_fixture.address, &place, reason, sizeof reason));
        assert_string_equal(place.host, "127.0.0.1");
        assert_int_equal(place.port, cluster_fixture.port);
    }
}

static int set_up_cluster(void **state)
{
    log_setup(LOG_ERROR, false);
    loop_init(&loop);
    cluster_fixture_init();
    return 0;
}

static int tear_down_cluster(void **state)
{
    cluster_fixture_fini();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_are_refused_twice_run_in_the_order_in_which_they_began),
        cmocka_unit_test(the_rest_of_a_call_is_held_like_others_and_runs_first),
        cmocka_unit_test(a_server_that_is_to_be_left_does_not_end_the_pause),
        cmocka_unit_test(
            what_waits_for_a_server_that_hangs_and_is_to_be_left_hears_that_it_is_busy),
        cmocka_unit_test(a_name_in_moved_is_not_for_the_loop_to_look_up),
    };
    return cmocka_run_group_tests(tests, set_up_cluster, tear_down_cluster);
}
