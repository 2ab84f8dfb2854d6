/* SPDX-License-Identifier: MIT
 * test_hello.c - what a client of TLS announces before it is encrypted. */
#include "shared/http/wire/hello.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A record with one message of `claimed` bytes, of which `n` are there. */
static size_t put_record(uint8_t *at, uint8_t type, size_t claimed, size_t n)
{
    uint8_t header[] = {type,
                        3,
                        1,
                        (uint8_t)((n + 4) >> 8),
                        (uint8_t)(n + 4),
                        1,
                        (uint8_t)(claimed >> 16),
                        (uint8_t)(claimed >> 8),
                        (uint8_t)claimed};
    memcpy(at, header, sizeof header);
    memset(at + sizeof header, 'x', n);
    return sizeof header + n;
}

static void a_hello_that_announces_too_much_is_refused_at_its_header(void **state)
{
    uint8_t bytes[64];
    (void)state;
    for (size_t claimed = HELLO_MOST_BYTES; claimed <= HELLO_MOST_BYTES + 1; claimed++) {
        struct hello hello = {0};
        size_t n = put_record(bytes, 22, claimed, 10);
        assert_int_equal(hello_take(&hello, bytes, n, false), claimed == HELLO_MOST_BYTES);
        assert_int_equal(hello.messages_n, 1);
    }
}

static void a_header_in_records_of_one_byte_is_read(void **state)
{
    struct hello hello = {0};
    const uint8_t message[] = {1, 2, 0, 0};
    bool is_good = true;
    (void)state;
    for (size_t i = 0; i < sizeof message; i++) {
        const uint8_t record[] = {22, 3, 1, 0, 1, message[i]};
        is_good = hello_take(&hello, record, sizeof record, false);
        assert_int_equal(is_good, i + 1 < sizeof message);
    }
}

static void a_second_hello_is_read_after_a_change_of_ciphers_in_tls_1_3_only(void **state)
{
    const uint8_t change[] = {20, 3, 3, 0, 1, 1};
    uint8_t bytes[64];
    (void)state;
    for (int is_13 = 0; is_13 < 2; is_13++) {
        struct hello hello = {0};
        assert_true(hello_take(&hello, bytes, put_record(bytes, 22, 10, 10), is_13));
        assert_true(hello_take(&hello, change, sizeof change, is_13));
        size_t n = put_record(bytes, 22, 1 << 17, 10);
        assert_int_equal(hello_take(&hello, bytes, n, is_13), !is_13);
    }
}

static void what_is_no_tls_is_refused(void **state)
{
    struct hello hello = {0};
    (void)state;
    assert_false(hello_take(&hello, (const uint8_t *)"GET / HTTP/1.1", 14, false));
    assert_int_equal(hello_record_bytes((const uint8_t *)"GET /"), 0);
    assert_int_equal(hello_record_bytes((const uint8_t *)"\x16\x03\x01\x02\x00"), 517);
    assert_int_equal(hello_record_bytes((const uint8_t *)"\x16\x03\x01\x40\x01"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hello_that_announces_too_much_is_refused_at_its_header),
        cmocka_unit_test(a_header_in_records_of_one_byte_is_read),
        cmocka_unit_test(a_second_hello_is_read_after_a_change_of_ciphers_in_tls_1_3_only),
        cmocka_unit_test(what_is_no_tls_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
