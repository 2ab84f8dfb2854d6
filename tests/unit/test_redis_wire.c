/* SPDX-License-Identifier: MIT
 * test_redis_wire.c - commands in Redis's protocol (wire.h). */
#include "shared/redis/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void assert_wire(const struct buf *wire, const char *expected)
{
    assert_int_equal(wire->n, strlen(expected));
    assert_memory_equal(wire->at, expected, wire->n);
}

static void a_command_is_its_words_with_their_lengths(void **state)
{
    (void)state;
    struct buf wire;
    buf_init(&wire, 1024);
    wire_begin(&wire, 4);
    wire_put(&wire, STR("SET"));
    wire_put(&wire, STR(""));
    wire_put_u64(&wire, 18446744073709551615u);
    wire_put_head(&wire, 7);
    assert_wire(&wire, "*4\r\n$3\r\nSET\r\n$0\r\n\r\n$20\r\n18446744073709551615\r\n$7\r\n");
    buf_fini(&wire);
}

static void a_number_is_written_where_its_digits_were_kept_free(void **state)
{
    (void)state;
    struct buf wire;
    buf_init(&wire, 1024);
    size_t at = wire_put_numbered(&wire, STR("check"), 3);
    wire_put(&wire, STR("t"));
    assert_wire(&wire, "$9\r\ncheck 000\r\n$1\r\nt\r\n");
    wire_set_number(&wire, at, 3, 6);
    assert_wire(&wire, "$9\r\ncheck 006\r\n$1\r\nt\r\n");
    wire_set_number(&wire, at, 3, 999);
    assert_wire(&wire, "$9\r\ncheck 999\r\n$1\r\nt\r\n");
    buf_fini(&wire);
}

static void a_buffer_that_is_over_is_left_alone(void **state)
{
    (void)state;
    struct buf wire;
    buf_init(&wire, 16);
    size_t at = wire_put_numbered(&wire, STR("a name of many bytes"), 6);
    assert_true(wire.is_over);
    wire_set_number(&wire, at, 6, 1);
    buf_fini(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_is_its_words_with_their_lengths),
        cmocka_unit_test(a_number_is_written_where_its_digits_were_kept_free),
        cmocka_unit_test(a_buffer_that_is_over_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
