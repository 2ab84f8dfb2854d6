/* SPDX-License-Identifier: MIT
 * test_turn.c - shared/redis/turn.h without a Redis: what callers hear, and when. With one it is
 * tested by all of tests/http. */
#include "shared/redis/turn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CALL_N = 700 }; /* several batches */

static struct loop loop; /* of the whole run: what libh2o keeps of one stays reachable */
static struct turn_call calls[CALL_N];
static unsigned lost_n;
static struct turn *again; /* where each reply begins another verb */

static void on_reply(struct turn_call *call, enum err error, struct str reply)
{
    assert_int_equal(error, ERR_REDIS_LOST);
    assert_null(reply.at);
    lost_n++;
    if (again != NULL) {
        turn_begin_plain(again, call, LANE_READ, STR("check"));
        turn_end(again);
    }
}

static void on_up(void *arg)
{
    fail_msg("there is no Redis");
}

static struct turn *create(void)
{
    static const struct redis_address nowhere = {.path = "/nonexistent/redis.sock"};
    static const struct turn_config config = {
        .prefix = "parley:{0}:", .node_id = "n1", .on_up = on_up, .on_lost = on_up};
    lost_n = 0;
    again = NULL;
    return turn_create(&loop, &nowhere, &config);
}

static void begin_all(struct turn *turn)
{
    static const struct nonce_id nonce = {.is_set = true};
    for (unsigned i = 0; i < CALL_N; i++) {
        calls[i].on_reply = on_reply;
        turn_begin(turn, &calls[i], (enum turn_lane)(i % LANE_NR), STR("add"), &nonce);
        turn_put_u64(turn, i);
        turn_end(turn);
        assert_int_equal(lost_n, 0);
    }
    assert_int_equal(turn_pending_n(turn), CALL_N);
}

static void nobody_hears_of_a_lost_redis_before_turn_end_returns(void **state)
{
    struct turn *turn = create();
    begin_all(turn);
    turn_flush(turn);
    assert_int_equal(lost_n, CALL_N);
    assert_int_equal(turn_pending_n(turn), 0);
    turn_destroy(turn);
}

static void a_verb_begun_in_a_callback_is_for_the_next_round(void **state)
{
    struct turn *turn = create();
    begin_all(turn);
    again = turn;
    turn_flush(turn);
    assert_int_equal(lost_n, CALL_N);
    assert_int_equal(turn_pending_n(turn), CALL_N);
    again = NULL;
    turn_flush(turn);
    assert_int_equal(lost_n, 2 * CALL_N);
    turn_destroy(turn);
}

static void destroy_tells_those_who_wait(void **state)
{
    struct turn *turn = create();
    begin_all(turn);
    turn_destroy(turn);
    assert_int_equal(lost_n, CALL_N);
}

int main(void)
{
    loop_init(&loop);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_hears_of_a_lost_redis_before_turn_end_returns),
        cmocka_unit_test(a_verb_begun_in_a_callback_is_for_the_next_round),
        cmocka_unit_test(destroy_tells_those_who_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
