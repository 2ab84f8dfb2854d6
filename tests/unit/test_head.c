/* SPDX-License-Identifier: MIT
 * test_head.c - heads of requests as they come: good, broken, unfinished. */
#include "shared/http/wire/head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static enum head_state read_text(const char *text, struct head *head)
{
    return head_read(text, strlen(text), head);
}

static void a_head_says_what_follows_it(void **state)
{
    struct head head;
    assert_int_equal(read_text("POST /a?b HTTP/1.1\r\nHoSt: x\r\nContent-Length:  12 \r\n"
                               "expect: 100-Continue\r\nAuthorization: Bearer t\r\n\r\n{}",
                               &head),
                     HEAD_GOOD);
    assert_true(str_eq(head.method, STR("POST")) && str_eq(head.target, STR("/a?b")));
    assert_true(str_eq(head.authorization, STR("Bearer t")));
    assert_int_equal(head.minor, 1);
    assert_int_equal(head.length, 12);
    assert_true(head.expects && !head.is_chunked);
    assert_int_equal(head.host_n, 1);
    assert_int_equal(read_text("GET / HTTP/1.0\n\n", &head), HEAD_GOOD);
    assert_int_equal(head.n, 16);
    assert_int_equal(read_text("\r\nGET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"
                               "Content-Length: x\r\nHost: a\r\nHost: b\r\n\r\n",
                               &head),
                     HEAD_GOOD);
    assert_int_equal(head.length_n, 2);
    assert_int_equal(head.host_n, 2);
    assert_true(head.is_chunked && head.length == UINT64_MAX);
}

static void what_is_no_head_is_known_as_soon_as_it_shows(void **state)
{
    static const char *const broken[] = {
        "\x16\x03\x01",
        "GET\t/ HTTP/1.1\r\n",
        "GET / HTTP/9.9\r\n",
        "GET /\r\n",
        "GET /a b HTTP/1.1\r\n",
        "GET /\x01",
        "G(T / HTTP/1.1\r\n",
        " GET / HTTP/1.1\r\n",
        "GET / HTTP/1.1\r\nNoColon\r\n",
        "GET / HTTP/1.1\r\nA : b\r\n",
        "GET / HTTP/1.1\r\nA: b\r\n folded\r\n",
        "GET / HTTP/1.1\r\nA: b\x7f\r\n",
        "GET / HTTP/1.1\r\nA: b\rc\r\n",
        "PRI * HTTP/2.0\r\n\r\nXM",
    };
    struct head head;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        if (read_text(broken[i], &head) != HEAD_BROKEN)
            fail_msg("not broken: %s", broken[i]);
    assert_int_equal(head_read("GET / HTTP/1.1\r\nA: \0\r\n", 23, &head), HEAD_BROKEN);
}

static void a_part_of_a_good_head_is_unfinished(void **state)
{
    static const char text[] = "POST /a?b=%20 HTTP/1.1\r\nHost: x\r\nA:\tb\xc3\xa4\r\n\r\n";
    struct head head;
    for (size_t n = 1; n < sizeof text - 1; n++)
        assert_int_equal(head_read(text, n, &head), HEAD_UNFINISHED);
    assert_int_equal(head_read(text, sizeof text - 1, &head), HEAD_GOOD);
    assert_int_equal(read_text("PRI * HTTP/2.0\r\n\r\nSM\r\n\r", &head), HEAD_UNFINISHED);
    assert_int_equal(read_text("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &head), HEAD_HTTP2);
}

static void hidden_fields_are_not_read(void **state)
{
    char text[] = "POST / HTTP/1.1\r\nCONTENT-LENGTH: 1\r\nTransfer-Encoding: chunked\r\n"
                  "Expect: 100-continue\r\nUpgrade: h2c\r\nHost: x\r\n\r\n";
    struct head head;
    head_hide(text, sizeof text - 1, HEAD_EXPECT);
    assert_int_equal(read_text(text, &head), HEAD_GOOD);
    assert_true(!head.expects && head.wants_h2c && head.length_n == 2);
    head_hide(text, sizeof text - 1, HEAD_BODY | HEAD_H2C);
    assert_int_equal(read_text(text, &head), HEAD_GOOD);
    assert_true(!head.wants_h2c && head.length_n == 0 && head.host_n == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_says_what_follows_it),
        cmocka_unit_test(what_is_no_head_is_known_as_soon_as_it_shows),
        cmocka_unit_test(a_part_of_a_good_head_is_unfinished),
        cmocka_unit_test(hidden_fields_are_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
