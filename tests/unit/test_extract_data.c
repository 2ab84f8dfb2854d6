/* SPDX-License-Identifier: MIT
 * test_extract_data.c - JSON, XML and mail: members and elements as named values, attachments. */
#include "tests/unit/extract_fixture.h"

static void json_is_named_values(void **state)
{
    static const char *const files[][2] = {
        {"{\"a\":1,\"b\":[1,\"x\"],\"c\":{\"d\":true,\"e\":{\"f\":null,\"g\":1.5}},\"h\":[]}",
         "a: 1 | b: 1, x | h: \nc: d: true\nc.e: g: 1.5"},
        {"[{\"n\":\"A\"},{\"n\":\"B\"},3]", "n: A\nn: B\n3"},
        {"{\"a\":1}\n{\"a\":2}", "a: 1\na: 2"},
        {"not json", "not json"},
        {"{\"a\":1} rest", "{\"a\":1} rest"},
    };
    for (size_t i = 0; i < COUNT(files); i++)
        expect(EXTRACT_JSON, str_of(files[i][0]), files[i][1]);
}

static void xml_is_named_values_and_text(void **state)
{
    static const char *const files[][2] = {
        {"<?xml version=\"1.0\"?><p><pump name=\"A\" id=\"7\"><bar>40</bar></pump></p>",
         "name: A\nbar: 40"},
        {"<d><para>Some <b>bold</b> text that is longer than the name of its element can help "
         "&amp; "
         "more.</para></d>",
         "Some bold text that is longer than the name of its element can help & more."},
        {"<!DOCTYPE a [<!ENTITY b \"bomb\"><!ENTITY c \"&b;&b;\">]><a>x &c; y</a>", "a: x y"},
        {"<a>no end", "<a>no end"},
        {"<?xml version=\"1.0\" encoding=\"windows-1251\"?><a>\xcd\xe0\xf1\xee\xf1</a>",
         "a: Насос"},
    };
    for (size_t i = 0; i < COUNT(files); i++)
        expect(EXTRACT_XML, str_of(files[i][0]), files[i][1]);
}

/* Reads a mail, with a form feed in place of each PDF file in it. */
static enum extract_fault parse_mail(struct str bytes)
{
    buf_clear(&text);
    enum extract_fault fault = extract_parse(EXTRACT_EML, bytes, &text);
    buf_terminate(&text);
    return fault;
}

static void mail_is_read_with_its_attachments(void **state)
{
    assert_int_equal(
        parse_mail(STR(
            "From: =?utf-8?Q?J=C3=B6rg?= <j@x>\r\nTo: a@x,\r\n b@x\r\nSubject: =?utf-8?B?UHVtcGVu?="
            " =?utf-8?Q?_pr=C3=BCfen?= now\r\nContent-Type: multipart/mixed; "
            "boundary=\"x;y\"\r\n\r\n"
            "preamble\r\n--x;y\r\nContent-Type: multipart/alternative; boundary=z\r\n\r\n--z\r\n"
            "Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: "
            "quoted-printable\r\n\r\nSie l=E4uft mit 40=\r\n bar.\r\n--z\r\nContent-Type: "
            "text/html\r\n\r\n<p>html</p>\r\n--z--\r\n--x;y\r\nContent-Disposition: attachment; "
            "filename*=utf-8''d%C3%A4ta.csv\r\nContent-Transfer-Encoding: base64\r\n\r\n"
            "VHlwZSxiYXIKQSw0MAo=\r\n--x;y\r\nContent-Type: application/pdf; "
            "name=a.pdf\r\n\r\n%PDF\r\n"
            "--x;y\r\nContent-Type: message/rfc822\r\n\r\nSubject: "
            "inner\r\n\r\nInner\r\n--x;y--\r\n")),
        EXTRACT_FAULT_NONE);
    assert_string_equal(
        text.at,
        "# Pumpen prüfen now\n\nFrom: Jörg <j@x>\nTo: a@x, b@x\n\nSie läuft mit 40 bar.\n\n"
        "## Attachment: däta.csv\n\nType | bar\nType: A | bar: 40\n\n## Attachment: a.pdf\f"
        "# inner\n\nInner");
    expect(EXTRACT_EML, STR("Subject: s\nContent-Type: text/html\n\n<p>only html</p>"),
           "# s\n\nonly html");
    expect(EXTRACT_EML, STR("Subject: s\r\n \r\nThe pump\r\nruns.\r\n\r\nIt leaks."),
           "# s\n\nThe pump\nruns.\n\nIt leaks.");
    expect(EXTRACT_EML, STR("Content-Type: text/plain\n\nOnly a text"), "Only a text");
    assert_int_equal(extract(EXTRACT_EML, STR("no mail at all")), EXTRACT_FAULT_NOT_KIND);
}

/* Form feeds of other origin, in a subject, a name or between the slides of an attachment, are no
 * PDF. */
static void pdf_attached_to_mail_is_handed_out_by_its_number(void **state)
{
    static const char mail[] =
        "Subject: =?utf-8?Q?a=0Cb?=\nContent-Type: multipart/mixed; boundary=x\n\n"
        "--x\n\na\fb\n--x\nContent-Type: application/pdf; name=\"a\f.pdf\"\n\n%PDF-1\n"
        "--x\nContent-Type: message/rfc822\n\nContent-Disposition: attachment; "
        "filename=b.PDF\nContent-Transfer-Encoding: base64\n\nJVBERi0y\n--x--\n";
    static const char *const expected[] = {NULL, "%PDF-1", "%PDF-2"};
    size_t feed_n = 0;
    assert_int_equal(parse_mail(str_of(mail)), EXTRACT_FAULT_NONE);
    for (size_t i = 0; i < text.n; i++)
        feed_n += text.at[i] == '\f';
    assert_int_equal(feed_n, 2);
    for (unsigned i = 1; i <= 2; i++) {
        buf_clear(&text);
        assert_int_equal(extract_put_mail_pdf(&text, str_of(mail), i), EXTRACT_FAULT_NONE);
        assert_true(str_eq(str_trim(buf_str(&text)), str_of(expected[i])));
    }
    buf_clear(&text);
    assert_int_equal(extract_put_mail_pdf(&text, str_of(mail), 3), EXTRACT_FAULT_EMPTY);
}

static void of_a_mail_ten_pdf_are_read(void **state)
{
    struct buf mail;
    size_t feed_n = 0;
    buf_init(&mail, 1 << 20);
    buf_lit(&mail, "Subject: s\nContent-Type: multipart/mixed; boundary=x\n\n");
    for (int i = 0; i < 12; i++)
        buf_lit(&mail, "--x\nContent-Type: application/pdf; name=a.pdf\n\n%PDF\n");
    assert_int_equal(parse_mail(buf_str(&mail)), EXTRACT_FAULT_NONE);
    for (size_t i = 0; i < text.n; i++)
        feed_n += text.at[i] == '\f';
    assert_int_equal(feed_n, EXTRACT_MAIL_PDFS_MAX);
    assert_non_null(strstr(text.at, "Only ten PDF files of a mail are read"));
    buf_fini(&mail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_named_values),
        cmocka_unit_test(xml_is_named_values_and_text),
        cmocka_unit_test(mail_is_read_with_its_attachments),
        cmocka_unit_test(pdf_attached_to_mail_is_handed_out_by_its_number),
        cmocka_unit_test(of_a_mail_ten_pdf_are_read),
    };
    return cmocka_run_group_tests(tests, set_up_alone, tear_down);
}
