/* SPDX-License-Identifier: MIT
 * test_base_list.c - shared/base/list.h: order, items that leave, and a model. */
#include "shared/base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ITEMS = 8 };

struct item {
    char name;
    struct list_link link, other;
};

static struct item items[ITEMS];
static struct list list;

static int begin(void **state)
{
    (void)state;
    list = (struct list){0};
    for (unsigned i = 0; i < ITEMS; i++)
        items[i] = (struct item){.name = (char)('a' + i)};
    return 0;
}

/* Names forwards; checks that they are the same backwards. */
static const char *names(const struct list *of)
{
    static char text[ITEMS + 1];
    size_t n = 0, left_n;
    list_for_each (const struct item, item, of, link)
        text[n++] = item->name;
    text[n] = 0;
    left_n = n;
    for (const struct list_link *at = of->ends.previous; n > 0 && at != &of->ends;
         at = at->previous)
        assert_int_equal(container_of(at, struct item, link)->name, text[--left_n]);
    assert_int_equal(left_n, 0);
    assert_int_equal(list_is_empty(of), n == 0);
    return text;
}

static void a_zeroed_list_is_empty(void **state)
{
    (void)state;
    assert_true(list_is_empty(&list));
    assert_null(list_first(&list, struct item, link));
    assert_null(list_last(&list, struct item, link));
    assert_string_equal(names(&list), "");
    list_append(&list, &items[0].link);
    list_remove(&items[0].link);
    assert_true(list_is_empty(&list));
    assert_null(list_first(&list, struct item, link));
    assert_null(list_last(&list, struct item, link));
}

static void items_come_at_both_ends_and_before_others(void **state)
{
    (void)state;
    list_append(&list, &items[1].link);
    list_append(&list, &items[2].link);
    list_prepend(&list, &items[0].link);
    list_insert(&items[2].link, &items[3].link);
    assert_string_equal(names(&list), "abdc");
    assert_ptr_equal(list_first(&list, struct item, link), &items[0]);
    assert_ptr_equal(list_next(&list, &items[0], struct item, link), &items[1]);
    assert_ptr_equal(list_last(&list, struct item, link), &items[2]);
    assert_null(list_next(&list, &items[2], struct item, link));
}

static void an_item_leaves_once_from_wherever_it_is(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        list_append(&list, &items[i].link);
    list_remove(&items[1].link);
    list_remove(&items[1].link);
    list_remove(&items[7].link);
    assert_false(list_is_linked(&items[1].link));
    assert_string_equal(names(&list), "acd");
    list_remove(&items[0].link);
    list_remove(&items[3].link);
    assert_string_equal(names(&list), "c");
    list_append(&list, &items[1].link);
    assert_string_equal(names(&list), "cb");
}

static void the_current_item_of_a_loop_may_leave(void **state)
{
    struct list removed = {0};
    (void)state;
    for (unsigned i = 0; i < 5; i++)
        list_append(&list, &items[i].link);
    list_for_each (struct item, item, &list, link) {
        if (item->name == 'c')
            continue;
        list_remove(&item->link);
        list_prepend(&removed, &item->link);
    }
    assert_string_equal(names(&list), "c");
    assert_string_equal(names(&removed), "edba");
}

static void an_item_may_be_in_several_lists(void **state)
{
    struct list second = {0};
    (void)state;
    list_append(&list, &items[0].link);
    list_append(&second, &items[0].other);
    assert_ptr_equal(list_first(&second, struct item, other), &items[0]);
    list_remove(&items[0].link);
    assert_ptr_equal(list_first(&second, struct item, other), &items[0]);
}

static void all_items_move_and_leave_room_for_others(void **state)
{
    struct list moved = {0};
    (void)state;
    list_move(&moved, &list);
    assert_string_equal(names(&moved), "");
    for (unsigned i = 0; i < 3; i++)
        list_append(&list, &items[i].link);
    list_move(&moved, &list);
    list_append(&list, &items[3].link);
    list_remove(&items[1].link);
    assert_string_equal(names(&moved), "ac");
    assert_string_equal(names(&list), "d");
    list_remove(&items[3].link);
    list_move(&list, &moved);
    assert_string_equal(names(&list), "ac");
    assert_string_equal(names(&moved), "");
}

/* --- against a model -------------------------------------------------------------------------- */

static void put_into(char *model, size_t at, char name)
{
    memmove(model + at + 1, model + at, strlen(model + at) + 1);
    model[at] = name;
}

static void any_order_of_coming_and_leaving_is_the_models(void **state)
{
    char model[ITEMS + 1] = "";
    uint64_t random = 34;
    (void)state;
    for (unsigned i = 0; i < 10000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        struct item *item = &items[random >> 40 & (ITEMS - 1)];
        char *at = strchr(model, item->name);
        assert_int_equal(list_is_linked(&item->link), at != NULL);
        if (at != NULL) {
            memmove(at, at + 1, strlen(at));
            list_remove(&item->link);
        } else if ((random >> 50 & 1) == 0) {
            put_into(model, strlen(model), item->name);
            list_append(&list, &item->link);
        } else {
            put_into(model, 0, item->name);
            list_prepend(&list, &item->link);
        }
        assert_string_equal(names(&list), model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_zeroed_list_is_empty, begin),
        cmocka_unit_test_setup(items_come_at_both_ends_and_before_others, begin),
        cmocka_unit_test_setup(an_item_leaves_once_from_wherever_it_is, begin),
        cmocka_unit_test_setup(the_current_item_of_a_loop_may_leave, begin),
        cmocka_unit_test_setup(an_item_may_be_in_several_lists, begin),
        cmocka_unit_test_setup(all_items_move_and_leave_room_for_others, begin),
        cmocka_unit_test_setup(any_order_of_coming_and_leaving_is_the_models, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
