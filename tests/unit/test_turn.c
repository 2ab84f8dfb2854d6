/* SPDX-License-Identifier: MIT
 * test_turn.c - shared/redis/turn.h and call.h: what callers hear, and when; without a Redis, and
 * with one of its own. What verbs say is tested by all of tests/http. */
#include "generated/verbs.h"
#include "shared/redis/batch.h"
#include "tests/unit/turn_fixture.h"

#include <sys/socket.h>
#include <sys/un.h>

/* --- without a Redis -------------------------------------------------------------------------- */

static void nobody_hears_of_a_lost_redis_before_turn_end_returns(void **state)
{
    create_without_redis();
    begin_all();
    turn_flush(turn);
    assert_all(ERR_REDIS_LOST, "");
    turn_destroy(turn);
    free_all();
}

static void a_verb_begun_in_a_callback_with_the_same_handle_is_for_the_next_round(void **state)
{
    create_without_redis();
    begin_all();
    for (unsigned i = 0; i < CALL_N; i++)
        owners[i]->is_again = true;
    turn_flush(turn);
    assert_int_equal(told_n, CALL_N);
    assert_int_equal(turn_pending_n(turn), CALL_N);
    for (unsigned i = 0; i < CALL_N; i++) {
        assert_true(call_is_under_way(&owners[i]->call));
        owners[i]->is_again = false;
    }
    turn_flush(turn);
    assert_int_equal(told_n, 2 * CALL_N);
    turn_destroy(turn);
    free_all();
}

static void destroy_notifies_waiting_calls(void **state)
{
    create_without_redis();
    begin_all();
    turn_destroy(turn);
    assert_int_equal(told_n, CALL_N);
    free_all();
}

static void what_is_begun_while_a_turn_is_destroyed_ends_detached(void **state)
{
    create_without_redis();
    begin_all();
    for (unsigned i = 0; i < CALL_N; i++)
        owners[i]->is_again = true;
    turn_destroy(turn);
    assert_int_equal(told_n, CALL_N);
    for (unsigned i = 0; i < CALL_N; i++)
        assert_false(call_is_under_way(&owners[i]->call));
    free_all();
}

static void a_call_that_was_detached_before_it_is_sent_hears_nothing(void **state)
{
    create_without_redis();
    struct owner *first = begin_new(), *gone = begin_new(), *last = begin_new();
    forget_owner(gone);
    assert_int_equal(turn_pending_n(turn), 3); /* the verb runs all the same */
    turn_flush(turn);
    assert_int_equal(first->told_n, 1);
    assert_int_equal(last->told_n, 1);
    assert_int_equal(turn_pending_n(turn), 0);
    turn_destroy(turn);
    free(first);
    free(last);
}

static void an_owner_that_goes_inside_the_callback_of_another_hears_nothing(void **state)
{
    create_without_redis();
    struct owner *early = begin_new(), *first = begin_new(), *next = begin_new();
    struct owner *last = begin_new();
    first->victim = next; /* its slot is the next to be answered */
    last->victim = early; /* and this one was */
    turn_flush(turn);
    assert_int_equal(told_n, 3);
    turn_destroy(turn);
    free(first);
    free(last);
}

static void a_call_may_be_detached_when_nothing_is_under_way(void **state)
{
    struct call call = {NULL};
    call_detach(&call);
    assert_false(call_is_under_way(&call));
}

static void what_an_owner_leaves_is_reported_to_its_orphan_once(void **state)
{
    struct orphan orphan = {0}, other = {0};
    create_without_redis();
    struct owner *gone = begin_new(), *also_gone = begin_new();
    call_leave(&gone->call, on_orphan, &orphan);
    forget_owner(gone);
    turn_flush(turn);
    assert_int_equal(orphan.told_n, 1);
    assert_int_equal(orphan.error, ERR_REDIS_LOST);
    assert_int_equal(also_gone->told_n, 1);
    begin(also_gone, "nonce");
    call_leave(&also_gone->call, on_orphan, &other);
    free(also_gone);
    turn_destroy(turn);
    assert_int_equal(other.told_n, 1);
    assert_int_equal(orphan.told_n, 1);
    assert_int_equal(told_n, 1);
}

static void a_batch_with_a_lane_that_overflowed_is_not_sent(void **state)
{
    static const struct verb_info infos[] = {{.name = {"large", 5}, .lane = LANE_READ},
                                             {.name = {"small", 5}, .lane = LANE_READ}};
    struct buf settings = {.max = 16};
    struct batch *batch = batch_create(NULL);
    struct str part = {calloc(1, 1 << 20), 1 << 20};
    for (unsigned i = 0; i < 2; i++) {
        struct buf *lane = batch_begin(batch, (struct call_start){.call = NULL}, &infos[i]);
        for (unsigned k = 0; i == 0 && k < 65; k++)
            buf_put(lane, part);
        batch_end(batch, 0);
    }
    batch_write(batch, "turn", "parley:{0}:", &settings);
    assert_true(batch->wire.is_over);
    free((char *)part.at);
    batch_destroy(batch);
}

/* --- with a Redis ----------------------------------------------------------------------------- */

static void each_of_a_thousand_calls_of_one_turn_is_answered_once_with_its_own_reply(void **state)
{
    create_with_redis();
    begin_all();
    run_until_answered();
    assert_all(ERR_OK, "ok");
    free_all();
    told_n = 0;
    begin_all();
    for (unsigned i = 0; i < CALL_N; i += 2)
        call_detach(&owners[i]->call);
    run_until_answered();
    assert_int_equal(told_n, CALL_N / 2);
    for (unsigned i = 0; i < CALL_N; i++)
        assert_string_equal(owners[i]->reply, i % 2 == 0 ? "" : "replay");
    free_all();
    turn_destroy(turn);
}

/* Both directions of each connection to Redis. */
static void shut_connections(void)
{
    unsigned n = 0;
    for (int fd = 3; fd < 1024; fd++) {
        struct sockaddr_un peer = {.sun_family = AF_UNSPEC};
        socklen_t size = sizeof peer;
        bool is_ours = getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
                       peer.sun_family == AF_UNIX &&
                       strcmp(peer.sun_path, redis_fixture.address.path) == 0;
        n += is_ours && shutdown(fd, SHUT_RDWR) == 0;
    }
    assert_int_equal(n, 1);
}

/* One after the other: a nonce alone, one with the mark of an add-query, one that a verb uses. */
static void begin_with_nonces(const char *mark)
{
    char member[64];
    for (unsigned i = 0; i < CALL_N; i++) {
        struct nonce_id nonce = {.bytes = "alone", .is_set = true};
        memcpy(nonce.bytes + 8, &i, sizeof i);
        owners[i] = new_owner();
        struct call_start start = turn_call(turn, &owners[i]->call, on_reply);
        start.nonce = &nonce;
        snprintf(member, sizeof member, "%032x %s", i, mark);
        if (i % 3 == 0)
            call_nonce(start);
        else if (i % 3 == 1)
            call_nonce_of_add(start, .member = str_of(member));
        else
            begin_as(owners[i], "nonce", LANE_ADD, &nonce);
        assert_false(nonce.is_set);
    }
}

static void nonces_without_a_verb_are_answered_each_with_its_own_reply(void **state)
{
    static const char *marks[] = {"0123456789ab", "0123456789ab", "ba9876543210"};
    static const char *of_marked[] = {"ok", "again", "replay"};
    create_with_redis();
    for (unsigned round = 0; round < 3; round++) {
        begin_with_nonces(marks[round]);
        for (unsigned i = round; i < CALL_N; i += 5)
            call_detach(&owners[i]->call);
        run_until_answered();
        for (unsigned i = 0; i < CALL_N; i++) {
            const char *reply = i % 3 == 1 ? of_marked[round] : round == 0 ? "ok" : "replay";
            bool is_gone = i >= round && (i - round) % 5 == 0;
            assert_int_equal(owners[i]->told_n, !is_gone);
            assert_int_equal(owners[i]->error, ERR_OK);
            assert_string_equal(owners[i]->reply, is_gone ? "" : reply);
        }
        free_all();
    }
    turn_destroy(turn);
}

static void nonces_without_a_verb_hear_of_a_lost_redis(void **state)
{
    create_with_redis();
    shut_connections();
    begin_with_nonces("0123456789ab");
    run_until_answered();
    assert_all(ERR_REDIS_LOST, "");
    free_all();
    turn_destroy(turn);
}

enum { FEW = 7 }; /* turn.c: one less than EARLY_CALLS */

/* What comes while they are under way is collected as before. */
static void an_idle_redis_gets_eight_calls_before_the_end_of_the_turn(void **state)
{
    struct owner *of_turn[2 * FEW + 2];
    create_with_redis();
    for (unsigned i = 0; i < FEW; i++)
        of_turn[i] = begin_new();
    assert_true(turn_is_collecting(turn));
    of_turn[FEW] = begin_new();
    assert_false(turn_is_collecting(turn));
    assert_int_equal(told_n, 0);
    for (unsigned i = FEW + 1; i < 2 * FEW + 2; i++)
        of_turn[i] = begin_new();
    assert_true(turn_is_collecting(turn));
    run_until_answered();
    for (unsigned i = 0; i < 2 * FEW + 2; i++) {
        assert_string_equal(of_turn[i]->reply, "ok");
        free(of_turn[i]);
    }
    turn_destroy(turn);
}

/* Polls that come later in this turn are to be parked when the query is added. */
static void a_call_with_a_new_query_waits_for_the_end_of_the_turn(void **state)
{
    struct owner *of_turn[2 * FEW];
    create_with_redis();
    for (unsigned i = 0; i < 2 * FEW; i++) {
        of_turn[i] = new_owner();
        begin_verb(of_turn[i], "nonce", i == 1 ? VERB_ADD : VERB_CHECK, LANE_READ, NULL);
        assert_int_equal(turn_queries_n(turn), i > 0);
    }
    assert_int_equal(sent_n, 0);
    run_until_answered();
    assert_int_equal(sent_n, 1);
    assert_int_equal(turn_queries_n(turn), 0);
    for (unsigned i = 0; i < 2 * FEW; i++) {
        assert_string_equal(of_turn[i]->reply, "ok");
        free(of_turn[i]);
    }
    turn_destroy(turn);
}

/* That the connection broke is noticed at the end of the turn, not by those who begin a call. */
static void a_redis_that_hangs_up_under_calls_that_go_early_is_noticed_later(void **state)
{
    struct owner *of_turn[FEW + 1];
    create_with_redis();
    shut_connections();
    for (unsigned i = 0; i <= FEW; i++) {
        of_turn[i] = begin_new();
        assert_int_equal(told_n, 0);
    }
    run_until_answered();
    assert_int_equal(told_n, FEW + 1);
    for (unsigned i = 0; i <= FEW; i++) {
        assert_int_equal(of_turn[i]->error, ERR_REDIS_LOST);
        free(of_turn[i]);
    }
    turn_destroy(turn);
}

static void owners_that_go_while_their_verbs_run_hear_nothing(void **state)
{
    struct orphan orphan = {0};
    create_with_redis();
    struct owner *gone = begin_new(), *left = begin_new(), *stays = begin_new();
    redis_fixture_stop();
    turn_flush(turn);
    forget_owner(gone);
    call_leave(&left->call, on_orphan, &orphan);
    free(left);
    assert_int_equal(turn_pending_n(turn), 3);
    redis_fixture_go_on();
    run_until_answered();
    assert_int_equal(told_n, 1);
    assert_string_equal(stays->reply, "ok");
    assert_int_equal(orphan.told_n, 1);
    assert_int_equal(orphan.error, ERR_OK);
    turn_destroy(turn);
    free(stays);
}

static void a_turn_that_is_destroyed_while_verbs_run_notifies_waiting_calls(void **state)
{
    struct orphan orphan = {0};
    create_with_redis();
    redis_fixture_stop();
    struct owner *gone = begin_new(), *left = begin_new(), *sent = begin_new();
    turn_flush(turn);
    struct owner *collected = begin_new();
    forget_owner(gone);
    call_leave(&left->call, on_orphan, &orphan);
    free(left);
    turn_destroy(turn);
    assert_int_equal(told_n, 2);
    assert_int_equal(sent->error, ERR_REDIS_LOST);
    assert_int_equal(collected->error, ERR_REDIS_LOST);
    assert_int_equal(orphan.told_n, 1);
    assert_int_equal(orphan.error, ERR_REDIS_LOST);
    redis_fixture_go_on();
    free(sent);
    free(collected);
}

static void slow_verbs_run_a_few_at_a_time_and_no_other_verb_waits_for_all_of_them(void **state)
{
    enum { SLOW_N = 10 };
    static const unsigned expected[] = {1, 4, 1, 4, 2};
    struct owner *slow[SLOW_N], *first, *second;
    create_with_redis();
    for (unsigned i = 0; i < SLOW_N; i++) {
        slow[i] = new_owner();
        begin_as(slow[i], "nonce", LANE_SLOW, NULL);
    }
    first = begin_new();
    turn_flush(turn);
    second = begin_new();
    run_until_answered();
    assert_int_equal(sent_n, sizeof expected / sizeof expected[0]);
    assert_memory_equal(sizes, expected, sizeof expected);
    assert_int_equal(first->place, 1);
    assert_int_equal(second->place, 6);
    for (unsigned i = 0; i < SLOW_N; i++) {
        assert_string_equal(slow[i]->reply, "ok");
        assert_int_equal(slow[i]->place, i < 4 ? i + 2 : i + 3);
        free(slow[i]);
    }
    turn_destroy(turn);
    free(first);
    free(second);
}

static void a_slow_verb_that_waits_for_others_hears_of_a_lost_redis(void **state)
{
    enum { SLOW_N = 10 };
    struct owner *slow[SLOW_N];
    create_with_redis();
    redis_fixture_stop();
    for (unsigned i = 0; i < SLOW_N; i++) {
        slow[i] = new_owner();
        begin_as(slow[i], "nonce", LANE_SLOW, NULL);
    }
    turn_flush(turn);
    forget_owner(slow[0]);
    forget_owner(slow[9]);
    turn_destroy(turn);
    assert_int_equal(told_n, SLOW_N - 2);
    for (unsigned i = 1; i < SLOW_N - 1; i++) {
        assert_int_equal(slow[i]->error, ERR_REDIS_LOST);
        free(slow[i]);
    }
    redis_fixture_go_on();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_hears_of_a_lost_redis_before_turn_end_returns),
        cmocka_unit_test(a_verb_begun_in_a_callback_with_the_same_handle_is_for_the_next_round),
        cmocka_unit_test(destroy_notifies_waiting_calls),
        cmocka_unit_test(what_is_begun_while_a_turn_is_destroyed_ends_detached),
        cmocka_unit_test(a_call_that_was_detached_before_it_is_sent_hears_nothing),
        cmocka_unit_test(an_owner_that_goes_inside_the_callback_of_another_hears_nothing),
        cmocka_unit_test(a_call_may_be_detached_when_nothing_is_under_way),
        cmocka_unit_test(what_an_owner_leaves_is_reported_to_its_orphan_once),
        cmocka_unit_test(a_batch_with_a_lane_that_overflowed_is_not_sent),
        cmocka_unit_test(each_of_a_thousand_calls_of_one_turn_is_answered_once_with_its_own_reply),
        cmocka_unit_test(nonces_without_a_verb_are_answered_each_with_its_own_reply),
        cmocka_unit_test(nonces_without_a_verb_hear_of_a_lost_redis),
        cmocka_unit_test(an_idle_redis_gets_eight_calls_before_the_end_of_the_turn),
        cmocka_unit_test(a_call_with_a_new_query_waits_for_the_end_of_the_turn),
        cmocka_unit_test(a_redis_that_hangs_up_under_calls_that_go_early_is_noticed_later),
        cmocka_unit_test(owners_that_go_while_their_verbs_run_hear_nothing),
        cmocka_unit_test(a_turn_that_is_destroyed_while_verbs_run_notifies_waiting_calls),
        cmocka_unit_test(slow_verbs_run_a_few_at_a_time_and_no_other_verb_waits_for_all_of_them),
        cmocka_unit_test(a_slow_verb_that_waits_for_others_hears_of_a_lost_redis),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
