/* SPDX-License-Identifier: MIT
 * test_deadline.c - shared/op/deadline.h: the order in which deadlines run, and what may be done to
 * them while they do. */
#include "shared/op/deadline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct entry {
    struct deadline deadline;
    struct deadlines *all;
    uint64_t again_ms;    /* set again when it runs; 0: not */
    struct entry *victim; /* cancelled when this one runs */
    unsigned ran_n;
};

static struct deadline *ran[256];
static unsigned ran_n;

static struct entry *entry_of(struct deadline *deadline)
{
    return (struct entry *)((char *)deadline - offsetof(struct entry, deadline));
}

static void on_expire(struct deadline *deadline)
{
    struct entry *entry = entry_of(deadline);
    assert_false(deadline_is_set(deadline));
    ran[ran_n++] = deadline;
    entry->ran_n++;
    if (entry->again_ms > 0) {
        deadline_set(entry->all, deadline, entry->again_ms);
        entry->again_ms = 0;
    }
    if (entry->victim != NULL)
        deadline_cancel(entry->all, &entry->victim->deadline);
}

static void init(struct entry *entries, unsigned n, struct deadlines *all)
{
    ran_n = 0;
    for (unsigned i = 0; i < n; i++)
        entries[i] = (struct entry){.deadline = {.on_expire = on_expire}, .all = all};
}

static void nothing_is_due_without_deadlines(void **state)
{
    struct deadlines all = {0};
    assert_int_equal(deadlines_wait_ms(&all, 5, 1000), 1000);
    deadlines_run(&all, UINT64_MAX);
    deadlines_fini(&all);
}

static void deadlines_run_in_order_and_not_before_their_time(void **state)
{
    static const uint64_t at[] = {50, 10, 40, 20, 30};
    struct deadlines all = {0};
    struct entry entries[5];
    init(entries, 5, &all);
    for (unsigned i = 0; i < 5; i++)
        deadline_set(&all, &entries[i].deadline, at[i]);
    deadlines_run(&all, 9);
    assert_int_equal(ran_n, 0);
    deadlines_run(&all, 30);
    assert_int_equal(ran_n, 3);
    assert_ptr_equal(ran[0], &entries[1].deadline);
    assert_ptr_equal(ran[1], &entries[3].deadline);
    assert_ptr_equal(ran[2], &entries[4].deadline);
    assert_true(deadline_is_set(&entries[2].deadline));
    deadlines_run(&all, UINT64_MAX);
    assert_int_equal(ran_n, 5);
    deadlines_fini(&all);
}

static void the_wait_is_until_the_first_one_and_bounded(void **state)
{
    struct deadlines all = {0};
    struct entry entries[2];
    init(entries, 2, &all);
    deadline_set(&all, &entries[0].deadline, 500);
    deadline_set(&all, &entries[1].deadline, 300);
    assert_int_equal(deadlines_wait_ms(&all, 100, 1000), 200);
    assert_int_equal(deadlines_wait_ms(&all, 100, 150), 150);
    assert_int_equal(deadlines_wait_ms(&all, 300, 1000), 0);
    assert_int_equal(deadlines_wait_ms(&all, 400, 1000), 0);
    deadline_cancel(&all, &entries[1].deadline);
    assert_int_equal(deadlines_wait_ms(&all, 100, 1000), 400);
    deadlines_fini(&all);
}

static void setting_again_moves_it_either_way(void **state)
{
    struct deadlines all = {0};
    struct entry entries[3];
    init(entries, 3, &all);
    for (unsigned i = 0; i < 3; i++)
        deadline_set(&all, &entries[i].deadline, 100 + i);
    deadline_set(&all, &entries[2].deadline, 1);
    deadline_set(&all, &entries[0].deadline, 900);
    assert_int_equal(all.n, 3);
    deadlines_run(&all, 500);
    assert_int_equal(ran_n, 2);
    assert_ptr_equal(ran[0], &entries[2].deadline);
    assert_ptr_equal(ran[1], &entries[1].deadline);
    deadlines_fini(&all);
}

static void cancelling_twice_or_unset_does_nothing(void **state)
{
    struct deadlines all = {0};
    struct entry entries[2];
    init(entries, 2, &all);
    deadline_cancel(&all, &entries[0].deadline);
    deadline_set(&all, &entries[0].deadline, 1);
    deadline_set(&all, &entries[1].deadline, 2);
    deadline_cancel(&all, &entries[0].deadline);
    deadline_cancel(&all, &entries[0].deadline);
    deadlines_run(&all, 10);
    assert_int_equal(ran_n, 1);
    assert_ptr_equal(ran[0], &entries[1].deadline);
    deadlines_fini(&all);
}

static void a_callback_may_set_its_own_and_cancel_others(void **state)
{
    struct deadlines all = {0};
    struct entry entries[3];
    init(entries, 3, &all);
    entries[0].again_ms = 100;
    entries[0].victim = &entries[1];
    for (unsigned i = 0; i < 3; i++)
        deadline_set(&all, &entries[i].deadline, 1 + i);
    deadlines_run(&all, 50);
    assert_int_equal(entries[0].ran_n, 1);
    assert_int_equal(entries[1].ran_n, 0);
    assert_int_equal(entries[2].ran_n, 1);
    assert_true(deadline_is_set(&entries[0].deadline));
    deadlines_run(&all, 100);
    assert_int_equal(entries[0].ran_n, 2);
    deadlines_fini(&all);
}

/* A simple model beside the heap: set, move and cancel at random, then run all in order. */
static void many_of_them_keep_their_order(void **state)
{
    enum { N = 200, STEPS = 20000 };
    struct deadlines all = {0};
    static struct entry entries[N];
    unsigned seed = 7;
    init(entries, N, &all);
    for (unsigned step = 0; step < STEPS; step++) {
        struct entry *entry = &entries[(unsigned)rand_r(&seed) % N];
        if (rand_r(&seed) % 3 == 0)
            deadline_cancel(&all, &entry->deadline);
        else
            deadline_set(&all, &entry->deadline, (uint64_t)(rand_r(&seed) % 1000));
    }
    unsigned set_n = 0;
    uint64_t first_ms = UINT64_MAX;
    for (unsigned i = 0; i < N; i++)
        if (deadline_is_set(&entries[i].deadline)) {
            set_n++;
            first_ms = entries[i].deadline.at_ms < first_ms ? entries[i].deadline.at_ms : first_ms;
        }
    assert_int_equal(all.n, set_n);
    assert_int_equal(deadlines_wait_ms(&all, 0, UINT64_MAX), first_ms);
    deadlines_run(&all, 1000);
    assert_int_equal(ran_n, set_n);
    for (unsigned i = 1; i < ran_n; i++)
        assert_true(ran[i - 1]->at_ms <= ran[i]->at_ms);
    deadlines_fini(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_due_without_deadlines),
        cmocka_unit_test(deadlines_run_in_order_and_not_before_their_time),
        cmocka_unit_test(the_wait_is_until_the_first_one_and_bounded),
        cmocka_unit_test(setting_again_moves_it_either_way),
        cmocka_unit_test(cancelling_twice_or_unset_does_nothing),
        cmocka_unit_test(a_callback_may_set_its_own_and_cancel_others),
        cmocka_unit_test(many_of_them_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
