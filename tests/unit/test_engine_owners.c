/* SPDX-License-Identifier: MIT
 * test_engine_owners.c - services/broker/socket/engine_owners.h: how many polls an account may
 * have. */
#include "services/broker/socket/engine_owners.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Polls as often as it may; returns how many it has. */
static unsigned take_all(struct engine_owners *owners, struct engine_owner *owner)
{
    while (engine_owner_may_poll(owners, owner))
        engine_owner_begin_poll(owners, owner);
    return owner->poll_n;
}

static void leave(struct engine_owners *owners, struct engine_owner *owner)
{
    engine_owner_end_polls(owners, owner, owner->poll_n);
    engine_owner_leave(owner);
}

static void one_account_leaves_half_to_the_others(void **state)
{
    struct engine_owners owners = {0};
    (void)state;
    struct engine_owner *first = engine_owner_enter(&owners, STR("first"));
    assert_int_equal(take_all(&owners, first), ENGINE_POLLS_MAX / 2);
    struct engine_owner *second = engine_owner_enter(&owners, STR("second"));
    assert_int_equal(take_all(&owners, second), ENGINE_POLLS_MAX / 4);
    assert_false(engine_owner_may_poll(&owners, first));
    leave(&owners, first);
    assert_int_equal(take_all(&owners, second), ENGINE_POLLS_MAX / 2);
    leave(&owners, second);
    assert_int_equal(owners.poll_n, 0);
    assert_true(list_is_empty(&owners.list));
}

static void each_of_many_accounts_has_the_slots_of_a_socket(void **state)
{
    enum { MANY = 200 };
    struct engine_owners owners = {0};
    struct engine_owner *all[MANY];
    char name[16];
    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "E%u", i);
        all[i] = engine_owner_enter(&owners, str_of(name));
        assert_true(take_all(&owners, all[i]) >= ENGINE_POLLS_ALWAYS);
    }
    assert_true(owners.poll_n <= ENGINE_POLLS_MAX + MANY * ENGINE_POLLS_ALWAYS);
    for (unsigned i = 0; i < MANY; i++)
        leave(&owners, all[i]);
}

static void sockets_of_an_account_share_what_it_may_have(void **state)
{
    struct engine_owners owners = {0};
    (void)state;
    struct engine_owner *owner = engine_owner_enter(&owners, STR("E"));
    assert_ptr_equal(engine_owner_enter(&owners, STR("E")), owner);
    assert_int_equal(owner->socket_n, 2);
    take_all(&owners, owner);
    engine_owner_leave(owner);
    assert_false(engine_owner_may_poll(&owners, owner));
    leave(&owners, owner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_account_leaves_half_to_the_others),
        cmocka_unit_test(each_of_many_accounts_has_the_slots_of_a_socket),
        cmocka_unit_test(sockets_of_an_account_share_what_it_may_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
