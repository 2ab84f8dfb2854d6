/* SPDX-License-Identifier: MIT
 *
 * token_text: the texts that nodes sign for each other: three parts in base64url, header, payload
 * and MAC, under the cluster's key. token.h and person.h say which kinds exist. Pure functions, any
 * thread.
 *
 * Each kind has a constant header, so no text passes for one of another kind.
 */
#ifndef PARLEY_AUTH_TOKEN_TEXT_H
#define PARLEY_AUTH_TOKEN_TEXT_H

#include "shared/base/json.h"

enum {
    TOKEN_KEY_BYTES = 32,
    TOKEN_MAX_BYTES = 8 << 10,
    TOKEN_MAC_BYTES = 32, /* HMAC of SHA-256 */
    TOKEN_MAC_CHARS = 43
};

struct token_key {
    unsigned char bytes[TOKEN_KEY_BYTES];
};

/* Reads 64 hex digits of either case; otherwise returns false and leaves *ret_key untouched. */
bool token_key_parse(struct str hex, struct token_key *ret_key) must_check;

/* HMAC of `text` under the cluster's key. */
void token_text_mac(const struct token_key *key, struct str text,
                    unsigned char mac[TOKEN_MAC_BYTES]);

/* Puts a text of this kind (its header in base64url) with the payload, which is JSON. */
void token_text_put(struct buf *out, const struct token_key *key, struct str kind,
                    struct str payload);

/* Returns the payload of such a text, which the caller owns; NULL: it has another header, a wrong
 * MAC, padding or other characters, or more than TOKEN_MAX_BYTES. */
json_t *token_text_read(const struct token_key *key, struct str kind, struct str text) must_check;

/* Reads a NumericDate (RFC 7519, section 2) that is whole and not negative, small enough for sums
 * not to overflow. */
bool token_text_time(const json_t *payload, const char *name, uint64_t *ret_s) must_check;

#endif
