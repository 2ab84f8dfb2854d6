/* SPDX-License-Identifier: MIT
 * fuzz_oidc_discovery.c - any bytes as a discovery document: addresses that come out of one can be
 * used, and are https like its issuer. */
#include "shared/http/access/oidc.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *url, size_t size)
{
    assert(memchr(url, 0, size) != NULL);
    assert(*url == 0 || str_has_prefix(str_of(url), STR("https://")));
    for (const char *c = url; *c != 0; c++)
        assert(*c > ' ' && *c <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct oidc_addresses found = {.keys = "untouched"};
    char reason[200];
    struct str json = {(const char *)data, size};
    if (size > OIDC_DISCOVERY_MAX_BYTES)
        return 0;
    if (!oidc_parse_discovery(json, "https://id.example", &found, reason, sizeof reason)) {
        assert(strcmp(found.keys, "untouched") == 0 && memchr(reason, 0, sizeof reason) != NULL);
        return 0;
    }
    assert(found.keys[0] != 0 && (found.token[0] == 0) == (found.authorization[0] == 0));
    check(found.keys, sizeof found.keys);
    check(found.authorization, sizeof found.authorization);
    check(found.token, sizeof found.token);
    return 0;
}
