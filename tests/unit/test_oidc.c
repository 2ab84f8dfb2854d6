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
        char url[OIDC_URL_MAX_BYTES] = "untouched", reason[200] = "";
        bool ok = oidc_parse_discovery(str_of(cases[i].json), cases[i].issuer, url, reason,
                                       sizeof reason);
        assert_int_equal(ok, cases[i].url != NULL);
        assert_string_equal(url, ok ? cases[i].url : "untouched");
        assert_int_equal(reason[0] != 0, !ok);
    }
}

static void an_address_of_keys_is_of_a_limited_length(void **state)
{
    for (int n = 900; n < 1100; n++) {
        char json[1400], url[OIDC_URL_MAX_BYTES], reason[200];
        snprintf(json, sizeof json, "{\"issuer\":\"https://a\",\"jwks_uri\":\"https://%0*d\"}", n,
                 0);
        if (oidc_parse_discovery(str_of(json), "https://a", url, reason, sizeof reason))
            assert_int_equal(strlen(url), n + 8);
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
        cmocka_unit_test(an_address_of_keys_is_of_a_limited_length),
        cmocka_unit_test(settings_that_would_let_strangers_in_are_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
