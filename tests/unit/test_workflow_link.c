/* SPDX-License-Identifier: MIT
 * test_workflow_link.c - ids of questions, names of approvers, and signed links. */
#include "services/workflow/approvals/approver.h"
#include "services/workflow/approvals/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SESSION "0123456789abcdef0123456789abcdef"

static const struct token_key token_key = {.bytes = "a key for the tests, 32 bytes..."};
static const char *const file = "accounts:\n"
                                "  Boss:  {secret: b, role: operator}\n"
                                "  Anna:  {secret: a, role: user}\n"
                                "  'Jos\xc3\xa9': {secret: j, role: user, namespace: acme}\n"
                                "  Front: {secret: f, role: frontend}\n";

static struct accounts *read_accounts(const char *text)
{
    char reason[ACCOUNTS_REASON_BYTES];
    struct accounts *accounts;
    if (!accounts_parse(str_of(text), reason, sizeof reason, &accounts))
        fail_msg("%s", reason);
    return accounts;
}

static struct question_id question_of(const char *text)
{
    struct question_id id;
    assert_true(question_id_parse(str_of(text), &id));
    return id;
}

static void make(struct buf *b, const struct accounts *accounts, const char *account,
                 const char *user, const char *question)
{
    struct link_key key;
    struct question_id id = question_of(question);
    link_key_derive(&token_key, &key);
    buf_init(b, 4096);
    link_put(b, &key, accounts_find(accounts, str_of(account)), str_of(user), &id);
    assert_false(b->is_over);
}

static enum link_state read_link(const struct accounts *accounts, struct str segment,
                                 struct link *ret_link)
{
    struct link_key key;
    link_key_derive(&token_key, &key);
    return link_read(&key, accounts, segment, ret_link);
}

static void an_id_has_one_spelling(void **state)
{
    static const char *const wrong[] = {
        "",
        SESSION,
        SESSION ".1",
        SESSION ".1.",
        SESSION "..1",
        SESSION ".0.1",
        SESSION ".01.1",
        SESSION ".1.01",
        SESSION ".1.1.",
        SESSION ".1.1.1",
        SESSION ".1.+1",
        SESSION ".1. 1",
        SESSION ".1234567890123456.1",
        SESSION ".1.1234567890123456",
        "0123456789ABCDEF0123456789abcdef.1.1",
        "123456789abcdef0123456789abcdef.1.1",
        "00123456789abcdef0123456789abcdef.1.1",
    };
    struct buf b;
    struct question_id id = question_of(SESSION ".999999999999999.0");
    assert_int_equal(id.run, 999999999999999);
    assert_int_equal(id.step, 0);
    buf_init(&b, 100);
    question_id_put(&b, &id);
    assert_true(str_eq(buf_str(&b), STR(SESSION ".999999999999999.0")));
    buf_fini(&b);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (question_id_parse(str_of(wrong[i]), &id))
            fail_msg("%s", wrong[i]);
    assert_false(question_id_parse((struct str){SESSION ".1.1\0", sizeof SESSION + 4}, &id));
}

static void check_listed(const char *listed, const char *namespace, const char *expected)
{
    struct buf b;
    buf_init(&b, 1024);
    assert_int_equal(approver_put_listed(&b, str_of(listed), str_of(namespace)), expected != NULL);
    assert_true(str_eq(buf_str(&b), str_of(expected == NULL ? "" : expected)));
    buf_fini(&b);
}

static void an_approver_is_an_account_or_a_role_of_the_runs_namespace(void **state)
{
    check_listed("Anna", "", "a.Anna");
    check_listed("Jos\xc3\xa9", "acme", "a.Jos%C3%A9");
    check_listed("role", "", "a.role");
    check_listed("role:user", "", "r.user");
    check_listed("role:user", "acme", "r.acme~user");
    check_listed("role:frontend", "acme", "r.acme~frontend");
    check_listed("role:operator", "acme", "r.operator");
    check_listed("role:boss", "", NULL);
    check_listed("role:", "", NULL);
    check_listed("", "", NULL);
}

static void owners_differ_by_account_and_by_user(void **state)
{
    static const char *const owners[][2] = {
        {"a", "b"}, {"ab", ""}, {"", "ab"}, {"a", "c"}, {"b", "b"}};
    char seen[5][40];
    for (int i = 0; i < 5; i++) {
        struct buf b;
        buf_init(&b, APPROVER_NAME_MAX_BYTES);
        approver_put_owner(&b, str_of(owners[i][0]), str_of(owners[i][1]));
        assert_int_equal(b.n, 34);
        memcpy(seen[i], b.at, b.n);
        for (int k = 0; k < i; k++)
            assert_memory_not_equal(seen[i], seen[k], 34);
        buf_fini(&b);
    }
}

static void an_approver_is_found_among_others(void **state)
{
    assert_true(approver_is_among(STR("a.x r.user o.y"), STR("r.user")));
    assert_true(approver_is_among(STR("a.x"), STR("a.x")));
    assert_false(approver_is_among(STR("a.x r.user"), STR("r.use")));
    assert_false(approver_is_among(STR("a.x r.user"), STR("")));
    assert_false(approver_is_among(STR(""), STR("")));
}

static void a_link_names_its_question_account_and_user(void **state)
{
    struct accounts *accounts = read_accounts(file);
    struct link link;
    struct buf b;
    make(&b, accounts, "Jos\xc3\xa9", "two words\n\xe2\x82\xac", SESSION ".12.3");
    for (size_t i = 0; i < b.n; i++)
        assert_non_null(memchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.",
                               b.at[i], 65));
    assert_int_equal(read_link(accounts, buf_str(&b), &link), LINK_GOOD);
    assert_true(str_eq(link.account->name, STR("Jos\xc3\xa9")));
    assert_true(str_eq((struct str){link.user, link.user_n}, STR("two words\n\xe2\x82\xac")));
    assert_true(str_eq(link.question.session, STR(SESSION)));
    assert_int_equal(link.question.run, 12);
    assert_int_equal(link.question.step, 3);
    buf_fini(&b);
    accounts_destroy(accounts);
}

static void the_longest_names_fit(void **state)
{
    char text[1024], name[ACCOUNT_NAME_MAX_BYTES + 1], user[LINK_USER_MAX_BYTES + 1];
    struct link link;
    struct buf b;
    for (int i = 0; i < ACCOUNT_NAME_MAX_BYTES; i += 2)
        memcpy(name + i, "\xc3\xa9", 2);
    name[ACCOUNT_NAME_MAX_BYTES] = 0;
    memcpy(user, name, sizeof user);
    snprintf(text, sizeof text, "accounts:\n  '%s': {secret: s, role: user}\n", name);
    struct accounts *accounts = read_accounts(text);
    make(&b, accounts, name, user, SESSION ".999999999999999.999999999999999");
    assert_true(b.n <= LINK_MAX_BYTES);
    assert_int_equal(read_link(accounts, buf_str(&b), &link), LINK_GOOD);
    assert_int_equal(link.user_n, LINK_USER_MAX_BYTES);
    buf_fini(&b);
    accounts_destroy(accounts);
}

static void links_of_two_approvers_or_two_steps_differ_and_each_is_always_the_same(void **state)
{
    struct accounts *accounts = read_accounts(file);
    static const char *const of[][3] = {
        {"Anna", "Anna", SESSION ".1.1"},  {"Boss", "Boss", SESSION ".1.1"},
        {"Anna", "Anna", SESSION ".1.2"},  {"Anna", "Anna", SESSION ".2.1"},
        {"Front", "Anna", SESSION ".1.1"}, {"Front", "Ben", SESSION ".1.1"}};
    struct buf links[6], again;
    for (int i = 0; i < 6; i++) {
        make(&links[i], accounts, of[i][0], of[i][1], of[i][2]);
        make(&again, accounts, of[i][0], of[i][1], of[i][2]);
        assert_true(str_eq(buf_str(&links[i]), buf_str(&again)));
        buf_fini(&again);
        for (int k = 0; k < i; k++)
            assert_false(str_eq(buf_str(&links[i]), buf_str(&links[k])));
    }
    for (int i = 0; i < 6; i++)
        buf_fini(&links[i]);
    accounts_destroy(accounts);
}

static void a_changed_byte_is_a_forgery(void **state)
{
    struct accounts *accounts = read_accounts(file);
    struct link link;
    struct buf b;
    make(&b, accounts, "Anna", "Anna", SESSION ".1.1");
    for (size_t i = 0; i < b.n; i++) {
        char former = b.at[i];
        b.at[i] = former == 'A' ? 'B' : 'A';
        assert_int_equal(read_link(accounts, buf_str(&b), &link), LINK_FORGED);
        b.at[i] = former;
    }
    for (size_t n = 0; n < b.n; n++)
        assert_int_equal(read_link(accounts, (struct str){b.at, n}, &link), LINK_FORGED);
    buf_put_char(&b, 'A');
    assert_int_equal(read_link(accounts, buf_str(&b), &link), LINK_FORGED);
    buf_fini(&b);
    accounts_destroy(accounts);
}

static void neither_another_cluster_nor_a_token_makes_a_link(void **state)
{
    static const struct token_key other = {.bytes = "another key for tests, 32 bytes."};
    struct accounts *accounts = read_accounts(file);
    struct link_key key;
    struct link link;
    struct buf b;
    make(&b, accounts, "Anna", "Anna", SESSION ".1.1");
    link_key_derive(&other, &key);
    assert_int_equal(link_read(&key, accounts, buf_str(&b), &link), LINK_FORGED);
    /* The key of tokens itself signs no link. */
    memcpy(key.bytes, token_key.bytes, sizeof key.bytes);
    assert_int_equal(link_read(&key, accounts, buf_str(&b), &link), LINK_FORGED);
    buf_clear(&b);
    token_issue(&b, &token_key, accounts_find(accounts, STR("Anna")), 1742864523, 1742864523, 3600);
    assert_int_equal(read_link(accounts, buf_str(&b), &link), LINK_FORGED);
    buf_fini(&b);
    accounts_destroy(accounts);
}

static void a_link_ends_with_the_right_of_its_account(void **state)
{
    static const char *const later[] = {
        "accounts:\n  Boss: {secret: b, role: operator}\n",
        "accounts:\n  Anna: {secret: other, role: user}\n",
        "accounts:\n  Anna: {secret: a, role: frontend}\n",
        "accounts:\n  Anna: {secret: a, role: user, namespace: acme}\n",
    };
    struct accounts *accounts = read_accounts(file);
    struct link link;
    struct buf b;
    make(&b, accounts, "Anna", "Anna", SESSION ".1.1");
    accounts_destroy(accounts);
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        accounts = read_accounts(later[i]);
        assert_int_equal(read_link(accounts, buf_str(&b), &link), LINK_ENDED);
        accounts_destroy(accounts);
    }
    accounts = read_accounts("accounts:\n  Anna: {secret: a, role: user, weight: 3}\n");
    assert_int_equal(read_link(accounts, buf_str(&b), &link), LINK_GOOD);
    accounts_destroy(accounts);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_has_one_spelling),
        cmocka_unit_test(an_approver_is_an_account_or_a_role_of_the_runs_namespace),
        cmocka_unit_test(an_approver_is_found_among_others),
        cmocka_unit_test(owners_differ_by_account_and_by_user),
        cmocka_unit_test(a_link_names_its_question_account_and_user),
        cmocka_unit_test(the_longest_names_fit),
        cmocka_unit_test(links_of_two_approvers_or_two_steps_differ_and_each_is_always_the_same),
        cmocka_unit_test(a_changed_byte_is_a_forgery),
        cmocka_unit_test(neither_another_cluster_nor_a_token_makes_a_link),
        cmocka_unit_test(a_link_ends_with_the_right_of_its_account),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
