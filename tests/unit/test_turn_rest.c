/* SPDX-License-Identifier: MIT
 * test_turn_rest.c - shared/redis/turn.h: a call whose replies grow long returns before all its
 * verbs have run, and the turn sends the rest again. */
#include "tests/unit/turn_fixture.h"

enum { LONG_N = 4 * LONG_CALL_N, OTHER_N = 40, ALL_N = LONG_N + OTHER_N };
/* A poll, answered before the rest of its call is sent; the first eight verbs have a call of their
 * own.
 */
enum { TOLD_FIRST = 13 };

static bool is_long(unsigned i)
{
    return i % 3 == 0 && i / 3 < LONG_N;
}

/* Readers of a long reply, and between them verbs of other lanes, with nonces that
 * are new with a new `mark`. */
static void begin_mixed(unsigned char mark)
{
    for (unsigned i = 0; i < ALL_N; i++) {
        struct nonce_id nonce = {.bytes = {mark}, .is_set = true};
        memcpy(nonce.bytes + 8, &i, sizeof i);
        if (is_long(i)) {
            owners[i] = begin_long();
            continue;
        }
        owners[i] = new_owner();
        begin_as(owners[i], "nonce", (enum turn_lane)(i % LANE_SLOW), &nonce);
    }
}

static void assert_mixed(const char *of_others, unsigned gone_every)
{
    for (unsigned i = 0; i < ALL_N; i++) {
        bool is_gone = gone_every > 0 && i % gone_every == 0;
        const char *expected = is_long(i) ? "Failed\nqqqqqqqq" : of_others;
        assert_int_equal(owners[i]->told_n, !is_gone);
        assert_int_equal(owners[i]->error, ERR_OK);
        assert_string_equal(owners[i]->reply, is_gone ? "" : expected);
    }
    assert_int_equal(turn_pending_n(turn), 0);
}

static void free_mixed(void)
{
    for (unsigned i = 0; i < ALL_N; i++)
        free(owners[i]);
}

static void each_call_is_answered_once_with_its_own_reply(void **state)
{
    create_with_redis();
    store_long();
    begin_mixed('a');
    run_until_answered();
    assert_mixed("ok", 0);
    free_mixed();
    /* Readers come last, five in a call; each call is for those that wait. */
    assert_in_range(sent_n, LONG_N / LONG_CALL_N, LONG_N / LONG_CALL_N + 1);
    for (unsigned i = 1; i < sent_n; i++)
        assert_in_range(sizes[i], 1, ALL_N - LONG_CALL_N);
    begin_mixed('a');
    for (unsigned i = 0; i < ALL_N; i += 4)
        call_detach(&owners[i]->call);
    run_until_answered();
    assert_mixed("replay", 4);
    free_mixed();
    turn_destroy(turn);
}

/* The second use of a nonce is a replay, whichever call they are in, and the first is not. */
static void what_waits_for_the_next_call_keeps_what_its_nonce_was(void **state)
{
    struct owner *after[3];
    create_with_redis();
    store_long();
    for (unsigned i = 0; i < LONG_CALL_N; i++)
        owners[i] = begin_long();
    for (unsigned i = 0; i < 3; i++) {
        struct nonce_id nonce = {.bytes = "kept", .is_set = true};
        nonce.bytes[8] = (unsigned char)(i / 2);
        after[i] = new_owner();
        begin_as(after[i], "nonce", LANE_READ, &nonce);
    }
    run_until_answered();
    assert_int_equal(sent_n, 2);
    assert_int_equal(sizes[0], LONG_CALL_N + 3);
    assert_int_equal(sizes[1], 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_string_equal(after[i]->reply, i == 1 ? "replay" : "ok");
        free(after[i]);
    }
    for (unsigned i = 0; i < LONG_CALL_N; i++)
        free(owners[i]);
    turn_destroy(turn);
}

static void what_is_begun_meanwhile_comes_after_it(void **state)
{
    struct owner *later;
    create_with_redis();
    store_long();
    for (unsigned i = 0; i < LONG_N; i++)
        owners[i] = begin_long();
    turn_flush(turn);
    while (told_n == 0)
        run_once();
    later = begin_new();
    run_until_answered();
    assert_true(later->place > 2 * LONG_CALL_N);
    assert_true(later->place < LONG_N); /* and does not wait for all of them */
    for (unsigned i = 0; i < LONG_N; i++) {
        assert_int_equal(owners[i]->told_n, 1);
        free(owners[i]);
    }
    free(later);
    turn_destroy(turn);
}

/* However many calls one owner's readers need. */
static void a_reader_does_not_wait_for_all_that_another_one_reads(void **state)
{
    struct owner *other, *user;
    create_with_redis();
    store_long();
    for (unsigned i = 0; i < LONG_N; i++)
        owners[i] = begin_long_of(1, 1);
    user = begin_long_of(1, 2);
    other = begin_long_of(2, 0);
    run_until_answered();
    assert_in_range(user->place, 1, 2 * LONG_CALL_N); /* the first eight have a call of their own */
    assert_in_range(other->place, 1, 2 * LONG_CALL_N);
    for (unsigned i = 0; i < LONG_N; i++) {
        assert_string_equal(owners[i]->reply, "Failed\nqqqqqqqq");
        free(owners[i]);
    }
    free(user);
    free(other);
    turn_destroy(turn);
}

/* More long calls than may be under way. */
static void what_is_begun_meanwhile_does_not_wait_for_the_rest_of_any(void **state)
{
    enum { CALLS = 10, EACH_N = 3 * LONG_CALL_N };
    struct owner *later;
    create_with_redis();
    store_long();
    for (unsigned i = 0; i < CALLS * EACH_N; i++) {
        owners[i] = begin_long();
        if (i % EACH_N == EACH_N - 1)
            turn_flush(turn);
    }
    later = new_owner();
    begin_as(later, "nonce", LANE_ADD, NULL);
    run_until_answered();
    assert_in_range(later->place, 1, (CALLS + 2) * LONG_CALL_N);
    for (unsigned i = 0; i < CALLS * EACH_N; i++) {
        assert_int_equal(owners[i]->told_n, 1);
        free(owners[i]);
    }
    free(later);
    turn_destroy(turn);
}

static void the_rest_hears_of_a_lost_redis_once(void **state)
{
    unsigned lost_n = 0;
    create_with_redis();
    store_long();
    begin_mixed('b');
    owners[TOLD_FIRST]->then = redis_fixture_kill;
    run_until_answered();
    for (unsigned i = 0; i < ALL_N; i++) {
        assert_int_equal(owners[i]->told_n, 1);
        lost_n += owners[i]->error == ERR_REDIS_LOST;
    }
    assert_in_range(lost_n, 1, ALL_N - 1);
    free_mixed();
    turn_destroy(turn);
    assert_true(redis_fixture_start());
}

static void a_turn_that_is_destroyed_notifies_the_rest(void **state)
{
    create_with_redis();
    store_long();
    begin_mixed('c');
    owners[TOLD_FIRST]->then = redis_fixture_stop;
    turn_flush(turn);
    while (owners[TOLD_FIRST]->told_n == 0)
        run_once();
    assert_in_range(told_n, 1, ALL_N - 1);
    turn_destroy(turn);
    redis_fixture_go_on();
    for (unsigned i = 0; i < ALL_N; i++)
        assert_int_equal(owners[i]->told_n, 1);
    free_mixed();
}

static void while_redis_is_full_the_rest_is_read_too(void **state)
{
    create_with_redis();
    store_long();
    ask_redis("CONFIG SET maxmemory 1");
    begin_mixed('d');
    run_until_answered();
    assert_mixed("ok", 0);
    assert_int_equal(turn_trouble(turn), REDIS_FULL);
    free_mixed();
    ask_redis("CONFIG SET maxmemory 0");
    turn_destroy(turn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_is_answered_once_with_its_own_reply),
        cmocka_unit_test(what_waits_for_the_next_call_keeps_what_its_nonce_was),
        cmocka_unit_test(what_is_begun_meanwhile_comes_after_it),
        cmocka_unit_test(a_reader_does_not_wait_for_all_that_another_one_reads),
        cmocka_unit_test(what_is_begun_meanwhile_does_not_wait_for_the_rest_of_any),
        cmocka_unit_test(the_rest_hears_of_a_lost_redis_once),
        cmocka_unit_test(a_turn_that_is_destroyed_notifies_the_rest),
        cmocka_unit_test(while_redis_is_full_the_rest_is_read_too),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
