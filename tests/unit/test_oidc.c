/* SPDX-License-Identifier: MIT
 * What is believed of a provider before its first key: settings and discovery documents. */
#include "shared/http/access/oidc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void a_discovery_document_must_be_of_our_issuer(void **state)
{
    static const struct {
        const char *json, *issuer, *url; /* url == NULL: refused */
    } cases[] = {
        {"{\"issuer\":\"https://a\",\"jwks_uri\":\"https://b/k\"}", "https://a", "https://b/k"},
        {"{\"issuer\":\"https://a/\",\"jwks_uri\":\"https://b/k\"}", "https://a", NULL},
        {"{\"issuer\":\"https://a\",\"jwks_uri\":\"http://b/k\"}", "https://a", NULL},
        {"{\"issuer\":\"http://a\",\"jwks_uri\":\"http://b/k\"}", "http://a", "http://b/k"},
        {"{\"issuer\":\"http://a\",\"jwks_uri\":\"https://b/k\"}", "http://a", "https://b/k"},
        {"{\"issuer\":\"https://a\",\"jwks_uri\":\"file:///etc/passwd\"}", "https://a", NULL},
        {"{\"issuer\":\"https://a\",\"jwks_uri\":\"https://b/k\\nX: y\"}", "https://a", NULL},
        {"{\"issuer\":\"https://a\",\"jwks_uri\":\"https://b/\\u00e9\"}", "https://a", NULL},
        {"{\"issuer\":\"https://a\",\"jwks_uri\":7}", "https://a", NULL},
        {"{\"issuer\":\"https://a\"}", "https://a", NULL},
        {"{\"issuer\":[\"https://a\"],\"jwks_uri\":\"https://b/k\"}", "https://a", NULL},
        {"[]", "https://a", NULL},
        {"", "https://a", NULL},
        {"<html>", "https://a", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oidc_addresses found = {.keys = "untouched"};
        char reason[200] = "";
        bool ok = oidc_parse_discovery(str_of(cases[i].json), cases[i].issuer, &found, reason,
                                       sizeof reason);
        assert_int_equal(ok, cases[i].url != NULL);
        assert_string_equal(found.keys, ok ? cases[i].url : "untouched");
        assert_string_equal(found.authorization, "");
        assert_int_equal(reason[0] != 0, !ok);
    }
}

static void addresses_for_signing_in_are_all_there_or_none_is_used(void **state)
{
    static const struct {
        const char *more, *authorization, *token;
        bool is_in_body;
    } cases[] = {
        {"\"authorization_endpoint\":\"https://a/l?x\",\"token_endpoint\":\"https://b/t\"",
         "https://a/l?x", "https://b/t", false},
        {"\"authorization_endpoint\":\"https://a/l\"", "", "", false},
        {"\"token_endpoint\":\"https://a/t\"", "", "", false},
        {"\"authorization_endpoint\":\"https://a/l\",\"token_endpoint\":\"http://b/t\"", "", "",
         false},
        {"\"authorization_endpoint\":\"javascript:0\",\"token_endpoint\":\"https://b/t\"", "", "",
         false},
        {"\"token_endpoint_auth_methods_supported\":[\"client_secret_post\"]", "", "", true},
        {"\"token_endpoint_auth_methods_supported\":[\"client_secret_post\","
         "\"client_secret_basic\"]",
         "", "", false},
        {"\"token_endpoint_auth_methods_supported\":7", "", "", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[400], reason[200];
        struct oidc_addresses found;
        snprintf(json, sizeof json, "{\"issuer\":\"https://a\",\"jwks_uri\":\"https://a/k\",%s}",
                 cases[i].more);
        assert_true(oidc_parse_discovery(str_of(json), "https://a", &found, reason, sizeof reason));
        assert_string_equal(found.authorization, cases[i].authorization);
        assert_string_equal(found.token, cases[i].token);
        assert_int_equal(found.is_secret_in_body, cases[i].is_in_body);
    }
}

static void an_address_of_keys_is_of_a_limited_length(void **state)
{
    for (int n = 900; n < 1100; n++) {
        char json[1400], reason[200];
        struct oidc_addresses found;
        snprintf(json, sizeof json, "{\"issuer\":\"https://a\",\"jwks_uri\":\"https://%0*d\"}", n,
                 0);
        if (oidc_parse_discovery(str_of(json), "https://a", &found, reason, sizeof reason))
            assert_int_equal(strlen(found.keys), n + 8);
        else
            assert_true(n + 8 >= OIDC_URL_MAX_BYTES - 64);
    }
}

static void settings_that_would_let_strangers_in_are_wrong(void **state)
{
    static const struct {
        struct oidc_settings settings;
        const char *wrong;
    } cases[] = {
        {{0}, NULL},
        {{.audience = "x"}, NULL},
        {{.issuer = "", .jwks_url = "", .audience = ""}, NULL},
        {{.issuer = "https://a", .audience = "x"}, NULL},
        {{.jwks_url = "https://a/k", .audience = "x"}, NULL},
        {{.issuer = "https://a"}, "oidc-audience"},
        {{.jwks_url = "https://a/k", .audience = ""}, "oidc-audience"},
        {{.issuer = "http://a", .audience = "x"}, "oidc-issuer"},
        {{.issuer = "http://a", .audience = "x", .is_private_allowed = true}, NULL},
        {{.issuer = "https://a", .jwks_url = "http://a", .audience = "x"}, "oidc-jwks-url"},
        {{.issuer = "ftp://a", .audience = "x"}, "oidc-issuer"},
        {{.issuer = "https://a b", .audience = "x"}, "oidc-issuer"},
        {{.issuer = "https://a", .audience = "x", .client_id = "c", .public_url = "https://p"},
         NULL},
        {{.issuer = "https://a", .audience = "x", .client_id = "c"}, "oidc-client-id"},
        {{.issuer = "https://a",
          .jwks_url = "https://a/k",
          .audience = "x",
          .client_id = "c",
          .public_url = "https://p"},
         "oidc-client-id"},
        {{.jwks_url = "https://a/k", .audience = "x", .client_id = "c", .public_url = "https://p"},
         "oidc-client-id"},
        {{.client_id = "c", .public_url = "https://p"}, "oidc-client-id"},
        {{.issuer = "https://a", .audience = "x", .client_secret = "s"}, "oidc-client-secret-file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *reason = NULL, *wrong = oidc_check_settings(&cases[i].settings, &reason);
        if (cases[i].wrong == NULL) {
            assert_null(wrong);
        } else {
            assert_non_null(wrong);
            assert_string_equal(wrong, cases[i].wrong);
            assert_non_null(reason);
        }
    }
    assert_false(oidc_is_wanted(&cases[2].settings));
    assert_true(oidc_is_wanted(&cases[4].settings));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_discovery_document_must_be_of_our_issuer),
        cmocka_unit_test(addresses_for_signing_in_are_all_there_or_none_is_used),
        cmocka_unit_test(an_address_of_keys_is_of_a_limited_length),
        cmocka_unit_test(settings_that_would_let_strangers_in_are_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
