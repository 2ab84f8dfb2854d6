/* SPDX-License-Identifier: MIT
 * test_redis_blocking.c - shared/redis/blocking.h against a redis-server of its own on a Unix
 * socket. */
#include "shared/redis/blocking.h"

#include "generated/verbs.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "tests/unit/redis_fixture.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { READY_MS = 20000 };

/* A verb that changes nothing here: age and cursor. */
static enum err purge(struct blocking *blocking)
{
    struct blocking_call call = {.blocking = blocking};
    call_purge(blocking_start(&call), .max_age_s = 3600, .cursor = STR("0"));
    return call.error;
}

static struct blocking *make(uint64_t patience_ms)
{
    return blocking_create(&(struct blocking_config){.address = &redis_fixture.address,
                                                     .prefix = "parley:{0}:",
                                                     .name = "test-blocking",
                                                     .patience_ms = patience_ms});
}

static void await_redis(void)
{
    struct blocking *blocking = make(READY_MS);
    struct blocking_answer answer;
    struct str ping[] = {STR("PING")};
    assert_int_equal(blocking_command(blocking, ping, 1, 0, &answer), ERR_OK);
    blocking_destroy(blocking);
}

static int set_up(void **state)
{
    log_setup(LOG_ERROR, false);
    redis_fixture.address.db = 3;
    if (!redis_fixture_init())
        return -1;
    await_redis();
    return 0;
}

static int tear_down(void **state)
{
    redis_fixture_fini();
    return 0;
}

static enum err command(struct blocking *blocking, struct blocking_answer *answer, int n, ...)
{
    struct str words[8];
    va_list list;
    va_start(list, n);
    for (int i = 0; i < n; i++)
        words[i] = str_of(va_arg(list, const char *));
    va_end(list);
    return blocking_command(blocking, words, (size_t)n, 0, answer);
}

#define assert_str(s, text) assert_true(str_eq((s), str_of(text)))

static void an_answer_is_laid_flat_with_numbers_as_text_and_nils_in_place(void **state)
{
    struct blocking *blocking = make(READY_MS);
    struct blocking_answer answer;
    assert_int_equal(command(blocking, &answer, 4, "RPUSH", "list", "a", ""), ERR_OK);
    assert_int_equal(answer.n, 1);
    assert_str(answer.at[0], "2");
    assert_int_equal(command(blocking, &answer, 3, "MGET", "none", "none"), ERR_OK);
    assert_int_equal(answer.n, 2);
    assert_null(answer.at[0].at);
    const char *script = "return {'a', {1, {'', false}}, {}}";
    assert_int_equal(command(blocking, &answer, 3, "EVAL", script, "0"), ERR_OK);
    assert_int_equal(answer.n, 4);
    assert_str(answer.at[0], "a");
    assert_str(answer.at[1], "1");
    assert_non_null(answer.at[2].at);
    assert_null(answer.at[3].at);
    blocking_destroy(blocking);
}

static void a_refused_command_says_why_and_the_connection_goes_on(void **state)
{
    struct blocking *blocking = make(READY_MS);
    struct blocking_answer answer;
    assert_int_equal(command(blocking, &answer, 2, "INCR", "list"), ERR_CONFLICT);
    assert_true(str_has_prefix(str_of(blocking_error(blocking)), STR("WRONGTYPE")));
    assert_int_equal(command(blocking, &answer, 1, "PING"), ERR_OK);
    assert_str(answer.at[0], "PONG");
    assert_string_equal(blocking_error(blocking), "");
    blocking_destroy(blocking);
}

static void a_verb_is_called_with_the_library_loaded_where_it_is_missing(void **state)
{
    struct blocking *blocking = make(READY_MS);
    struct blocking_answer answer;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(command(blocking, &answer, 2, "FUNCTION", "FLUSH"), ERR_OK);
        assert_int_equal(purge(blocking), ERR_OK);
        assert_int_equal(purge(blocking), ERR_OK);
    }
    blocking_destroy(blocking);
}

static void a_verb_that_breaks_is_an_internal_error(void **state)
{
    struct blocking *blocking = make(READY_MS);
    log_setup(LOG_LEVEL_NR, false);
    struct blocking_call call = {.blocking = blocking};
    const struct verb_info none = {.name = STR("no_such_verb")};
    struct verb_writer verb = writer_begin(blocking_start(&call), &none);
    end_verb(&verb);
    assert_int_equal(call.error, ERR_INTERNAL);
    log_setup(LOG_ERROR, false);
    assert_true(strstr(blocking_error(blocking), "no_such_verb") != NULL);
    blocking_destroy(blocking);
}

/* Waits until our client blocks in Redis; or, with `is_killing`, ends its connection then. */
static void *stop_when_blocked(void *arg)
{
    struct blocking *blocking = arg, *other = make(READY_MS);
    struct blocking_answer answer;
    for (bool is_blocked = false; !is_blocked;) {
        assert_int_equal(command(other, &answer, 2, "CLIENT", "LIST"), ERR_OK);
        is_blocked = memmem(answer.at[0].at, answer.at[0].n, "cmd=blpop", 9) != NULL;
    }
    blocking_stop(blocking);
    blocking_destroy(other);
    return NULL;
}

static void stopping_ends_a_blocked_command_and_leaves_one_more_try(void **state)
{
    struct blocking *blocking = make(0);
    struct blocking_answer answer;
    pthread_t thread;
    struct str words[] = {STR("BLPOP"), STR("empty"), STR("0")};
    assert_int_equal(pthread_create(&thread, NULL, stop_when_blocked, blocking), 0);
    assert_int_equal(blocking_command(blocking, words, 3, 3600 * 1000, &answer), ERR_OK);
    assert_int_equal(answer.n, 1);
    assert_null(answer.at[0].at);
    pthread_join(thread, NULL);
    assert_int_equal(command(blocking, &answer, 1, "PING"), ERR_OK);
    blocking_destroy(blocking);
}

static void what_was_stopped_before_it_connected_does_not_connect(void **state)
{
    struct blocking *blocking = make(0);
    struct blocking_answer answer;
    blocking_stop(blocking);
    assert_int_equal(command(blocking, &answer, 1, "PING"), ERR_REDIS_LOST);
    blocking_destroy(blocking);
}

static void
a_call_outlives_a_connection_that_was_killed_and_a_redis_that_was_restarted(void **state)
{
    struct blocking *blocking = make(READY_MS), *other = make(READY_MS);
    struct blocking_answer answer;
    assert_int_equal(command(blocking, &answer, 1, "PING"), ERR_OK);
    assert_int_equal(
        command(other, &answer, 6, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"), ERR_OK);
    assert_int_equal(command(blocking, &answer, 1, "PING"), ERR_OK);
    redis_fixture_kill();
    assert_true(redis_fixture_start());
    await_redis();
    assert_int_equal(purge(blocking), ERR_OK);
    blocking_destroy(other);
    blocking_destroy(blocking);
}

static void *ping(void *arg)
{
    struct blocking_answer answer;
    assert_int_equal(command(arg, &answer, 1, "PING"), ERR_OK);
    return NULL;
}

/* As that of an indexer, which a thread uses that ends before it. */
static void a_connection_outlives_the_thread_that_made_it(void **state)
{
    struct blocking *blocking = make(READY_MS);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ping, blocking), 0);
    pthread_join(thread, NULL);
    (void)ping(blocking);
    blocking_destroy(blocking);
}

static void patience_ends_and_the_error_says_what_is_wrong(void **state)
{
    struct redis_address nowhere = {.path = "/nowhere/socket"};
    struct blocking *blocking = blocking_create(
        &(struct blocking_config){.address = &nowhere, .name = "test-blocking", .patience_ms = 1});
    struct blocking_answer answer;
    assert_int_equal(command(blocking, &answer, 1, "PING"), ERR_REDIS_LOST);
    assert_true(strlen(blocking_error(blocking)) > 0);
    blocking_destroy(blocking);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_laid_flat_with_numbers_as_text_and_nils_in_place),
        cmocka_unit_test(a_refused_command_says_why_and_the_connection_goes_on),
        cmocka_unit_test(a_verb_is_called_with_the_library_loaded_where_it_is_missing),
        cmocka_unit_test(a_verb_that_breaks_is_an_internal_error),
        cmocka_unit_test(stopping_ends_a_blocked_command_and_leaves_one_more_try),
        cmocka_unit_test(what_was_stopped_before_it_connected_does_not_connect),
        cmocka_unit_test(
            a_call_outlives_a_connection_that_was_killed_and_a_redis_that_was_restarted),
        cmocka_unit_test(a_connection_outlives_the_thread_that_made_it),
        cmocka_unit_test(patience_ends_and_the_error_says_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
