/* SPDX-License-Identifier: MIT
 * test_workflow_link_page.c - the page of a question, and what a browser sends from it. */
#include "services/workflow/approvals/link_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *const form_text =
    "{\"type\":\"object\",\"required\":[\"amount\"],\"properties\":{"
    "\"rule_text\":{\"type\":\"string\",\"title\":\"Rule\"},"
    "\"amount\":{\"type\":\"number\",\"minimum\":0},"
    "\"is_urgent\":{\"type\":\"boolean\"},"
    "\"level\":{\"enum\":[\"low\",\"high\",3]},"
    "\"note\":{\"type\":\"string\",\"default\":\"none\"},"
    "\"rest\":{\"type\":[\"integer\",\"null\"]},"
    "\"tags\":{\"type\":\"array\"}}}";
static const char *const body_text =
    "{\"rule_text\":\"line 1\\r\\nline 2\",\"amount\":5.0,\"level\":\"low\",\"raw_text\":\"<b>&\"}";

static json_t *json_of(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(value);
    return value;
}

/* The corrections of a form body, as JSON; "" without. */
static void check(const char *sent, const char *expected)
{
    json_t *form = json_of(form_text), *body = json_of(body_text);
    struct form_post post;
    const char *reason;
    struct buf b;
    buf_init(&b, 4096);
    assert_true(form_post_read(str_of(sent), &post, &reason));
    json_t *corrections = form_post_corrections(&post, form, body);
    if (corrections != NULL)
        buf_put_json_value(&b, corrections);
    buf_terminate(&b);
    assert_string_equal(b.at, expected);
    buf_fini(&b);
    json_decref(corrections);
    form_post_fini(&post);
    json_decref(form);
    json_decref(body);
}

#define SHOWN                                                                                      \
    "&field.rule_text=line+1%0D%0Aline+2&field.amount=5.0&field.is_urgent=false&field.level=low"   \
    "&field.note=none&field.tags="

static void what_was_shown_is_no_correction(void **state)
{
    check("decision=approve" SHOWN, "");
    check("decision=approve", "");
    check("decision=reject&comment=no", "");
    check("decision=approve&field.amount=5", "");
    check("decision=approve&field.unknown=5&other=1", "");
}

static void a_change_sends_the_whole_form_by_its_types(void **state)
{
    check(
        "decision=approve" SHOWN "&field.amount=7",
        "{\"rule_text\":\"line 1\\r\\nline 2\",\"amount\":7,\"is_urgent\":false,\"level\":\"low\","
        "\"note\":\"none\"}");
    check("decision=approve&field.is_urgent=false&field.is_urgent=true", "{\"is_urgent\":true}");
    check("decision=approve&field.level=3", "{\"level\":3}");
    check("decision=approve&field.rest=3", "{\"rest\":3}");
    check("decision=approve&field.tags=[1,+%22a%22]", "{\"tags\":[1,\"a\"]}");
    check("decision=approve&field.rule_text=a%0D%0Ab", "{\"rule_text\":\"a\\nb\"}");
    check("decision=approve&field.rule_text=", "{\"rule_text\":\"\"}");
}

static void what_is_not_of_its_type_stays_for_the_form_to_refuse(void **state)
{
    check("decision=approve&field.amount=much", "{\"amount\":\"much\"}");
    check("decision=approve&field.amount=", "{\"amount\":null}");
    check("decision=approve&field.amount=1e999", "{\"amount\":\"1e999\"}");
    check("decision=approve&field.level=middle", "{\"level\":\"middle\"}");
    check("decision=approve&field.is_urgent=maybe", "{\"is_urgent\":\"maybe\"}");
    check("decision=approve&field.tags=[", "{\"tags\":\"[\"}");
}

static void refuse(const char *sent, size_t n)
{
    struct form_post post = {.comment = NULL};
    const char *reason = NULL;
    assert_false(form_post_read((struct str){sent, n}, &post, &reason));
    assert_non_null(reason);
    assert_null(post.fields);
}

static void a_form_that_decides_nothing_is_refused(void **state)
{
    static const char *const wrong[] = {"",
                                        "decision",
                                        "decision=",
                                        "decision=yes",
                                        "comment=a",
                                        "decision=approve&decision=x",
                                        "decision=approve&comment=%",
                                        "decision=approve&comment=%zz",
                                        "decision=approve&comment=%ff",
                                        "decision=approve&field.%00=1",
                                        "decision=approve&comment=%00"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuse(wrong[i], strlen(wrong[i]));
    refuse(NULL, 0);
}

static void a_comment_is_trimmed_and_the_last_one_counts(void **state)
{
    struct form_post post;
    const char *reason;
    assert_true(
        form_post_read(STR("comment=a&decision=reject&comment=+b%0D%0Ac+"), &post, &reason));
    assert_false(post.is_approved);
    assert_string_equal(post.comment, "b\nc");
    form_post_fini(&post);
    assert_true(form_post_read(STR("comment=++&decision=approve"), &post, &reason));
    assert_true(post.is_approved);
    assert_null(post.comment);
    form_post_fini(&post);
}

static void a_page_holds_strangers_texts_as_text(void **state)
{
    json_t *form = json_of("{\"type\":\"object\",\"properties\":{\"<i>'\\\"\":{\"type\":\"string\","
                           "\"title\":\"<u>\",\"description\":\"<s>\",\"default\":\"</textarea>\"},"
                           "\"e\":{\"enum\":[\"<em>\",\"\\\"\"]}}}");
    json_t *body = json_of("{\"<script>\":\"<img src=x>\",\"o\":{\"<p>\":1}}");
    struct link_question question = {.agent = STR("<a>"),
                                     .verb = STR("<v>"),
                                     .description = STR("<d>"),
                                     .reason = STR("<b>\"why\" & 'how'"),
                                     .user = STR("<q>"),
                                     .form = form,
                                     .body = body,
                                     .deadline_ms = 1742864523000,
                                     .approvals = 1,
                                     .quorum = 2};
    struct buf b;
    buf_init(&b, LINK_PAGE_MAX_BYTES);
    link_page_put_question(&b, &question, STR("<acc>"), "<fault>", NULL);
    buf_terminate(&b);
    static const char *const not_there[] = {"<a>",     "<b>",  "<q>",          "<i>",  "<u>",
                                            "<s>",     "<em>", "<script",      "<img", "<acc>",
                                            "<fault>", "<p>1", "</textarea>&", "<v>",  "<d>"};
    for (size_t i = 0; i < sizeof not_there / sizeof *not_there; i++)
        assert_null(strstr(b.at, not_there[i]));
    assert_non_null(strstr(b.at, "name=\"field.&lt;i&gt;&#39;&quot;\""));
    assert_non_null(strstr(b.at, "&lt;/textarea&gt;</textarea>"));
    assert_non_null(strstr(b.at, "<option value=\"&quot;\">&quot;</option>"));
    assert_non_null(strstr(b.at, "1 of 2 approvals"));
    assert_non_null(strstr(b.at, "2025-03-25T01:02:03Z"));
    buf_fini(&b);
    json_decref(form);
    json_decref(body);
}

static void a_refused_attempt_keeps_its_texts(void **state)
{
    json_t *form = json_of(form_text), *body = json_of(body_text);
    struct link_question question = {.agent = STR("a"), .form = form, .body = body, .quorum = 1};
    struct form_post post;
    const char *reason;
    struct buf b;
    assert_true(form_post_read(STR("decision=approve&comment=why&field.amount=much"
                                   "&field.is_urgent=true&field.level=3&field.rule_text=mine"),
                               &post, &reason));
    buf_init(&b, LINK_PAGE_MAX_BYTES);
    link_page_put_question(&b, &question, STR("me"), "amount takes a number.", &post);
    buf_terminate(&b);
    assert_non_null(strstr(b.at, "role=\"alert\">amount takes a number.<"));
    assert_non_null(strstr(b.at, "value=\"much\""));
    assert_non_null(strstr(b.at, " checked>"));
    assert_non_null(strstr(b.at, "<option value=\"3\" selected>3</option>"));
    assert_non_null(strstr(b.at, "\nmine</textarea>"));
    assert_non_null(strstr(b.at, "\nwhy</textarea>"));
    buf_fini(&b);
    form_post_fini(&post);
    json_decref(form);
    json_decref(body);
}

static void a_question_without_a_form_has_a_field_for_the_request(void **state)
{
    json_t *body = json_of(body_text);
    struct link_question question = {.agent = STR("a"), .body = body, .quorum = 1};
    struct form_post post;
    const char *reason;
    struct buf b;
    buf_init(&b, LINK_PAGE_MAX_BYTES);
    link_page_put_question(&b, &question, STR("me"), NULL, NULL);
    buf_terminate(&b);
    assert_non_null(strstr(b.at, "name=\"field.raw_text\""));
    assert_null(strstr(b.at, "field.amount"));
    buf_fini(&b);
    assert_true(form_post_read(STR("decision=approve&field.raw_text=%3Cb%3E%26"), &post, &reason));
    assert_null(form_post_corrections(&post, NULL, body));
    form_post_fini(&post);
    assert_true(
        form_post_read(STR("decision=approve&field.raw_text=x&field.sql_query=y"), &post, &reason));
    json_t *corrections = form_post_corrections(&post, NULL, body);
    assert_int_equal(json_object_size(corrections), 1);
    assert_true(str_eq(json_member_str(corrections, "raw_text"), STR("x")));
    json_decref(corrections);
    form_post_fini(&post);
    json_decref(body);
}

static void a_page_without_a_form_has_both_answers(void **state)
{
    struct link_question question = {.agent = STR("a"), .quorum = 1};
    struct buf b;
    buf_init(&b, LINK_PAGE_MAX_BYTES);
    link_page_put_question(&b, &question, STR("me"), NULL, NULL);
    buf_terminate(&b);
    assert_null(strstr(b.at, "<fieldset"));
    assert_null(strstr(b.at, "role=\"alert\""));
    assert_null(strstr(b.at, "of 1 approvals"));
    assert_non_null(strstr(b.at, "value=\"approve\""));
    assert_non_null(strstr(b.at, "value=\"reject\""));
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_shown_is_no_correction),
        cmocka_unit_test(a_change_sends_the_whole_form_by_its_types),
        cmocka_unit_test(what_is_not_of_its_type_stays_for_the_form_to_refuse),
        cmocka_unit_test(a_form_that_decides_nothing_is_refused),
        cmocka_unit_test(a_comment_is_trimmed_and_the_last_one_counts),
        cmocka_unit_test(a_page_holds_strangers_texts_as_text),
        cmocka_unit_test(a_refused_attempt_keeps_its_texts),
        cmocka_unit_test(a_question_without_a_form_has_a_field_for_the_request),
        cmocka_unit_test(a_page_without_a_form_has_both_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
