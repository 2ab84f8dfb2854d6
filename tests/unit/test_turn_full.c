/* SPDX-License-Identifier: MIT
 * test_turn_full.c - shared/redis/turn.h: of calls that are full of what clients sent, only so many
 * are given to hiredis at once. The others are sent as Redis takes these, in order. */
#include "tests/unit/turn_fixture.h"

enum {
    LARGE_N = 80,
    LARGE_BYTES = 300000,                    /* fills a call */
    AT_ONCE_N = (2 << 20) / LARGE_BYTES + 1, /* turn.c: UNWRITTEN_BYTES */
    ALL_N = LARGE_N + 20,
};

static struct owner *begin_large(void)
{
    static char text[LARGE_BYTES];
    static const struct verb_info info = {.name = {"nonce", 5},
                                          .id = VERB_CHECK,
                                          .lane = LANE_ADD,
                                          .takes_nonce = true,
                                          .min_argc = 1,
                                          .max_argc = 1};
    struct owner *owner = new_owner();
    memset(text, 'x', sizeof text);
    struct verb_writer writer = writer_begin(turn_call(turn, &owner->call, on_reply), &info);
    writer_put_str(&writer, (struct str){text, sizeof text}); /* which the verb does not look at */
    end_verb(&writer);
    return owner;
}

static void begin_large_and_small(void)
{
    for (unsigned i = 0; i < ALL_N; i++)
        owners[i] = i < LARGE_N ? begin_large() : begin_new();
    assert_int_equal(turn_pending_n(turn), ALL_N);
}

static void assert_each_and_free(enum err error, const char *reply)
{
    for (unsigned i = 0; i < ALL_N; i++) {
        assert_int_equal(owners[i]->told_n, 1);
        assert_int_equal(owners[i]->error, error);
        assert_string_equal(owners[i]->reply, reply);
        free(owners[i]);
    }
    assert_int_equal(turn_pending_n(turn), 0);
}

static void full_calls_wait_until_redis_has_taken_others_and_keep_their_order(void **state)
{
    create_with_redis();
    begin_large_and_small();
    assert_int_equal(sent_n, AT_ONCE_N);
    turn_flush(turn);
    assert_int_equal(sent_n, AT_ONCE_N);
    run_until_answered();
    for (unsigned i = 0; i < ALL_N; i++)
        assert_int_equal(owners[i]->place, i + 1);
    assert_each_and_free(ERR_OK, "ok");
    assert_false(turn_is_collecting(turn));
    turn_destroy(turn);
}

static void they_hear_of_a_lost_redis(void **state)
{
    create_with_redis();
    ask_redis("CLIENT KILL TYPE normal");
    begin_large_and_small();
    run_until_answered();
    assert_each_and_free(ERR_REDIS_LOST, "");
    turn_destroy(turn);
}

static void a_turn_that_stops_ends_them(void **state)
{
    create_with_redis();
    begin_large_and_small();
    turn_stop(turn);
    assert_each_and_free(ERR_REDIS_LOST, "");
    turn_destroy(turn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_calls_wait_until_redis_has_taken_others_and_keep_their_order),
        cmocka_unit_test(they_hear_of_a_lost_redis),
        cmocka_unit_test(a_turn_that_stops_ends_them),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
