/* SPDX-License-Identifier: MIT
 * test_bots_mentions.c - which names a text mentions, and what a message's id and time look like.
 */
#include "services/bots/rooms/mentions.h"
#include "services/bots/rooms/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void expect(const char *text, const char *wanted)
{
    struct str names[MENTIONS_MAX];
    struct buf b;
    buf_init(&b, 1 << 20);
    size_t n = mentions_find(str_of(text), names, MENTIONS_MAX);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_put_char(&b, ' ');
        buf_put(&b, names[i]);
    }
    buf_terminate(&b);
    assert_string_equal(b.at, wanted);
    buf_fini(&b);
}

static void names_end_at_white_space_and_punctuation(void **state)
{
    (void)state;
    expect("@ada", "ada");
    expect("hello @ada, @bob: (@eve)! \"@max\"\n@tab\tx", "ada bob eve max tab");
    expect("@ada/register @bob's", "ada bob");
    expect("@Ada and @ada", "Ada ada");
    expect("nobody", "");
    expect("", "");
    expect("@", "");
    expect("@ ada @, @@ @-x @.x @_x", "");
}

static void marks_count_only_inside_a_name(void **state)
{
    (void)state;
    expect("ask @ada.", "ada");
    expect("@ada... @bob-- @eve_", "ada bob eve");
    expect("@a.b-c_d.", "a.b-c_d");
    expect("@bot_v1.2, @a--b", "bot_v1.2 a--b");
}

static void letters_of_all_scripts_are_letters(void **state)
{
    (void)state;
    expect("@J\xc3\xb6rg\xe3\x80\x82 @\xe5\xbc\xa0\xe4\xb8\x89\xef\xbc\x8c",
           "J\xc3\xb6rg \xe5\xbc\xa0\xe4\xb8\x89");
    expect("@ada\xc2\xa0x @bob\xe2\x80\xa8y", "ada bob");
    expect("@na\xcc\x88me", "na\xcc\x88me");
}

static void mail_addresses_mention_nobody(void **state)
{
    (void)state;
    expect("ada@example.org, a.-@b, \xc3\xb6@c", "");
    expect("@ada@example.org", "ada");
    expect("@@ada", "ada");
}

static void addresses_of_pages_mention_nobody(void **state)
{
    (void)state;
    expect("https://social.example/@ada @bob", "bob");
    expect("see (http://x.example/a,@ada?b=@eve) @bob", "bob");
    expect("WWW.x.example/@ada\n@bob", "bob");
    expect("git+ssh://git@x.example/@ada", "");
    expect("<https://x.example/@ada>@bob", "bob");
    expect("[@ada](https://x.example/@eve)", "ada");
    expect("https://x.example/@ada\xef\xbc\x8c@bob", "bob"); /* a comma of Chinese */
    expect("https://x.example/`@ada` @bob", "bob");
    expect("https://x.example/\xc3\xb6/@ada", "");
    expect("@ada://x @bob:// ://@max www @lee", "ada bob max lee");
    expect("@ada https://x.example/annex @bob/www.", "ada bob");
}

static void code_spans_mention_nobody(void **state)
{
    (void)state;
    expect("`@ada` @bob", "bob");
    expect("a `b @ada` c @bob", "bob");
    expect("``@ada ` @eve`` @bob", "bob");
    expect("`` ` @ada`` `@eve` `@max", "max");
    expect("`@ada", "ada");
    expect("``@ada`", "ada");
    expect("`a\n@ada` @bob", "bob");
    expect("`a\n\n@ada` @bob", "ada bob");
    expect("\\`@ada` @bob", "ada bob");
    expect("`a\\` @ada", "ada");
    expect("x`y`@ada", "ada");
    expect("`@ada`@bob", "bob");
}

static void fenced_blocks_mention_nobody(void **state)
{
    (void)state;
    expect("```\n@ada\n```\n@bob", "bob");
    expect("```js\n@ada\n\n@eve\n", "");
    expect("~~~ `x`\n@ada\n```\n@eve\n~~~\n@bob", "bob");
    expect("````\n@ada\n```\n@eve\n````` \n@bob", "bob");
    expect("   ```\r\n@ada\r\n  ```\r\n@bob", "bob");
    expect("a\n    ```\n@ada", "ada");
    expect("text\n```\n@ada\n```", "");
    expect("``` @ada ```", "");
    expect("```a`\n@ada", "ada");
    expect("~~\n@ada", "ada");
}

static void indented_code_mentions_nobody(void **state)
{
    (void)state;
    expect("    @ada\n@bob", "bob");
    expect("a\n\n    @ada\n\n\t@eve\n   @bob", "bob");
    expect("a\n\n  \t@ada\n\n   @bob", "bob");
    expect("a\n    @ada\n\t@bob", "ada bob");
    expect("# @ada\n    @eve", "ada");
    expect("#@ada\n    @bob", "ada bob");
    expect("@ada\n---\n    @eve\n***\n    @eve\n@bob\n===\n    @eve", "ada bob");
    expect("> a\n    @ada", "");
    expect("```\n```\n    @ada\n@bob", "bob");
    expect("```\n    ```\n@ada\n```\n@bob", "bob");
    expect("    ```\n@bob", "bob");
}

static void items_of_lists_mention_whom_their_text_does(void **state)
{
    (void)state;
    expect("- @ada\n\n    @bob\n\n      @eve\n\n12. @max\n\n    @lee\n\n        @eve",
           "ada bob max lee");
    expect("-     @eve\n- @ada\n  - @bob\n\n        @eve\n\n    @max", "ada bob max");
    expect("- > @eve\n- a\n  > @eve\n\n  > @eve\n- @bob", "bob");
    expect("1) ```\n   @eve\n   ```\n   @ada\n2) ~~~\n   @eve\n@bob", "ada bob");
    expect("- a\n@ada\n    @bob", "ada bob");
    expect("- a\n\n@ada\n\n    @eve", "ada");
    expect("-\n  @ada\n\n      @eve\n10.\n\n    @eve", "ada");
    expect("- `a\n- @ada `b\n  @eve` @bob", "ada bob");
    expect("a\n2. @ada\n    @bob\n1. @max\n\n       @eve", "ada bob max");
    expect("a\n-\n    @ada", "");
    expect("- - -\n    @eve\n- - @ada\n\n      @bob", "ada bob");
    expect("-a @ada\n\n1.a @bob\n\n1234567890. @max\n\n    @eve", "ada bob max");
}

static void comments_mention_nobody(void **state)
{
    (void)state;
    expect("a <!-- @ada --> @bob", "bob");
    expect("<!-- @ada\n\n@eve\n--> @bob", "bob");
    expect("<!--> @ada <!---> @bob", "ada bob");
    expect("a <!-- @ada\n\n@bob -->", "ada bob");
    expect("a <!-- @ada `-->` @bob", "bob");
    expect("a `<!--` @ada `-->` @bob", "ada bob");
    expect("\\<!-- @ada -->, a \\<!-- @bob -->", "ada bob");
    expect("<!-- @ada\n\n@eve", "");
    expect("- <!-- @eve\n\n  @eve\n\n@ada -->", "ada");
    expect("a <! -- @ada -->", "ada");
    expect("a\n<!-- @eve\n\n-->\n@bob", "bob");
}

static void quotes_mention_nobody(void **state)
{
    (void)state;
    expect("> @ada\n@bob", "bob");
    expect(">@ada wrote\n>> @eve\n   > @max\n\n@bob", "bob");
    expect("> ```\n@bob", "bob");
    expect("`a\n> @ada\n@bob`", "bob");
    expect("a > @ada", "ada");
    expect("-> @ada", "ada");
}

static void a_name_counts_once_and_not_if_it_is_too_long(void **state)
{
    (void)state;
    char text[400] = "@";
    expect("@ada @bob @ada", "ada bob");
    memset(text + 1, 'x', 128);
    expect(text, text + 1);
    text[129] = 'x';
    expect(text, "");
    strcpy(text + 130, " @ada");
    expect(text, "ada");
}

static void more_than_the_most_are_left_out(void **state)
{
    (void)state;
    struct str names[3];
    assert_int_equal(mentions_find(STR("@a @b @a @c @d"), names, 3), 3);
    assert_true(str_eq(names[2], STR("c")));
    assert_int_equal(mentions_find(STR("@a"), names, 0), 0);
}

static void the_largest_text_of_mentions_is_read_once(void **state)
{
    (void)state;
    struct str names[MENTIONS_MAX], name;
    struct mentions mentions;
    size_t n = 0;
    char *text = malloc(MESSAGE_TEXT_MAX_BYTES);
    assert_non_null(text);
    for (size_t i = 0; i < MESSAGE_TEXT_MAX_BYTES; i++)
        text[i] = "@a "[i % 3];
    mentions_begin(&mentions, (struct str){text, MESSAGE_TEXT_MAX_BYTES});
    while (mentions_next(&mentions, &name))
        n++;
    assert_int_equal(n, MESSAGE_TEXT_MAX_BYTES / 3);
    assert_int_equal(mentions_find((struct str){text, MESSAGE_TEXT_MAX_BYTES}, names, MENTIONS_MAX),
                     1);
    /* Runs of backticks of all lengths, none of which closes another. */
    for (size_t at = 0, run = 1; at < MESSAGE_TEXT_MAX_BYTES; run++)
        for (size_t i = 0; i <= run && at < MESSAGE_TEXT_MAX_BYTES; i++, at++)
            text[at] = i < run ? '`' : ' ';
    memcpy(text + MESSAGE_TEXT_MAX_BYTES - 3, " @b", 3);
    assert_int_equal(mentions_find((struct str){text, MESSAGE_TEXT_MAX_BYTES}, names, MENTIONS_MAX),
                     1);
    static const char *const many[] = {"<!-- ",  "<!-- -->", "- ",         "- <!--\n", "- ```\n ",
                                       "- \n\n", "  - a\n",  "<!---->`\n", "-->",      "    a\n"};
    for (size_t k = 0; k < sizeof many / sizeof many[0]; k++) {
        for (size_t i = 0; i < MESSAGE_TEXT_MAX_BYTES; i++)
            text[i] = many[k][i % strlen(many[k])];
        assert_int_equal(
            mentions_find((struct str){text, MESSAGE_TEXT_MAX_BYTES}, names, MENTIONS_MAX), 0);
    }
    memset(text, '.', MESSAGE_TEXT_MAX_BYTES);
    text[0] = '@';
    text[1] = 'a';
    assert_int_equal(mentions_find((struct str){text, MESSAGE_TEXT_MAX_BYTES}, names, MENTIONS_MAX),
                     1);
    free(text);
}

static void ids_have_one_form(void **state)
{
    (void)state;
    assert_true(message_is_id(STR("0-1")) && message_is_id(STR("1785000000000-12")));
    assert_true(message_is_id(STR("999999999999999999-999999999999999999")));
    static const char *const wrong[] = {"",
                                        "1",
                                        "-",
                                        "1-",
                                        "-1",
                                        "1-2-3",
                                        "01-1",
                                        "1-01",
                                        "+1-1",
                                        " 1-1",
                                        "1-1\n",
                                        "$",
                                        "1-1000000000000000000",
                                        "x-1",
                                        "1785000000000",
                                        NULL};
    for (const char *const *text = wrong; *text != NULL; text++)
        assert_false(message_is_id(str_of(*text)));
    assert_true(message_is_room(STR("0123456789abcdef01234567")));
    assert_false(message_is_room(STR("0123456789ABCDEF01234567")));
    assert_false(message_is_room(STR("0123456789abcdef0123456")));
    assert_false(message_is_room(STR("0123456789abcdef01234567a")));
    assert_false(message_is_room(STR("../../../../../../../../")));
}

static void ids_are_compared_as_numbers(void **state)
{
    (void)state;
    assert_int_equal(message_compare(STR("9-1"), STR("10-1")), -1);
    assert_int_equal(message_compare(STR("10-9"), STR("10-10")), -1);
    assert_int_equal(message_compare(STR("10-10"), STR("10-10")), 0);
    assert_int_equal(message_compare(STR("10-10"), STR("10-9")), 1);
    assert_int_equal(message_compare(STR(""), STR("0-1")), -1);
    assert_int_equal(message_compare(STR("0-1"), STR("")), 1);
    assert_int_equal(message_compare(STR(""), STR("")), 0);
}

static void a_message_is_one_line_of_json(void **state)
{
    (void)state;
    struct lines lines =
        lines_of(STR("1785000000007-2\nu\n\"Ada\"\n\"a\\nb\"\n[\"bob\"]\n1-1\n3\nrest"));
    struct message m = message_next(&lines);
    struct buf b;
    buf_init(&b, MESSAGE_JSON_MAX_BYTES);
    message_put(&b, &m);
    buf_terminate(&b);
    assert_string_equal(b.at, "{\"id\":\"1785000000007-2\",\"from\":\"Ada\",\"text\":\"a\\nb\","
                              "\"tagged\":[\"bob\"],\"reply_to\":\"1-1\","
                              "\"timestamp\":\"2026-07-25T17:20:00.007Z\"}");
    assert_true(m.hop == 3 && str_eq(m.kind, STR("u")) && str_eq(lines_next(&lines), STR("rest")));
    m.reply_to = STR("");
    buf_clear(&b);
    message_put(&b, &m);
    buf_terminate(&b);
    assert_non_null(strstr(b.at, "\"reply_to\":null"));
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_end_at_white_space_and_punctuation),
        cmocka_unit_test(marks_count_only_inside_a_name),
        cmocka_unit_test(letters_of_all_scripts_are_letters),
        cmocka_unit_test(mail_addresses_mention_nobody),
        cmocka_unit_test(addresses_of_pages_mention_nobody),
        cmocka_unit_test(code_spans_mention_nobody),
        cmocka_unit_test(fenced_blocks_mention_nobody),
        cmocka_unit_test(indented_code_mentions_nobody),
        cmocka_unit_test(items_of_lists_mention_whom_their_text_does),
        cmocka_unit_test(comments_mention_nobody),
        cmocka_unit_test(quotes_mention_nobody),
        cmocka_unit_test(a_name_counts_once_and_not_if_it_is_too_long),
        cmocka_unit_test(more_than_the_most_are_left_out),
        cmocka_unit_test(the_largest_text_of_mentions_is_read_once),
        cmocka_unit_test(ids_have_one_form),
        cmocka_unit_test(ids_are_compared_as_numbers),
        cmocka_unit_test(a_message_is_one_line_of_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
