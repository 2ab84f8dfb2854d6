/* SPDX-License-Identifier: MIT
 * test_text_pages.c - where pages begin. */
#include "shared/text/text_pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void an_offset_has_a_page(void **state)
{
    struct text_pages pages = {0};
    assert_int_equal(text_pages_find(&pages, 0), 0);
    text_pages_add(&pages, 0);
    assert_int_equal(text_pages_find(&pages, 0), 1);
    assert_int_equal(text_pages_find(&pages, SIZE_MAX), 1);
    text_pages_add(&pages, 10);
    text_pages_add(&pages, 10); /* page 2 is empty */
    text_pages_add(&pages, 30);
    const uint32_t expected[][2] = {{0, 1}, {9, 1}, {10, 3}, {29, 3}, {30, 4}, {1000, 4}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(text_pages_find(&pages, expected[i][0]), expected[i][1]);
    text_pages_fini(&pages);
    assert_int_equal(pages.n, 0);
}

static void nothing_is_said_of_pages_that_are_not_counted(void **state)
{
    struct text_pages pages = {0};
    for (size_t i = 0; i < TEXT_PAGES_MAX + 10; i++)
        text_pages_add(&pages, i * 2);
    assert_int_equal(pages.n, TEXT_PAGES_MAX);
    assert_int_equal(text_pages_find(&pages, 0), 1);
    assert_int_equal(text_pages_find(&pages, 2 * (TEXT_PAGES_MAX - 2)), TEXT_PAGES_MAX - 1);
    assert_int_equal(text_pages_find(&pages, 2 * TEXT_PAGES_MAX), 0);
    text_pages_fini(&pages);
}

static void they_are_read_as_they_were_put(void **state)
{
    struct text_pages pages = {0}, found;
    struct buf bytes;
    buf_init(&bytes, TEXT_PAGES_MAX_BYTES);
    text_pages_put(&bytes, &pages);
    assert_int_equal(bytes.n, 0);
    text_pages_add(&pages, 0);
    text_pages_add(&pages, 0x01020304);
    text_pages_put(&bytes, &pages);
    assert_memory_equal(bytes.at, "\0\0\0\0\4\3\2\1", 8);
    assert_true(text_pages_read(buf_str(&bytes), &found));
    assert_int_equal(found.n, 2);
    assert_int_equal(found.starts[1], 0x01020304);
    text_pages_fini(&found);
    assert_true(text_pages_read(STR(""), &found));
    assert_int_equal(found.n, 0);
    text_pages_fini(&pages);
    buf_fini(&bytes);
}

static void other_bytes_are_no_pages(void **state)
{
    struct text_pages found = {0};
    assert_false(text_pages_read(STR("\0\0\0"), &found));
    assert_false(text_pages_read(STR("\1\0\0\0"), &found));
    assert_false(text_pages_read(STR("\0\0\0\0\5\0\0\0\4\0\0\0"), &found));
    char *many = calloc(1, TEXT_PAGES_MAX_BYTES + 4);
    assert_false(text_pages_read((struct str){many, TEXT_PAGES_MAX_BYTES + 4}, &found));
    assert_true(text_pages_read((struct str){many, TEXT_PAGES_MAX_BYTES}, &found));
    text_pages_fini(&found);
    free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_offset_has_a_page),
        cmocka_unit_test(nothing_is_said_of_pages_that_are_not_counted),
        cmocka_unit_test(they_are_read_as_they_were_put),
        cmocka_unit_test(other_bytes_are_no_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
