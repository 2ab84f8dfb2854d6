/* SPDX-License-Identifier: MIT
 * test_fair_slots.c - shared/op/fair_slots.h: who gets the next slot, against a model that chooses
 * among all that wait. */
#include "shared/op/fair_slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void ask(struct fair_slots *slots, struct fair_entry *entry, const char *account,
                const char *user, const char *part)
{
    const struct fair_owner owner = {str_of(account), str_of(user), str_of(part)};
    fair_slots_wait(slots, entry, &owner, 1);
}

static void leave_all(struct fair_slots *slots, struct fair_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fair_slots_leave(slots, &entries[i]);
    fair_slots_destroy(slots);
}

static struct fair_slots *of(uint64_t slot_n)
{
    return fair_slots_create(&(struct fair_slots_config){.slot_n = slot_n});
}

static void an_account_that_has_none_gets_the_next_slot_whoever_asked_first(void **state)
{
    struct fair_entry e[6] = {0};
    struct fair_slots *slots = of(2);
    (void)state;
    for (unsigned i = 0; i < 5; i++)
        ask(slots, &e[i], "greedy", "u", "");
    assert_ptr_equal(fair_slots_next(slots), &e[0]);
    assert_ptr_equal(fair_slots_next(slots), &e[1]);
    assert_null(fair_slots_next(slots));
    ask(slots, &e[5], "late", "u", "");
    assert_null(fair_slots_next(slots));
    fair_slots_leave(slots, &e[0]);
    assert_ptr_equal(fair_slots_next(slots), &e[5]);
    fair_slots_leave(slots, &e[5]);
    assert_ptr_equal(fair_slots_next(slots), &e[2]);
    leave_all(slots, e, 6);
}

static void users_of_one_account_and_parts_of_one_user_take_turns_too(void **state)
{
    struct fair_entry e[6] = {0};
    struct fair_slots *slots = of(1);
    (void)state;
    ask(slots, &e[0], "a", "u", "p");
    ask(slots, &e[1], "a", "u", "p");
    ask(slots, &e[2], "a", "u", "q");
    ask(slots, &e[3], "a", "v", "p");
    assert_ptr_equal(fair_slots_next(slots), &e[0]);
    fair_slots_leave(slots, &e[0]);
    assert_ptr_equal(fair_slots_next(slots), &e[3]);
    fair_slots_leave(slots, &e[3]);
    assert_ptr_equal(fair_slots_next(slots), &e[2]);
    fair_slots_leave(slots, &e[2]);
    assert_ptr_equal(fair_slots_next(slots), &e[1]);
    leave_all(slots, e, 6);
}

static void two_that_return_at_once_do_not_keep_a_third_waiting(void **state)
{
    struct fair_entry e[3] = {0};
    struct fair_slots *slots = of(1);
    static const char *const names[] = {"a", "b", "c"};
    unsigned served[3] = {0};
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        ask(slots, &e[i], names[i], "", "");
    for (unsigned round = 0; round < 30; round++) {
        struct fair_entry *entry = fair_slots_next(slots);
        assert_non_null(entry);
        served[entry - e]++;
        fair_slots_leave(slots, entry);
        ask(slots, entry, names[entry - e], "", "");
    }
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(served[i], 10);
    leave_all(slots, e, 3);
}

static void one_account_alone_has_all_slots_and_hands_them_on_between_two_pieces(void **state)
{
    struct fair_entry e[4] = {0};
    struct fair_slots *slots = of(2);
    (void)state;
    ask(slots, &e[0], "a", "u", "");
    ask(slots, &e[1], "a", "u", "");
    assert_non_null(fair_slots_next(slots));
    assert_non_null(fair_slots_next(slots));
    assert_true(fair_slots_yield(slots, &e[0]));
    assert_int_equal(fair_slots_held(slots), 2);
    ask(slots, &e[2], "b", "u", "");
    assert_false(fair_slots_yield(slots, &e[0]));
    assert_ptr_equal(fair_slots_next(slots), &e[2]);
    assert_null(fair_slots_next(slots));
    /* What is left is served by age within its user. */
    ask(slots, &e[3], "a", "u", "");
    assert_false(fair_slots_yield(slots, &e[1]));
    assert_ptr_equal(fair_slots_next(slots), &e[0]);
    leave_all(slots, e, 4);
}

static const struct fair_entry *held_up;

static bool is_not_held_up(const struct fair_entry *entry)
{
    return entry != held_up;
}

static void what_may_not_begin_holds_up_its_part_and_nobody_else(void **state)
{
    struct fair_entry e[4] = {0};
    struct fair_slots *slots =
        fair_slots_create(&(struct fair_slots_config){.slot_n = 4, .may_begin = is_not_held_up});
    (void)state;
    ask(slots, &e[0], "a", "u", "slow");
    ask(slots, &e[1], "a", "u", "slow");
    ask(slots, &e[2], "a", "u", "quick");
    held_up = &e[0];
    assert_ptr_equal(fair_slots_next(slots), &e[2]);
    assert_null(fair_slots_next(slots));
    held_up = NULL;
    assert_ptr_equal(fair_slots_next(slots), &e[0]);
    assert_ptr_equal(fair_slots_next(slots), &e[1]);
    leave_all(slots, e, 4);
}

static void what_costs_more_waits_for_room_and_is_not_overtaken(void **state)
{
    struct fair_entry e[3] = {0};
    struct fair_slots *slots = of(10);
    const struct fair_owner a = {STR("a"), STR(""), STR("")}, b = {STR("b"), STR(""), STR("")};
    (void)state;
    fair_slots_wait(slots, &e[0], &a, 6);
    assert_ptr_equal(fair_slots_next(slots), &e[0]);
    fair_slots_wait(slots, &e[1], &b, 8);
    fair_slots_wait(slots, &e[2], &a, 1);
    assert_null(fair_slots_next(slots));
    fair_slots_resize(&e[0], 2);
    assert_ptr_equal(fair_slots_next(slots), &e[1]);
    assert_int_equal(fair_slots_held(slots), 10);
    fair_slots_leave(slots, &e[1]);
    fair_slots_leave(slots, &e[0]);
    assert_ptr_equal(fair_slots_next(slots), &e[2]);
    leave_all(slots, e, 3);
}

static void what_is_too_large_for_the_pool_gets_all_of_it(void **state)
{
    struct fair_entry e[1] = {0};
    struct fair_slots *slots = of(10);
    (void)state;
    fair_slots_wait(slots, &e[0], &(struct fair_owner){.account = STR("a")}, 100);
    assert_ptr_equal(fair_slots_next(slots), &e[0]);
    leave_all(slots, e, 1);
}

static void a_surplus_is_the_newest_of_the_one_with_the_most(void **state)
{
    struct fair_entry e[5] = {0};
    struct fair_slots *slots =
        fair_slots_create(&(struct fair_slots_config){.slot_n = 1, .waiting_max = 3});
    (void)state;
    ask(slots, &e[0], "a", "u", "");
    ask(slots, &e[1], "a", "v", "");
    ask(slots, &e[2], "a", "v", "");
    assert_null(fair_slots_surplus(slots));
    ask(slots, &e[3], "b", "u", "");
    assert_ptr_equal(fair_slots_surplus(slots), &e[2]);
    fair_slots_leave(slots, &e[2]);
    assert_null(fair_slots_surplus(slots));
    leave_all(slots, e, 5);
}

/* --- against a model -------------------------------------------------------------------------- */

enum { ENTRIES = 60, ACCOUNTS = 3, USERS = 3, PARTS = 2, SLOTS = 7, OF_PART = 3 };

struct model_entry {
    unsigned names[FAIR_LEVELS];
    bool is_in, has_slot;
    unsigned asked; /* when */
};

struct model {
    struct model_entry entries[ENTRIES];
    /* When the shares that exist were served last, by the names of their levels. */
    unsigned served[FAIR_LEVELS][ACCOUNTS][USERS][PARTS];
    unsigned tick, time;
};

static bool shares_names(const struct model_entry *a, const struct model_entry *b, unsigned level)
{
    for (unsigned i = 0; i <= level; i++)
        if (a->names[i] != b->names[i])
            return false;
    return true;
}

static unsigned *served_of(struct model *m, const struct model_entry *e, unsigned level)
{
    return &m->served[level][e->names[0]][level > 0 ? e->names[1] : 0][level > 1 ? e->names[2] : 0];
}

static unsigned held_n(const struct model *m, const struct model_entry *like, unsigned level)
{
    unsigned n = 0;
    for (unsigned i = 0; i < ENTRIES; i++)
        n += m->entries[i].has_slot && (like == NULL || shares_names(&m->entries[i], like, level));
    return n;
}

static bool exists(const struct model *m, const struct model_entry *like, unsigned level)
{
    for (unsigned i = 0; i < ENTRIES; i++)
        if (m->entries[i].is_in && shares_names(&m->entries[i], like, level))
            return true;
    return false;
}

static struct model model;
static struct fair_entry entries[ENTRIES];

/* No part has more than OF_PART. */
static bool part_has_room(const struct fair_entry *entry)
{
    return held_n(&model, &model.entries[entry - entries], FAIR_LEVELS - 1) < OF_PART;
}

static bool may_have(const struct model *m, const struct model_entry *e)
{
    return e->is_in && !e->has_slot && held_n(m, NULL, 0) < SLOTS &&
           held_n(m, e, FAIR_LEVELS - 1) < OF_PART;
}

/* Level by level: fewest slots, then longest not served; at last the oldest. */
static bool is_better(struct model *m, const struct model_entry *a, const struct model_entry *b)
{
    for (unsigned level = 0; level < FAIR_LEVELS; level++) {
        if (shares_names(a, b, level))
            continue;
        unsigned has_a = held_n(m, a, level), has_b = held_n(m, b, level);
        if (has_a != has_b)
            return has_a < has_b;
        return *served_of(m, a, level) < *served_of(m, b, level);
    }
    return a->asked < b->asked;
}

/* Whether two are told apart: shares that arrived since the last change are served by arrival,
 * which the model does not keep. */
static bool is_tie(struct model *m, const struct model_entry *a, const struct model_entry *b)
{
    return !is_better(m, a, b) && !is_better(m, b, a);
}

static void check_choice(struct model *m, const struct model_entry *chosen)
{
    for (unsigned i = 0; i < ENTRIES; i++) {
        if (!may_have(m, &m->entries[i]))
            continue;
        assert_non_null(chosen);
        assert_true(chosen == &m->entries[i] || is_better(m, chosen, &m->entries[i]) ||
                    is_tie(m, chosen, &m->entries[i]));
    }
    assert_true(chosen == NULL || may_have(m, chosen));
}

static void serve(struct model *m, struct model_entry *e, bool has_slot)
{
    e->has_slot = has_slot;
    m->tick++;
    for (unsigned level = 0; level < FAIR_LEVELS; level++)
        *served_of(m, e, level) = m->tick;
}

static void enter(struct model *m, struct model_entry *e, struct fair_slots *slots,
                  struct fair_entry *entry)
{
    char names[FAIR_LEVELS][8];
    const unsigned of_level[] = {ACCOUNTS, USERS, PARTS};
    for (unsigned level = 0; level < FAIR_LEVELS; level++) {
        e->names[level] = (unsigned)rand() % of_level[level];
        snprintf(names[level], sizeof names[level], "%u", e->names[level]);
        if (!exists(m, e, level))
            *served_of(m, e, level) = m->tick;
    }
    e->is_in = true;
    e->asked = ++m->time;
    ask(slots, entry, names[0], names[1], names[2]);
}

static void any_order_of_asking_and_leaving_serves_as_the_model_does(void **state)
{
    const char *seed = getenv("PARLEY_SEED");
    unsigned number = seed == NULL ? 1 : (unsigned)atoi(seed);
    struct model *m = &model;
    struct fair_slots *slots =
        fair_slots_create(&(struct fair_slots_config){.slot_n = SLOTS, .may_begin = part_has_room});
    (void)state;
    srand(number);
    for (unsigned step = 0; step < 20000; step++) {
        unsigned i = (unsigned)rand() % ENTRIES;
        struct model_entry *e = &m->entries[i];
        if (!e->is_in) {
            enter(m, e, slots, &entries[i]);
        } else if (rand() % 3 > 0) {
            fair_slots_leave(slots, &entries[i]);
            if (e->has_slot)
                serve(m, e, false);
            e->is_in = false;
        }
        struct fair_entry *next;
        do {
            next = fair_slots_next(slots);
            struct model_entry *chosen = next == NULL ? NULL : &m->entries[next - entries];
            check_choice(m, chosen);
            if (chosen != NULL)
                serve(m, chosen, true);
        } while (next != NULL);
        assert_int_equal(fair_slots_held(slots), held_n(m, NULL, 0));
    }
    leave_all(slots, entries, ENTRIES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_account_that_has_none_gets_the_next_slot_whoever_asked_first),
        cmocka_unit_test(users_of_one_account_and_parts_of_one_user_take_turns_too),
        cmocka_unit_test(two_that_return_at_once_do_not_keep_a_third_waiting),
        cmocka_unit_test(one_account_alone_has_all_slots_and_hands_them_on_between_two_pieces),
        cmocka_unit_test(what_may_not_begin_holds_up_its_part_and_nobody_else),
        cmocka_unit_test(what_costs_more_waits_for_room_and_is_not_overtaken),
        cmocka_unit_test(what_is_too_large_for_the_pool_gets_all_of_it),
        cmocka_unit_test(a_surplus_is_the_newest_of_the_one_with_the_most),
        cmocka_unit_test(any_order_of_asking_and_leaving_serves_as_the_model_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
