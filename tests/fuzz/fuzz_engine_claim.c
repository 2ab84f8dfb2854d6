/* SPDX-License-Identifier: MIT
 * fuzz_engine_claim.c - replies of nodes: whatever is rescued of a claim that cannot be read has a
 * topic and a lease, and a claim that can be read is the same one. */
#include "services/engine/slots/claim.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct claim claim;
    char reason[160];
    json_t *json;
    for (int is_next = 0; is_next < 2; is_next++)
        if (claim_rescue(&claim, text, is_next)) {
            if (claim.topic.at == NULL || !json_is_string(claim.lease))
                abort();
            claim_fini(&claim);
        }
    if (!json_parse(text, reason, sizeof reason, &json))
        return 0;
    if (claim_read(&claim, json))
        claim_fini(&claim);
    json_decref(json);
    return 0;
}
