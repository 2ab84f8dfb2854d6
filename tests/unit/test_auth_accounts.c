/* SPDX-License-Identifier: MIT
 * accounts.yaml as people write it and as they break it; reloads while others read. */
#include "shared/auth/accounts.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct accounts *parse(const char *text)
{
    char reason[ACCOUNTS_REASON_BYTES] = "";
    struct accounts *accounts = NULL;
    if (!accounts_parse(str_of(text), reason, sizeof reason, &accounts))
        fail_msg("%s", reason);
    return accounts;
}

static void assert_str(struct str s, const char *expected)
{
    assert_int_equal(s.n, strlen(expected));
    assert_memory_equal(s.at, expected, s.n);
}

static void all_members_and_their_defaults_are_read(void **state)
{
    struct accounts *accounts =
        parse("# who may come in\n"
              "accounts:\n"
              "  Frontend_1:  {secret: \"s3cret\", role: frontend}\n"
              "  ann@example.org:\n"
              "    secret: 12345\n"
              "    role: user\n"
              "    weight: 2.5\n"
              "    max_waiting: 7\n"
              "    max_rate: 8\n"
              "    upload_rate: 9\n"
              "    max_nonces: 900\n"
              "    requests_per_minute: 10\n"
              "    tokens_per_day: 1000000000000\n"
              "    max_concurrent: 12\n"
              "  Inference_1: {secret: 'null', role: engine, dialect: deployed}\n"
              "  \"\\\"\xc3\xa4\": {secret: x, role: operator}\n");
    assert_int_equal(accounts_count(accounts), 4);

    const struct account *account = accounts_find(accounts, STR("Frontend_1"));
    assert_ptr_equal(account, accounts_at(accounts, 0));
    assert_str(account->name, "Frontend_1");
    assert_str(account->secret, "s3cret");
    assert_int_equal(account->role, ROLE_FRONTEND);
    assert_true(account->weight == 1);
    assert_true(str_eq(account->weight_text, STR("1")));
    assert_int_equal(account->max_waiting, 100);
    assert_int_equal(account->max_rate, ACCOUNT_MAX_RATE);
    assert_int_equal(account->upload_rate, ACCOUNT_UPLOAD_RATE);
    assert_int_equal(account->max_nonces, ACCOUNT_MAX_NONCES);
    assert_int_equal(account->requests_per_minute + account->max_concurrent, 0);
    assert_true(account->tokens_per_day == 0);
    assert_false(account->is_deployed);

    account = accounts_find(accounts, STR("ann@example.org"));
    assert_str(account->name_token, "ann%40example.org");
    assert_str(account->secret, "12345");
    assert_int_equal(account->role, ROLE_USER);
    assert_true(account->weight == 2.5);
    assert_true(str_eq(account->weight_text, STR("2.5")));
    assert_int_equal(account->max_waiting, 7);
    assert_int_equal(account->max_rate, 8);
    assert_int_equal(account->upload_rate, 9);
    assert_int_equal(account->max_nonces, 900);
    assert_int_equal(account->requests_per_minute, 10);
    assert_true(account->tokens_per_day == 1000000000000);
    assert_int_equal(account->max_concurrent, 12);

    account = accounts_find(accounts, STR("Inference_1"));
    assert_str(account->secret, "null");
    assert_int_equal(account->role, ROLE_ENGINE);
    assert_true(account->is_deployed);

    account = accounts_find(accounts, STR("\"\xc3\xa4"));
    assert_str(account->name_token, "%22%C3%A4");
    assert_str(account->name_json, "\"\\\"\xc3\xa4\"");
    assert_int_equal(account->role, ROLE_OPERATOR);
    accounts_destroy(accounts);
}

static void unknown_names_are_not_found_whatever_they_look_like(void **state)
{
    struct accounts *accounts = parse("accounts: {A: {secret: x, role: user}}");
    char longer[ACCOUNT_NAME_MAX_BYTES + 1];
    memset(longer, 'A', sizeof longer);
    assert_null(accounts_find(accounts, STR("")));
    assert_null(accounts_find(accounts, (struct str){NULL, 0}));
    assert_null(accounts_find(accounts, STR("a")));
    assert_null(accounts_find(accounts, STR("A\0")));
    assert_null(accounts_find(accounts, (struct str){longer, sizeof longer}));
    assert_non_null(accounts_find(accounts, STR("A")));
    accounts_destroy(accounts);
}

static void every_one_of_two_thousand_accounts_is_found(void **state)
{
    size_t cap = 1 << 18, n = 0;
    char *text = malloc(cap), name[32];
    n += (size_t)snprintf(text, cap, "accounts:\n");
    for (int i = 0; i < 2000; i++)
        n += (size_t)snprintf(text + n, cap - n, "  User_%d: {secret: s%d, role: user}\n", i, i);
    struct accounts *accounts = parse(text);
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "User_%d", i);
        const struct account *account = accounts_find(accounts, str_of(name));
        assert_non_null(account);
        assert_str(account->name, name);
        snprintf(name, sizeof name, "s%d", i);
        assert_str(account->secret, name);
    }
    assert_null(accounts_find(accounts, STR("User_2000")));
    accounts_destroy(accounts);
    free(text);
}

static void an_alias_shares_members_and_is_no_second_secret(void **state)
{
    struct accounts *accounts =
        parse("accounts:\n  A: &same {secret: x, role: user}\n  B: *same\n");
    assert_str(accounts_find(accounts, STR("B"))->secret, "x");
    accounts_destroy(accounts);
}

struct broken {
    const char *text, *reason;
};

#define IN_A(members) "accounts:\n  A: {secret: topsecret, " members "}\n"
static const struct broken broken[] = {
    {"", "the file is empty"},
    {"# only this\n", "the file is empty"},
    {"accounts:\n", "line 1: the file lists no account"},
    {"accounts: {}\n", "line 1: the file lists no account"},
    {"{}\n", "line 1: the file lists no account"},
    {"- A\n", "line 1: expected 'accounts:' followed by the accounts"},
    {"topsecret\n", "line 1: expected 'accounts:' followed by the accounts"},
    {"accounts:\n  - A\n",
     "line 2: expected accounts of the form 'Name: {secret: ..., role: ...}'"},
    {"accounts: {A: {secret: x, role: user}}\naccounts: {B: {secret: x, role: user}}\n",
     "line 2: a second 'accounts'"},
    {"\nacounts: {A: {secret: x, role: user}}\n",
     "line 2: unknown member 'acounts': did you mean accounts?"},
    {"accounts: {A: {secret: x, role: user}}\n---\naccounts: {}\n",
     "line 2: a second YAML document"},
    {"accounts:\n  A: topsecret\n",
     "line 2: account 'A' is not of the form {secret: ..., role: ...}"},
    {"accounts:\n  A:\n  B: {secret: x, role: user}\n",
     "line 2: account 'A' is not of the form {secret: ..., role: ...}"},
    {"accounts:\n  A: {role: user}\n", "line 2: account 'A' has no secret"},
    {"accounts:\n  A: {secret: topsecret}\n", "line 2: account 'A' has no role"},
    {"accounts:\n  A: {}\n", "line 2: account 'A' has no secret"},
    {"accounts:\n  A:\n    role: user\n    secret:\n", "line 4: account 'A' has an empty secret"},
    {"accounts:\n  A: {secret: '', role: user}\n", "line 2: account 'A' has an empty secret"},
    {"accounts:\n  A: {secret: null, role: user}\n", "line 2: account 'A' has an empty secret"},
    {"accounts:\n  A: {secret: \"top\\0secret\", role: user}\n",
     "line 2: the secret of account 'A' contains a control character"},
    {"accounts:\n  A: {secret: [topsecret], role: user}\n",
     "line 2: 'secret' takes a single plain value"},
    {IN_A("role: topsecret"),
     "line 2: account 'A' has an unknown role: use frontend, user, engine or operator"},
    {IN_A("role: User"), "line 2: account 'A' has an unknown role 'User': did you mean user?"},
    {IN_A("role: "),
     "line 2: account 'A' has an unknown role: use frontend, user, engine or operator"},
    {IN_A("role: user, role: user"), "line 2: account 'A' has 'role' twice"},
    {IN_A("role: user, secret: topsecret"), "line 2: account 'A' has 'secret' twice"},
    {IN_A("role: user, weight: 0"), "line 2: weight takes a number from 0.01 to 1000"},
    {IN_A("role: user, weight: 1000.1"), "line 2: weight takes a number from 0.01 to 1000"},
    {IN_A("role: user, weight: .nan"), "line 2: weight takes a number from 0.01 to 1000"},
    {IN_A("role: user, weight: nan"), "line 2: weight takes a number from 0.01 to 1000"},
    {IN_A("role: user, weight: much"), "line 2: weight takes a number from 0.01 to 1000"},
    {IN_A("role: user, max_waiting: 0"),
     "line 2: max_waiting takes a whole number from 1 to 100000"},
    {IN_A("role: user, max_waiting: 100001"),
     "line 2: max_waiting takes a whole number from 1 to 100000"},
    {IN_A("role: user, max_waiting: 1.5"),
     "line 2: max_waiting takes a whole number from 1 to 100000"},
    {IN_A("role: user, max_rate: 0"), "line 2: max_rate takes a whole number from 1 to 1000000"},
    {IN_A("role: user, upload_rate: 0"), "line 2: upload_rate takes a whole number from 1 to 1000"},
    {IN_A("role: user, upload_rate: 1001"),
     "line 2: upload_rate takes a whole number from 1 to 1000"},
    {IN_A("role: user, max_rate: 1000001"),
     "line 2: max_rate takes a whole number from 1 to 1000000"},
    {IN_A("role: user, max_nonces: 99"),
     "line 2: max_nonces takes a whole number from 100 to 1000000000000"},
    {IN_A("role: user, max_nonces: all"),
     "line 2: max_nonces takes a whole number from 100 to 1000000000000"},
    {IN_A("role: user, max_stored: 65535"),
     "line 2: max_stored takes a whole number of bytes from 65536 to 1000000000000000"},
    {IN_A("role: user, max_stored: 1000000000000001"),
     "line 2: max_stored takes a whole number of bytes from 65536 to 1000000000000000"},
    {IN_A("role: user, max_stored_per_user: 0"),
     "line 2: max_stored_per_user takes a whole number of bytes from 4096 to 1000000000000000"},
    {IN_A("role: user, requests_per_minute: 0"),
     "line 2: requests_per_minute takes a whole number from 1 to 10000"},
    {IN_A("role: user, requests_per_minute: 10001"),
     "line 2: requests_per_minute takes a whole number from 1 to 10000"},
    {IN_A("role: user, max_concurrent: 1001"),
     "line 2: max_concurrent takes a whole number from 1 to 1000"},
    {IN_A("role: user, tokens_per_day: none"),
     "line 2: tokens_per_day takes a whole number from 1 to 1000000000000000"},
    {IN_A("role: user, dialect: topsecret"),
     "line 2: account 'A' has an unknown dialect: the only one is deployed"},
    {IN_A("role: user, max_wating: 5"),
     "line 2: unknown member 'max_wating': did you mean max_waiting?"},
    {IN_A("role: user, color: 5"),
     "line 2: unknown member 'color': use secret, "
     "secret_hash, role, weight, max_waiting, max_rate, max_nonces, "
     "max_stored, max_stored_per_user, upload_rate, requests_per_minute, tokens_per_day, "
     "max_concurrent, key_generation, dialect, namespace, "
     "former_secret, former_hash and former_until"},
    {IN_A("role: fronted"),
     "line 2: account 'A' has an unknown role 'fronted': did you mean frontend?"},
    {IN_A("role: user, ? [a] : b"),
     "line 2: unknown member: use secret, secret_hash, role, weight, "
     "max_waiting, max_rate, max_nonces, max_stored, max_stored_per_user, upload_rate, "
     "requests_per_minute, tokens_per_day, max_concurrent, key_generation, dialect, "
     "namespace, "
     "former_secret, former_hash and former_until"},
    {"accounts:\n  A: {topsecret}\n",
     "line 2: unknown member: use secret, secret_hash, role, weight, "
     "max_waiting, max_rate, max_nonces, max_stored, max_stored_per_user, upload_rate, "
     "requests_per_minute, tokens_per_day, max_concurrent, key_generation, dialect, "
     "namespace, "
     "former_secret, former_hash and former_until"},
    {"accounts:\n  A: {t0psecret: secret}\n",
     "line 2: unknown member: use secret, secret_hash, role, "
     "weight, max_waiting, max_rate, max_nonces, max_stored, max_stored_per_user, upload_rate, "
     "requests_per_minute, tokens_per_day, max_concurrent, key_generation, dialect, "
     "namespace, former_secret, former_hash and former_until"},
    {IN_A("role: user, namespace: a~b"), "line 2: the namespace of account 'A' is not 1 to 32 "
                                         "letters, digits, '-' and '_'"},
    {IN_A("role: user, namespace: ''"), "line 2: the namespace of account 'A' is not 1 to 32 "
                                        "letters, digits, '-' and '_'"},
    {IN_A("role: user, namespace: a23456789012345678901234567890123"),
     "line 2: the namespace of account 'A' is not 1 to 32 letters, digits, '-' and '_'"},
    {IN_A("namespace: acme, role: engine"), "line 2: account 'A' has a namespace, but engines and "
                                            "operators serve every namespace: remove it"},
    {"accounts:\n  A: {secret: x, role: user}\n  A: {secret: x, role: user}\n",
     "line 3: a second account 'A'"},
    {"accounts:\n  '': {secret: x, role: user}\n", "line 2: expected an account name"},
    {"accounts:\n  ~: {secret: x, role: user}\n", "line 2: expected an account name"},
    {"accounts:\n  [A]: {secret: x, role: user}\n", "line 2: expected an account name"},
    {"accounts:\n  A B: {secret: x, role: user}\n",
     "line 2: an account name contains white space, a control character or ':'"},
    {"accounts:\n  A:B: {secret: x, role: user}\n",
     "line 2: an account name contains white space, a control character or ':'"},
    {"accounts:\n  \"A\\nB\": {secret: x, role: user}\n",
     "line 2: an account name contains white space, a control character or ':'"},
    {"accounts:\n  A: *nobody\n", "line 2: found undefined alias"},
    {"accounts:\n\tA: {secret: topsecret, role: user}\n",
     "line 2: found character that cannot start any token"},
    {"accounts:\n  A: {secret: \"topsecret, role: user}\n",
     "line 3: found unexpected end of stream"},
    {"accounts:\n  A: {secret: top\xffsecret}\n", "line 2: invalid leading UTF-8 octet"},
    {"accounts:\n  A: {secret: top\x01secret}\n", "line 2: control characters are not allowed"},
};

static void a_broken_file_is_reported_with_place_and_reason_and_no_secret(void **state)
{
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char reason[ACCOUNTS_REASON_BYTES] = "";
        struct accounts *accounts = NULL;
        assert_false(accounts_parse(str_of(broken[i].text), reason, sizeof reason, &accounts));
        assert_null(accounts);
        assert_string_equal(reason, broken[i].reason);
        assert_null(strstr(reason, "topsecret"));
    }
}

static void names_of_two_namespaces_are_never_equal(void **state)
{
    struct accounts *accounts = parse("accounts:\n"
                                      "  A: {secret: x, role: frontend, namespace: acme}\n"
                                      "  B: {secret: x, role: frontend}\n"
                                      "  acme~c: {secret: x, role: user}\n"
                                      "  c: {secret: x, role: user, namespace: acme}\n");
    static const struct str texts[] = {STR("acme~c"), STR("~c"), STR("acme"), STR("other~c"),
                                       STR("acme~")};
    struct str namespace, plain;
    struct buf b;
    buf_init(&b, 256);
    namespace_put_name(&b, accounts_at(accounts, 0)->namespace, STR("a~b"));
    assert_str(buf_str(&b), "acme~a%7Eb");
    buf_clear(&b);
    namespace_put_name(&b, accounts_at(accounts, 1)->namespace, STR("acme~a~b"));
    assert_str(buf_str(&b), "acme%7Ea%7Eb");
    buf_fini(&b);
    assert_str(accounts_at(accounts, 2)->user_token, "acme%7Ec");
    assert_str(accounts_at(accounts, 3)->user_token, "acme~c");
    assert_str(accounts_at(accounts, 3)->name_token, "c");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(accounts_split_namespace(accounts, texts[i], &namespace, &plain),
                         i == 0 || i == 4);
    assert_true(accounts_split_namespace(accounts, STR("acme~a~b"), &namespace, &plain));
    assert_str(namespace, "acme");
    assert_str(plain, "a~b");
    accounts_destroy(accounts);
}

static void a_megabyte_of_brackets_is_refused_at_once(void **state)
{
    char *text = malloc(ACCOUNTS_FILE_MAX_BYTES), reason[ACCOUNTS_REASON_BYTES] = "";
    struct accounts *accounts = NULL;
    for (const char *bracket = "[{"; *bracket != 0; bracket++) {
        memset(text, *bracket, ACCOUNTS_FILE_MAX_BYTES);
        assert_false(accounts_parse((struct str){text, ACCOUNTS_FILE_MAX_BYTES}, reason,
                                    sizeof reason, &accounts));
        assert_string_equal(reason, "line 1: the nesting is too deep");
    }
    free(text);
}

static void a_bad_byte_far_down_is_found_on_its_line(void **state)
{
    enum { LINE_N = 3000 };
    char *text = malloc(LINE_N * 2 + 8), reason[ACCOUNTS_REASON_BYTES] = "";
    struct accounts *accounts = NULL;
    for (int i = 0; i < LINE_N; i++)
        memcpy(text + 2 * i, "#\n", 2);
    memcpy(text + 2 * LINE_N, "a: \xff", 5);
    assert_false(accounts_parse(str_of(text), reason, sizeof reason, &accounts));
    assert_string_equal(reason, "line 3001: invalid leading UTF-8 octet");
    free(text);
}

static void names_and_secrets_are_bounded(void **state)
{
    char text[1024], reason[ACCOUNTS_REASON_BYTES] = "";
    struct accounts *accounts = NULL;
    snprintf(text, sizeof text, "accounts: {%0128d: {secret: %0256d, role: user}}", 1, 2);
    accounts = parse(text);
    assert_int_equal(accounts_at(accounts, 0)->name.n, 128);
    assert_int_equal(accounts_at(accounts, 0)->secret.n, 256);
    accounts_destroy(accounts);
    snprintf(text, sizeof text, "accounts: {%0129d: {secret: x, role: user}}", 1);
    assert_false(accounts_parse(str_of(text), reason, sizeof reason, &accounts));
    assert_string_equal(reason, "line 1: an account name is longer than 128 bytes");
    snprintf(text, sizeof text, "accounts: {%0128d: {secret: %0257d, role: user}}", 1, 2);
    assert_false(accounts_parse(str_of(text), reason, sizeof reason, &accounts));
    assert_non_null(strstr(reason, "' is longer than 256 bytes"));
}

static void the_longest_reason_has_room_and_a_short_buffer_cuts_it(void **state)
{
    char text[1024], reason[ACCOUNTS_REASON_BYTES] = "", cut[8] = "";
    struct accounts *accounts = NULL;
    snprintf(text, sizeof text, "accounts: {%0128d: {secret: x, role: x}}", 1);
    assert_false(accounts_parse(str_of(text), reason, sizeof reason, &accounts));
    assert_non_null(strstr(reason, "engine or operator"));
    assert_false(accounts_parse(str_of(text), cut, sizeof cut, &accounts));
    assert_string_equal(cut, "line 1:");
}

/* A file of its own for each test; the caller removes it. */
static void write_file(char *path, const char *text)
{
    if (path[0] == 0) {
        strcpy(path, "/tmp/parley-accounts-XXXXXX");
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        close(fd);
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_file_that_cannot_be_read_says_so(void **state)
{
    char reason[ACCOUNTS_REASON_BYTES] = "";
    struct accounts *accounts = NULL;
    assert_false(accounts_load("/nonexistent/accounts", reason, sizeof reason, &accounts));
    assert_string_equal(reason, "the file cannot be read: No such file or directory");
    assert_false(accounts_load("/", reason, sizeof reason, &accounts));
    assert_string_equal(reason, "the file cannot be read: Is a directory");
}

static void a_file_past_its_limit_is_refused(void **state)
{
    char path[64] = "", reason[ACCOUNTS_REASON_BYTES] = "";
    struct accounts *accounts = NULL;
    size_t n = ACCOUNTS_FILE_MAX_BYTES + 1;
    char *text = malloc(n + 1);
    memset(text, '#', n);
    text[n] = 0;
    write_file(path, text);
    assert_false(accounts_load(path, reason, sizeof reason, &accounts));
    assert_string_equal(reason, "the file is larger than 1048576 bytes");
    text[n - 1] = 0;
    write_file(path, text);
    assert_false(accounts_load(path, reason, sizeof reason, &accounts));
    assert_string_equal(reason, "the file is empty");
    unlink(path);
    free(text);
}

static void a_broken_reload_keeps_the_accounts_and_says_why(void **state)
{
    char path[64] = "", reason[ACCOUNTS_REASON_BYTES] = "";
    struct account_book book;
    bool is_new;
    write_file(path, "accounts: {A: {secret: one, role: user}}");
    assert_true(account_book_init(&book, path, reason, sizeof reason));
    const struct accounts *first = account_book_current(&book);
    const struct account *held = accounts_find(first, STR("A"));

    write_file(path, "accounts: {A: {secret: two}}");
    assert_false(account_book_reload(&book, reason, sizeof reason, &is_new));
    assert_string_equal(reason, "line 1: account 'A' has no role");
    assert_ptr_equal(account_book_current(&book), first);
    assert_false(is_new);

    write_file(path, "accounts: {A: {secret: one, role: user}}");
    assert_true(account_book_reload(&book, reason, sizeof reason, &is_new));
    assert_false(is_new); /* the same bytes: no memory for another generation */
    assert_ptr_equal(account_book_current(&book), first);

    write_file(path, "accounts: {B: {secret: two, role: engine}}");
    assert_true(account_book_reload(&book, reason, sizeof reason, &is_new));
    assert_null(accounts_find(account_book_current(&book), STR("A")));
    assert_non_null(accounts_find(account_book_current(&book), STR("B")));
    assert_str(held->secret, "one"); /* a request that began before still holds it */
    unlink(path);
    account_book_fini(&book);
}

static void a_book_without_a_good_file_does_not_open(void **state)
{
    char reason[ACCOUNTS_REASON_BYTES] = "";
    struct account_book book;
    assert_false(account_book_init(&book, "/nonexistent", reason, sizeof reason));
    assert_null(account_book_current(&book));
    account_book_fini(&book);
}

struct reading {
    struct account_book *book;
    atomic_bool is_over;
};

static void *read_on(void *arg)
{
    struct reading *reading = arg;
    size_t found_n = 0;
    while (!atomic_load(&reading->is_over)) {
        const struct account *account =
            accounts_find(account_book_current(reading->book), STR("A"));
        found_n += account != NULL && account->secret.n == 3;
    }
    return found_n > 0 ? reading : NULL;
}

static void threads_read_while_another_reloads(void **state)
{
    char path[64] = "", reason[ACCOUNTS_REASON_BYTES] = "";
    struct account_book book;
    pthread_t threads[2];
    bool is_new;
    struct reading reading = {.book = &book};
    write_file(path, "accounts: {A: {secret: one, role: user}}");
    assert_true(account_book_init(&book, path, reason, sizeof reason));
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &reading), 0);
    for (int i = 0; i < 200; i++) {
        write_file(path, i % 2 ? "accounts: {A: {secret: one, role: user}}"
                               : "accounts: {A: {secret: two, role: user}}");
        assert_true(account_book_reload(&book, reason, sizeof reason, &is_new));
        assert_true(is_new);
    }
    atomic_store(&reading.is_over, true);
    for (int i = 0; i < 2; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, &reading);
    }
    unlink(path);
    account_book_fini(&book);
}

static void a_former_secret_keeps_its_right_until_it_ends(void **state)
{
    const char *text =
        "accounts: {A: {secret: two, former_secret: one, "
        "former_until: 2026-11-24T01:02:03Z, role: user}, B: {secret: b, role: user}}";
    char reason[ACCOUNTS_REASON_BYTES] = "";
    struct accounts *before, *after;
    assert_true(accounts_parse(STR("accounts: {A: {secret: one, role: user}}"), reason,
                               sizeof reason, &before));
    assert_true(accounts_parse(str_of(text), reason, sizeof reason, &after));
    const struct account *held = accounts_find(before, STR("A"));
    const struct account *now = accounts_find(after, STR("A"));
    assert_str(now->secret, "two");
    assert_str(now->former->secret, "one");
    assert_str(now->former->name, "A");
    assert_null(now->former->former);
    assert_int_equal(accounts_former_end_s(after), 1795482123);
    assert_true(account_keeps_right(after, held));
    assert_true(account_keeps_right(after, now->former));
    const struct account former = *now->former;
    accounts_drop_former(after, 1795482122);
    assert_true(account_keeps_right(after, &former));
    accounts_drop_former(after, 1795482123);
    assert_false(account_keeps_right(after, &former));
    assert_false(account_keeps_right(after, held));
    assert_true(account_keeps_right(after, now));
    assert_int_equal(accounts_former_end_s(after), 0);
    accounts_destroy(before);
    accounts_destroy(after);
}

static void assert_refused(const char *text, const char *why)
{
    char reason[ACCOUNTS_REASON_BYTES] = "";
    struct accounts *accounts;
    assert_false(accounts_parse(str_of(text), reason, sizeof reason, &accounts));
    assert_string_equal(reason, why);
}

static void half_a_former_secret_and_a_bad_hash_are_refused(void **state)
{
    assert_refused("accounts: {A: {secret: a, role: user, former_secret: b}}",
                   "line 1: account 'A' has former_secret or former_until without the other");
    assert_refused("accounts: {A: {secret: a, role: user, former_until: 2026-11-24T01:02:03Z}}",
                   "line 1: account 'A' has former_secret or former_until without the other");
    assert_refused(
        "accounts: {A: {secret: a, role: user, former_secret: b, former_until: tomorrow}}",
        "line 1: former_until takes a time in UTC, such as 2026-11-24T01:02:03Z");
    assert_refused("accounts: {A: {secret_hash: sha256, role: user}}",
                   "line 1: the secret_hash of account 'A' is not of the form that parley account "
                   "add --hashed writes");
    assert_refused("accounts: {A: {role: user}}", "line 1: account 'A' has no secret");
}

static void roles_have_names_both_ways(void **state)
{
    for (unsigned i = 0; i < ROLE_NR; i++) {
        enum role role = ROLE_NR;
        assert_true(role_parse(role_name((enum role)i), &role));
        assert_int_equal(role, i);
    }
    enum role role = ROLE_USER;
    assert_false(role_parse(STR(""), &role));
    assert_false(role_parse(STR("users"), &role));
    assert_int_equal(role, ROLE_USER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_members_and_their_defaults_are_read),
        cmocka_unit_test(unknown_names_are_not_found_whatever_they_look_like),
        cmocka_unit_test(every_one_of_two_thousand_accounts_is_found),
        cmocka_unit_test(an_alias_shares_members_and_is_no_second_secret),
        cmocka_unit_test(a_broken_file_is_reported_with_place_and_reason_and_no_secret),
        cmocka_unit_test(names_of_two_namespaces_are_never_equal),
        cmocka_unit_test(a_megabyte_of_brackets_is_refused_at_once),
        cmocka_unit_test(a_bad_byte_far_down_is_found_on_its_line),
        cmocka_unit_test(names_and_secrets_are_bounded),
        cmocka_unit_test(the_longest_reason_has_room_and_a_short_buffer_cuts_it),
        cmocka_unit_test(a_file_that_cannot_be_read_says_so),
        cmocka_unit_test(a_file_past_its_limit_is_refused),
        cmocka_unit_test(a_broken_reload_keeps_the_accounts_and_says_why),
        cmocka_unit_test(a_book_without_a_good_file_does_not_open),
        cmocka_unit_test(threads_read_while_another_reloads),
        cmocka_unit_test(a_former_secret_keeps_its_right_until_it_ends),
        cmocka_unit_test(half_a_former_secret_and_a_bad_hash_are_refused),
        cmocka_unit_test(roles_have_names_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
