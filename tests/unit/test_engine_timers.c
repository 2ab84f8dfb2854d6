/* SPDX-License-Identifier: MIT
 * test_engine_timers.c - the engine's timers. */
#include "services/engine/link/timers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int fired[4], fired_n;

static void on_fire(void *context)
{
    fired[fired_n++] = (int)(intptr_t)context;
}

static void timers_fire_in_order_and_once(void **state)
{
    struct timers timers = {NULL};
    struct timer t[3];
    for (intptr_t i = 0; i < 3; i++)
        t[i] = (struct timer){.fire = on_fire, .context = (void *)i};
    timer_set(&timers, &t[0], 20);
    timer_set(&timers, &t[1], 0);
    timer_set(&timers, &t[2], 10);
    timer_set(&timers, &t[0], 5); /* moved */
    timer_stop(&t[2]);
    timer_stop(&t[2]);
    assert_true(timers_wait_ms(&timers, 1000) == 0);
    while (fired_n < 2)
        timers_run(&timers);
    assert_int_equal(fired_n, 2);
    assert_int_equal(fired[0], 1);
    assert_int_equal(fired[1], 0);
    assert_int_equal(timers_wait_ms(&timers, 1000), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(timers_fire_in_order_and_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
