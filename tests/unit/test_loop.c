/* SPDX-License-Identifier: MIT
 * test_loop.c - shared/op/loop.h: from when a deadline counts that a callback sets. */
#include "shared/op/loop.h"

#include "shared/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { BUSY_MS = 60, AFTER_MS = 30 };

static struct loop loop; /* of the whole run: what libh2o keeps of one stays reachable */
static struct deadline deadline;
static uint64_t set_us, ran_us;

static void on_expire(struct deadline *expired)
{
    (void)expired;
    ran_us = clock_mono_us();
    loop_finish(&loop);
}

/* Time passes before the callback sets its deadline, as it does while the loop sleeps. */
static void set_late(void *arg)
{
    (void)arg;
    for (uint64_t end_ms = clock_mono_ms() + BUSY_MS; clock_mono_ms() < end_ms;)
        ;
    set_us = clock_mono_us();
    loop_set_deadline(&loop, &deadline, AFTER_MS);
}

static void run(void)
{
    deadline.on_expire = on_expire;
    loop.is_done = false;
    loop_run(&loop);
    /* Deadlines are whole milliseconds. */
    assert_true(ran_us - set_us > (AFTER_MS - 1) * 1000);
}

static void a_deadline_set_in_a_socket_callback_counts_from_then(void **state)
{
    loop.on_wake = set_late;
    loop_wake(&loop);
    run();
}

static void on_first(struct deadline *expired)
{
    (void)expired;
    set_late(NULL);
}

static void a_deadline_set_by_another_deadline_counts_from_then(void **state)
{
    static struct deadline first = {.on_expire = on_first};
    loop_set_deadline(&loop, &first, 0);
    run();
}

static bool is_set_at_end;

static void at_turn_end(void *arg)
{
    if (!is_set_at_end)
        set_late(arg);
    is_set_at_end = true;
}

static void a_deadline_set_at_the_end_of_a_turn_counts_from_then(void **state)
{
    loop.on_wake = NULL;
    loop.on_turn_end = at_turn_end;
    loop_wake(&loop);
    run();
    loop.on_turn_end = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadline_set_in_a_socket_callback_counts_from_then),
        cmocka_unit_test(a_deadline_set_by_another_deadline_counts_from_then),
        cmocka_unit_test(a_deadline_set_at_the_end_of_a_turn_counts_from_then),
    };
    loop_init(&loop);
    int failed_n = cmocka_run_group_tests(tests, NULL, NULL);
    loop_fini(&loop);
    return failed_n;
}
