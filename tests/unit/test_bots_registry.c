/* SPDX-License-Identifier: MIT
 * test_bots_registry.c - keys of bots, and what they may be registered with. */
#include "services/bots/registry/endpoint.h"
#include "services/bots/registry/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct token_key token_key = {.bytes = "a key for the tests, 32 bytes..."};
static const struct token_key other_token_key = {.bytes = "another key of 32 bytes........."};

static struct bot_version version(const char *name, const char *id, uint64_t generation)
{
    return (struct bot_version){str_of(name), str_of(id), generation};
}

static struct bot_keys keys_of(const struct token_key *key)
{
    struct bot_keys keys;
    bot_keys_derive(key, &keys);
    return keys;
}

static void put_key(struct buf *b, const struct bot_version *bot)
{
    struct bot_keys keys = keys_of(&token_key);
    buf_init(b, 4096);
    caller_key_put(b, &keys, bot);
    assert_false(b->is_over);
}

static void a_caller_key_says_whose_it_is(void **state)
{
    struct bot_keys keys = keys_of(&token_key);
    struct bot_version bot = version("acme~Ems_Bot.2", "0123456789abcdef", 7);
    struct caller_key key;
    struct buf b;
    put_key(&b, &bot);
    assert_true(str_has_prefix(buf_str(&b), STR("pck_")));
    assert_true(caller_key_read(&keys, buf_str(&b), &key));
    assert_true(str_eq((struct str){key.name, key.name_n}, bot.name));
    assert_memory_equal(key.id, bot.id.at, BOT_ID_CHARS);
    assert_int_equal(key.generation, 7);
    buf_fini(&b);
}

static void the_longest_name_has_a_key(void **state)
{
    char name[BOT_NAME_MAX_BYTES + 1];
    struct bot_keys keys = keys_of(&token_key);
    struct caller_key key;
    struct buf b;
    memset(name, 'n', sizeof name);
    name[BOT_NAME_MAX_BYTES] = 0;
    struct bot_version bot = version(name, "0123456789abcdef", UINT64_MAX);
    put_key(&b, &bot);
    assert_true(b.n <= CALLER_KEY_MAX_BYTES);
    assert_true(caller_key_read(&keys, buf_str(&b), &key));
    assert_int_equal(key.name_n, BOT_NAME_MAX_BYTES);
    assert_true(key.generation == UINT64_MAX);
    buf_fini(&b);
}

static void a_key_with_any_byte_changed_is_none(void **state)
{
    struct bot_keys keys = keys_of(&token_key);
    struct bot_version bot = version("Ems", "0123456789abcdef", 1);
    struct caller_key key;
    struct buf b;
    put_key(&b, &bot);
    for (size_t i = 0; i < b.n; i++)
        for (int bit = 0; bit < 8; bit++) {
            b.at[i] = (char)(b.at[i] ^ 1 << bit);
            assert_false(caller_key_read(&keys, buf_str(&b), &key));
            b.at[i] = (char)(b.at[i] ^ 1 << bit);
        }
    for (size_t n = 0; n < b.n; n++)
        assert_false(caller_key_read(&keys, (struct str){b.at, n}, &key));
    buf_put_char(&b, 'A');
    assert_false(caller_key_read(&keys, buf_str(&b), &key));
    buf_fini(&b);
}

static void no_length_of_nothing_is_a_key(void **state)
{
    struct bot_keys keys = keys_of(&token_key);
    struct caller_key key;
    char bytes[2 * CALLER_KEY_MAX_BYTES];
    for (int fill = 0; fill < 2; fill++) {
        memset(bytes, fill == 0 ? 'A' : '.', sizeof bytes);
        memcpy(bytes, "pck_", 4);
        for (size_t n = 0; n <= sizeof bytes; n++)
            assert_false(caller_key_read(&keys, (struct str){bytes, n}, &key));
    }
}

static void name_id_generation_and_cluster_make_other_keys(void **state)
{
    struct bot_keys keys = keys_of(&token_key), others = keys_of(&other_token_key);
    struct bot_version bots[] = {
        version("Ems", "0123456789abcdef", 1), version("Ems", "0123456789abcdef", 2),
        version("Ems", "0123456789abcdee", 1), version("ems", "0123456789abcdef", 1),
        version("acme~Ems", "0123456789abcdef", 1)};
    enum { N = sizeof bots / sizeof *bots };
    struct buf callers[N], secrets[N], foreign;
    struct caller_key key;
    for (size_t i = 0; i < N; i++) {
        put_key(&callers[i], &bots[i]);
        buf_init(&secrets[i], 4096);
        signing_secret_put(&secrets[i], &keys, &bots[i]);
        for (size_t j = 0; j < i; j++) {
            assert_false(str_eq(buf_str(&callers[i]), buf_str(&callers[j])));
            assert_false(str_eq(buf_str(&secrets[i]), buf_str(&secrets[j])));
        }
    }
    assert_false(caller_key_read(&others, buf_str(&callers[0]), &key));
    buf_init(&foreign, 4096);
    signing_secret_put(&foreign, &others, &bots[0]);
    assert_false(str_eq(buf_str(&foreign), buf_str(&secrets[0])));
    buf_fini(&foreign);
    for (size_t i = 0; i < N; i++) {
        buf_fini(&callers[i]);
        buf_fini(&secrets[i]);
    }
}

static void the_signing_secret_is_that_of_standard_webhooks(void **state)
{
    struct bot_keys keys = keys_of(&token_key);
    struct bot_version bot = version("Ems", "0123456789abcdef", 1);
    struct webhook_key derived, read;
    struct buf b;
    buf_init(&b, 4096);
    signing_secret_put(&b, &keys, &bot);
    assert_int_equal(b.n, SIGNING_SECRET_BYTES);
    signing_key_derive(&keys, &bot, &derived);
    assert_true(webhook_read_secret(buf_str(&b), &read));
    assert_int_equal(read.n, derived.n);
    assert_memory_equal(read.bytes, derived.bytes, read.n);
    buf_fini(&b);
}

/* --- endpoints -------------------------------------------------------------------------------- */

static void public_urls_models_and_nothing_are_endpoints(void **state)
{
    static const struct {
        const char *text;
        enum endpoint_kind kind;
    } good[] = {
        {"", ENDPOINT_PULLS},
        {"parley:parley-small", ENDPOINT_MODEL},
        {"https://bots.example/hook", ENDPOINT_HTTP},
        {"http://bots.example", ENDPOINT_HTTP},
        {"HTTPS://bots.example:8443/a/b?c=d&e=%20", ENDPOINT_HTTP},
        {"https://8.8.8.8/", ENDPOINT_HTTP},
        {"https://[2606:4700::1111]:8443/", ENDPOINT_HTTP},
        {"https://mylocalhost/", ENDPOINT_HTTP},
        {"https://10.bots.example/", ENDPOINT_HTTP},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        enum endpoint_kind kind = ENDPOINT_PULLS;
        const char *fault = endpoint_check(str_of(good[i].text), false, &kind);
        if (fault != NULL)
            fail_msg("%s: %s", good[i].text, fault);
        assert_int_equal(kind, good[i].kind);
        assert_int_equal(endpoint_kind_of(str_of(good[i].text)), good[i].kind);
    }
    assert_true(str_eq(endpoint_model(STR("parley:m")), STR("m")));
}

static void a_bad_url_is_refused_wherever_it_leads(void **state)
{
    static const char *const bad[] = {
        "bots.example/hook",
        "ftp://bots.example/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http:/bots.example",
        "http://",
        "https:///hook",
        "https://?a",
        "https://user@bots.example/",
        "https://user:secret@bots.example/",
        "https://:secret@bots.example/",
        "https://bots.example/#part",
        "https://bots.example:99999/",
        "https://bots.example:a/",
        "https://bots.example/a b",
        "https://bots.example/\n",
        "https://bots.example\\@10.0.0.1/",
        "https://b\xc3\xb6ts.example/",
        "https://[::1/",
        "https://[nonsense]/",
        "parley:",
        "parley:a b",
        "parley:\x01",
        "parley:\xff",
        " ",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        enum endpoint_kind kind;
        if (endpoint_check(str_of(bad[i]), true, &kind) == NULL)
            fail_msg("%s passed", bad[i]);
    }
}

static void a_private_address_is_refused_in_every_spelling(void **state)
{
    static const char *const inside[] = {
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://127.0.0.1./",
        "http://localhost/",
        "http://LocalHost:8080/",
        "http://localhost./",
        "http://a.localhost/",
        "http://10.0.0.1/",
        "http://172.16.5.4/",
        "http://192.168.1.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://0.0.0.0/",
        "http://[::1]/",
        "http://[::]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[fe80::1]/",
        "http://[fd00::1]/",
        "http://[64:ff9b::7f00:1]/",
    };
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
        enum endpoint_kind kind = ENDPOINT_PULLS;
        if (endpoint_check(str_of(inside[i]), false, &kind) == NULL)
            fail_msg("%s passed", inside[i]);
        assert_null(endpoint_check(str_of(inside[i]), true, &kind));
        assert_int_equal(kind, ENDPOINT_HTTP);
    }
}

static void a_url_has_a_longest_length(void **state)
{
    char text[2002] = "https://bots.example/";
    enum endpoint_kind kind;
    memset(text + strlen(text), 'a', 2000 - strlen(text));
    assert_null(endpoint_check((struct str){text, 2000}, false, &kind));
    text[2000] = 'a';
    assert_non_null(endpoint_check((struct str){text, 2001}, false, &kind));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_caller_key_says_whose_it_is),
        cmocka_unit_test(the_longest_name_has_a_key),
        cmocka_unit_test(a_key_with_any_byte_changed_is_none),
        cmocka_unit_test(no_length_of_nothing_is_a_key),
        cmocka_unit_test(name_id_generation_and_cluster_make_other_keys),
        cmocka_unit_test(the_signing_secret_is_that_of_standard_webhooks),
        cmocka_unit_test(public_urls_models_and_nothing_are_endpoints),
        cmocka_unit_test(a_bad_url_is_refused_wherever_it_leads),
        cmocka_unit_test(a_private_address_is_refused_in_every_spelling),
        cmocka_unit_test(a_url_has_a_longest_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
