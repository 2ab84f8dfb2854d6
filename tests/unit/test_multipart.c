/* SPDX-License-Identifier: MIT
 * test_multipart.c - shared/http/request/multipart.h: one field of a form, and forms that are none.
 */
#include "shared/http/request/multipart.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define TYPE "multipart/form-data; boundary=XyZ"
#define HEAD "Content-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n"

static struct multipart_part part;
static const char *reason;

static bool find(const char *type, struct str body)
{
    reason = NULL;
    return multipart_find(str_of(type), body, "file", &part, &reason);
}

static void expect_bytes(const char *type, struct str body, struct str bytes)
{
    if (!find(type, body))
        fail_msg("refused: %s", reason);
    assert_int_equal(part.bytes.n, bytes.n);
    assert_memory_equal(part.bytes.at, bytes.at, bytes.n);
    assert_true(bytes.n == 0 ||
                (part.bytes.at >= body.at && part.bytes.at + part.bytes.n <= body.at + body.n));
}

static void expect_refusal(const char *type, struct str body, const char *why)
{
    if (find(type, body))
        fail_msg("was taken; expected: %s", why);
    if (strstr(reason, why) == NULL)
        fail_msg("'%s' does not say '%s'", reason, why);
}

static void a_field_is_found_among_others(void **state)
{
    expect_bytes(TYPE,
                 STR("--XyZ\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nA title\r\n"
                     "--XyZ\r\n" HEAD "Content-Type: text/plain; charset=utf-8\r\n\r\nhello\r\n"
                     "--XyZ\r\ncontent-disposition: form-data; name=other\r\n\r\nx\r\n--XyZ--\r\n"),
                 STR("hello"));
    assert_true(str_eq(part.filename, STR("a.txt")));
    assert_true(str_eq(part.content_type, STR("text/plain; charset=utf-8")));
    assert_false(part.is_filename_encoded);
}

static void bytes_that_look_like_a_boundary_stay_in_the_file(void **state)
{
    expect_bytes(TYPE,
                 STR("--XyZ\r\n" HEAD "\r\n\r\n--XyZZ\r\n--XyZ-\r\n\0--XyZ--\n--XyZ\r\n--Xy\r\n"
                     "--XyZ--"),
                 STR("\r\n--XyZZ\r\n--XyZ-\r\n\0--XyZ--\n--XyZ\r\n--Xy"));
    expect_bytes(TYPE, STR("--XyZ\r\n" HEAD "\r\na\r\n\r\n--XyZ--"), STR("a\r\n"));
}

static void an_empty_file_has_no_bytes(void **state)
{
    expect_bytes(TYPE, STR("--XyZ\r\n" HEAD "\r\n\r\n--XyZ--\r\n"), STR(""));
    expect_bytes(TYPE, STR("--XyZ\r\n" HEAD "\r\n--XyZ--\r\n"), STR(""));
    expect_bytes(TYPE,
                 STR("--XyZ\r\nContent-Disposition: form-data; name=\"file\"; filename=\"\"\r\n\r\n"
                     "\r\n--XyZ--\r\n"),
                 STR(""));
    assert_non_null(part.filename.at);
    assert_int_equal(part.filename.n, 0);
    expect_bytes(TYPE,
                 STR("--XyZ\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx\r\n--XyZ--"),
                 STR("x"));
    assert_null(part.filename.at);
}

static void what_stands_around_the_parts_is_passed_over(void **state)
{
    expect_bytes(TYPE, STR("preamble\r\n--XyZ \t\r\n" HEAD "\r\nx\r\n--XyZ--epilogue\r\n--XyZ\r\n"),
                 STR("x"));
    expect_bytes(TYPE, STR("--XyZ\r\n\r\nno headers\r\n--XyZ\r\n" HEAD "\r\nx\r\n--XyZ--"),
                 STR("x"));
}

static void a_boundary_may_be_quoted_and_hold_odd_characters(void **state)
{
    static const char *const types[] = {
        "Multipart/Form-Data;charset=utf-8; BOUNDARY=\"a b:(c)=\"",
        "multipart/form-data; boundary=a b:(c)=",
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        expect_bytes(types[i], STR("--a b:(c)=\r\n" HEAD "\r\nx\r\n--a b:(c)=--"), STR("x"));
}

static void a_type_without_a_sound_boundary_is_refused(void **state)
{
    static const char *const bad[][2] = {
        {"", "must be multipart/form-data"},
        {"application/json", "must be multipart/form-data"},
        {"multipart/mixed; boundary=XyZ", "must be multipart/form-data"},
        {"multipart/form-data", "1 to 70"},
        {"multipart/form-data; boundary=", "1 to 70"},
        {"multipart/form-data; boundary=\"\"", "1 to 70"},
        {"multipart/form-data; boundary=\"a \"", "1 to 70"},
        {"multipart/form-data; boundary=a\rb", "1 to 70"},
        {"multipart/form-data; boundary=a<b", "1 to 70"},
        {"multipart/form-data; boundary=XyZ; boundary=XyZ", "two boundaries"},
        {"multipart/form-data; boundary="
         "12345678901234567890123456789012345678901234567890123456789012345678901",
         "1 to 70"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_refusal(bad[i][0], STR("--XyZ\r\n" HEAD "\r\nx\r\n--XyZ--"), bad[i][1]);
    expect_bytes(
        "multipart/form-data; boundary="
        "1234567890123456789012345678901234567890123456789012345678901234567890",
        STR("--1234567890123456789012345678901234567890123456789012345678901234567890\r\n" HEAD
            "\r\nx\r\n"
            "--1234567890123456789012345678901234567890123456789012345678901234567890--"),
        STR("x"));
}

static void a_malformed_body_is_refused_with_a_reason(void **state)
{
    static const struct {
        struct str body;
        const char *why;
    } bad[] = {
        {{"", 0}, "does not contain the boundary"},
        {STR("hello"), "does not contain the boundary"},
        {STR("--XyZ"), "does not contain the boundary"},
        {STR("--XyZ\n" HEAD "\r\nx\r\n--XyZ-"), "does not contain the boundary"},
        {STR("--XyZ\r\n"), "ends within the headers"},
        {STR("--XyZ\r\n" HEAD), "ends within the headers"},
        {STR("--XyZ\r\n" HEAD "\r\nx"), "final boundary is missing"},
        {STR("--XyZ\r\n" HEAD "\r\nx\r\n--Xy"), "final boundary is missing"},
        {STR("--XyZ\r\n" HEAD "\r\nx\r\n--XyZ\r\n"), "ends within the headers"},
        {STR("--XyZ\r\nno colon\r\n\r\nx\r\n--XyZ--"), "malformed"},
        {STR("--XyZ\r\n: nothing\r\n\r\nx\r\n--XyZ--"), "malformed"},
        {STR("--XyZ\r\n" HEAD " folded: x\r\n\r\nx\r\n--XyZ--"), "malformed"},
        {STR("--XyZ\r\nA: \0\r\n\r\nx\r\n--XyZ--"), "malformed"},
        {STR("--XyZ\r\n" HEAD HEAD "\r\nx\r\n--XyZ--"), "malformed"},
        {STR("--XyZ\r\nContent-Disposition: attachment; name=\"file\"\r\n\r\nx\r\n--XyZ--"),
         "malformed"},
        {STR("--XyZ\r\nContent-Disposition: form-data; name=\"file\r\n\r\nx\r\n--XyZ--"),
         "malformed"},
        {STR("--XyZ\r\nContent-Disposition: form-data name=\"file\"\r\n\r\nx\r\n--XyZ--"),
         "malformed"},
        {STR("--XyZ\r\nContent-Disposition: form-data; name=\"file\" x\r\n\r\nx\r\n--XyZ--"),
         "malformed"},
        {STR("--XyZ\r\nContent-Disposition: form-data; name=a; name=file\r\n\r\nx\r\n--XyZ--"),
         "malformed"},
        {STR("--XyZ\r\n" HEAD "Content-Transfer-Encoding: base64\r\n\r\neA==\r\n--XyZ--"),
         "send the bytes unencoded"},
        {STR("--XyZ\r\n" HEAD "\r\nx\r\n--XyZ\r\n" HEAD "\r\ny\r\n--XyZ--"), "twice"},
        {STR("--XyZ--"), "no such field"},
        {STR("--XyZ\r\n\r\nx\r\n--XyZ--"), "no such field"},
        {STR("--XyZ\r\nContent-Disposition: form-data; name=\"File\"\r\n\r\nx\r\n--XyZ--"),
         "no such field"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_refusal(TYPE, bad[i].body, bad[i].why);
    assert_ptr_equal(reason, multipart_no_field);
}

static void parts_and_headers_are_limited(void **state)
{
    struct buf body;
    buf_init(&body, 1 << 20);
    for (unsigned i = 1; i < MULTIPART_PARTS_MAX; i++)
        buf_printf(&body, "--XyZ\r\nContent-Disposition: form-data; name=\"f%u\"\r\n\r\nx\r\n", i);
    size_t before = body.n;
    buf_lit(&body, "--XyZ\r\n" HEAD "\r\nlast\r\n--XyZ--");
    expect_bytes(TYPE, buf_str(&body), STR("last"));
    body.n = before;
    buf_lit(&body, "--XyZ\r\n\r\nx\r\n--XyZ\r\n" HEAD "\r\nlast\r\n--XyZ--");
    expect_refusal(TYPE, buf_str(&body), "too many parts");
    buf_clear(&body);
    buf_lit(&body, "--XyZ\r\n" HEAD "X-Long: ");
    while (body.n < MULTIPART_HEADERS_MAX_BYTES + 10)
        buf_put_char(&body, 'x');
    buf_lit(&body, "\r\n\r\nx\r\n--XyZ--");
    expect_refusal(TYPE, buf_str(&body), "too large");
    buf_fini(&body);
}

static void expect_name(const char *parameters, const char *expected)
{
    struct buf body, name;
    buf_init(&body, 8192);
    buf_init(&name, MULTIPART_FILENAME_MAX_BYTES);
    buf_printf(&body,
               "--XyZ\r\nContent-Disposition: form-data; name=\"file\"; %s\r\n\r\nx\r\n--XyZ--",
               parameters);
    if (!find(TYPE, buf_str(&body)))
        fail_msg("%s: refused: %s", parameters, reason);
    multipart_put_filename(&name, &part);
    assert_false(name.is_over);
    if (!str_eq(buf_str(&name), str_of(expected)))
        fail_msg("%s: became '%.*s', not '%s'", parameters, STR_ARG(buf_str(&name)), expected);
    buf_fini(&body);
    buf_fini(&name);
}

static void a_file_name_is_what_a_person_would_read(void **state)
{
    expect_name("filename=\"report.pdf\"", "report.pdf");
    expect_name("filename=report.pdf;", "report.pdf");
    expect_name("filename=\"caf\xc3\xa9; 1.pdf\"", "caf\xc3\xa9; 1.pdf");
    expect_name("filename=\"a \\\"b\\\" \\\\c.txt\"", "c.txt");
    expect_name("filename=\"a \\\"b\\\".txt\"", "a \"b\".txt");
    expect_name("filename=\"a %22b%22 100%.txt\"", "a \"b\" 100%.txt");
    expect_name("filename=\"a%0D%0Ab\tc.txt\"", "abc.txt");
    expect_name("filename=\"C:\\folder\\file.txt\"", "file.txt");
    expect_name("filename=\"../../etc/passwd\"", "passwd");
    expect_name("filename=\"..\"", "");
    /* Letters that nobody sees: a reversed ending, marks, joiners, a newline of Unicode, C1. */
    expect_name("filename=\"a\xe2\x80\xaetxt.pdf\"", "atxt.pdf");
    expect_name("filename=\"a\xe2\x81\xa6\xe2\x80\x8e\xd8\x9c\xe2\x80\x8b\xef\xbb\xbf"
                "b.txt\xe2\x80\xad\"",
                "ab.txt");
    expect_name("filename=\"a\xe2\x80\xa8\xc2\x85\xc2\xad\xf3\xa0\x81\xa1.txt\"", "a.txt");
    expect_name("filename=\".\xe2\x80\x8b.\"", "");
    expect_name("filename*=UTF-8''a%E2%80%AEfdp.exe%0A.txt", "afdp.exe.txt");
    expect_name("filename=\"folder/\"", "");
    expect_name("filename=\"\"", "");
    expect_name("x=y", "");
    expect_name("filename=\"latin\xe9.txt\"", "latin\xef\xbf\xbd.txt");
}

static void an_encoded_file_name_wins(void **state)
{
    expect_name("filename=\"x.pdf\"; filename*=UTF-8''na%C3%AFve%20plan.pdf",
                "na\xc3\xafve plan.pdf");
    expect_name("filename*=utf-8'en'%2Fetc%2Fplan.pdf; filename=x.pdf", "plan.pdf");
    expect_name("filename=\"x.pdf\"; filename*=ISO-8859-1''na%EFve.pdf", "x.pdf");
    expect_name("filename*=UTF-8''bad%zz.pdf", "bad%zz.pdf");
    expect_name("filename*=UTF-8''%FF%00%0A.pdf", "\xef\xbf\xbd.pdf");
}

static void a_long_file_name_keeps_its_ending(void **state)
{
    struct buf parameters, expected;
    buf_init(&parameters, 4096);
    buf_init(&expected, 4096);
    buf_lit(&parameters, "filename=\"a");
    buf_lit(&expected, "a");
    for (int i = 0; i < 200; i++) {
        buf_lit(&parameters, "\xc3\xa9");
        if (i < 124) /* 1 + 2 * 124 bytes, ".docx" after them: the next one has no room */
            buf_lit(&expected, "\xc3\xa9");
    }
    buf_lit(&parameters, ".docx\"");
    buf_lit(&expected, ".docx");
    buf_terminate(&parameters);
    buf_terminate(&expected);
    expect_name(parameters.at, expected.at);
    assert_int_equal(expected.n, MULTIPART_FILENAME_MAX_BYTES - 1);
    buf_fini(&parameters);
    buf_fini(&expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_field_is_found_among_others),
        cmocka_unit_test(bytes_that_look_like_a_boundary_stay_in_the_file),
        cmocka_unit_test(an_empty_file_has_no_bytes),
        cmocka_unit_test(what_stands_around_the_parts_is_passed_over),
        cmocka_unit_test(a_boundary_may_be_quoted_and_hold_odd_characters),
        cmocka_unit_test(a_type_without_a_sound_boundary_is_refused),
        cmocka_unit_test(a_malformed_body_is_refused_with_a_reason),
        cmocka_unit_test(parts_and_headers_are_limited),
        cmocka_unit_test(a_file_name_is_what_a_person_would_read),
        cmocka_unit_test(an_encoded_file_name_wins),
        cmocka_unit_test(a_long_file_name_keeps_its_ending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
