/* SPDX-License-Identifier: MIT
 * test_deliver.c - how a node confirms claims that have reached their engines: late, together, and
 * only if they have not ended. */
enum { DELIVERY_MS = 1000 };
#define QUEUE_FIXTURE_DELIVERY_MS DELIVERY_MS
#include "tests/unit/queue_fixture.h"

#include <stdlib.h>

enum { MANY = 9000 }; /* more than a node keeps unconfirmed */

static uint64_t number(const char *command, const char *key, const char *member)
{
    struct str words[] = {str_of(command), str_of(key), str_of(member)};
    struct blocking_answer answer;
    uint64_t n = 0;
    enum err error = blocking_command(redis, words, *member == '\0' ? 2 : 3, 0, &answer);
    assert_int_equal(error, ERR_OK);
    return answer.n == 1 && str_parse_u64(answer.at[0], &n) ? n : 0;
}

static bool has_key(unsigned lease)
{
    char key[64];
    snprintf(key, sizeof key, "parley:{0}:lease:%u", lease);
    return number("EXISTS", key, "") == 1;
}

/* As a claim leaves it: in the index until its delivery deadline, which is far here. */
static void claim(unsigned lease)
{
    char member[64];
    snprintf(member, sizeof member, "%u t", lease);
    struct str words[] = {STR("ZADD"), STR("parley:{0}:leases"), STR("9000000000001"),
                          str_of(member)};
    struct blocking_answer answer;
    assert_int_equal(blocking_command(redis, words, 4, 0, &answer), ERR_OK);
}

static void deliver(unsigned lease)
{
    char text[16];
    snprintf(text, sizeof text, "%u", lease);
    queue_delivering(queue, WORK_QUERIES, STR("t"), str_of(text), STR("E t 1 n1 1"));
    queue_delivered(queue, WORK_QUERIES, STR("t"), str_of(text), 0, 0);
}

static void end(unsigned lease)
{
    char text[16];
    snprintf(text, sizeof text, "%u", lease);
    queue_claim_ended(queue, STR("t"), str_of(text));
}

static void run_until_key(unsigned lease)
{
    while (!has_key(lease))
        run_once();
}

static int forget(void **state)
{
    struct str words[] = {STR("DEL"), STR("parley:{0}:leases")};
    struct blocking_answer answer;
    queue_report_delivered(queue);
    run_until_answered();
    return blocking_command(redis, words, 2, 0, &answer) == ERR_OK ? 0 : -1;
}

static void a_claim_is_confirmed_by_itself_when_it_is_late(void **state)
{
    claim(1);
    deliver(1);
    assert_false(has_key(1));
    run_until_key(1);
    assert_int_equal(number("ZSCORE", "parley:{0}:leases", "1 t") % 2, 0); /* a full lease */
}

static void what_has_ended_is_not_confirmed(void **state)
{
    for (unsigned lease = 11; lease <= 13; lease++) {
        claim(lease);
        deliver(lease);
    }
    end(12);
    end(12); /* once more: nothing is left to do */
    end(14);
    run_until_key(13);
    assert_true(has_key(11));
    assert_false(
        has_key(12)); /* its lease is in the index here, so only the node has left it out */
}

static void what_is_still_being_written_is_confirmed(void **state)
{
    claim(15);
    claim(16);
    queue_delivering(queue, WORK_QUERIES, STR("t"), STR("15"), STR("E t 1 n1 1"));
    queue_delivering(queue, WORK_QUERIES, STR("t"), STR("16"), STR("E t 1 n1 1"));
    queue_delivery_reset(queue, WORK_QUERIES, STR("t"), STR("16"));
    run_until_key(15);
    assert_false(has_key(16));
}

static void a_sign_of_life_is_preceded_by_the_confirmation(void **state)
{
    claim(21);
    deliver(21);
    queue_claim_lives(queue, STR("t"), STR("22")); /* another one: nothing is sent */
    assert_int_equal(shards_pending_n(queue_shards(queue)), 0);
    queue_claim_lives(queue, STR("t"), STR("no lease"));
    queue_claim_lives(queue, STR("t"), STR("21"));
    run_until_answered();
    assert_true(has_key(21));
}

static void more_claims_than_a_node_keeps_are_all_confirmed(void **state)
{
    for (unsigned lease = 100; lease < 100 + MANY; lease++)
        claim(lease);
    for (unsigned lease = 100; lease < 100 + MANY; lease++)
        deliver(lease);
    for (unsigned lease = 100 + MANY / 2; lease < 100 + MANY; lease += 2)
        end(lease);
    queue_report_delivered(queue);
    run_until_answered();
    for (unsigned lease = 100; lease < 100 + MANY / 2; lease++)
        assert_true(has_key(lease));
    assert_true(has_key(100 + MANY - 1));
    assert_false(has_key(100 + MANY - 2));
}

static void what_a_lost_connection_swallowed_is_confirmed_again(void **state)
{
    struct str words[] = {STR("CLIENT"), STR("KILL"),   STR("TYPE"),
                          STR("normal"), STR("SKIPME"), STR("yes")};
    struct blocking_answer answer;
    claim(31);
    claim(32);
    deliver(31);
    deliver(32);
    assert_int_equal(blocking_command(redis, words, 6, 0, &answer), ERR_OK);
    queue_report_delivered(queue); /* into a connection that is closed, as the node sees later */
    while (!has_key(31) || !has_key(32))
        run_once();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_claim_is_confirmed_by_itself_when_it_is_late, forget),
        cmocka_unit_test_teardown(what_has_ended_is_not_confirmed, forget),
        cmocka_unit_test_teardown(what_is_still_being_written_is_confirmed, forget),
        cmocka_unit_test_teardown(a_sign_of_life_is_preceded_by_the_confirmation, forget),
        cmocka_unit_test_teardown(more_claims_than_a_node_keeps_are_all_confirmed, forget),
        cmocka_unit_test_teardown(what_a_lost_connection_swallowed_is_confirmed_again, forget),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
