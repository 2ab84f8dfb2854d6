/* SPDX-License-Identifier: MIT
 * fuzz_oidc_discovery.c - any bytes as a discovery document: an address that comes out of one can
 * be fetched, and is https like its issuer. */
#include "shared/http/access/oidc.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char url[OIDC_URL_MAX_BYTES] = "untouched", reason[200];
    struct str json = {(const char *)data, size};
    if (size > OIDC_DISCOVERY_MAX_BYTES)
        return 0;
    if (!oidc_parse_discovery(json, "https://id.example", url, reason, sizeof reason)) {
        assert(strcmp(url, "untouched") == 0 && memchr(reason, 0, sizeof reason) != NULL);
        return 0;
    }
    assert(memchr(url, 0, sizeof url) != NULL && str_has_prefix(str_of(url), STR("https://")));
    for (const char *c = url; *c != 0; c++)
        assert(*c > ' ' && *c <= '~');
    return 0;
}
