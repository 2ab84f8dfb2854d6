/* SPDX-License-Identifier: MIT
 *
 * webhook: signs a request as Standard Webhooks describes it (https://www.standardwebhooks.com,
 * version 1 with a shared secret), so that its receiver knows who sent it, and when. Pure
 * functions, any thread.
 */
#ifndef PARLEY_HTTP_WEBHOOK_H
#define PARLEY_HTTP_WEBHOOK_H

#include "shared/base/str.h"

enum { WEBHOOK_KEY_MIN_BYTES = 24, WEBHOOK_KEY_MAX_BYTES = 64, WEBHOOK_SIGNATURE_BYTES = 3 + 44 };

struct webhook_key {
    unsigned char bytes[WEBHOOK_KEY_MAX_BYTES];
    size_t n;
};

/* Reads a secret as it is handed out: "whsec_" and 24 to 64 bytes in base64. The caller wipes the
 * key. */
bool webhook_read_secret(struct str secret, struct webhook_key *ret_key) must_check;

/* Writes the value of `webhook-signature`: "v1," and the HMAC-SHA256 of "id.timestamp.body" in
 * base64, with a NUL. `id` has no full stop; `timestamp` is in seconds. */
void webhook_sign(const struct webhook_key *key, struct str id, uint64_t timestamp, struct str body,
                  char ret_signature[WEBHOOK_SIGNATURE_BYTES + 1]);

#endif
