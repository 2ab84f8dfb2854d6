/* SPDX-License-Identifier: MIT
 *
 * base64url: base64 with the URL-safe alphabet and without padding (RFC 4648, section 5), as used
 * by tokens and keys. Decoding is strict: each byte sequence has exactly one accepted spelling.
 * Pure functions, any thread.
 */
#ifndef PARLEY_BASE_BASE64URL_H
#define PARLEY_BASE_BASE64URL_H

#include "shared/base/str.h"

/* Writes n * 4 / 3 characters, rounded up, without a NUL, and returns how many. */
size_t base64url_encode(const unsigned char *bytes, size_t n, char *out);

/* Writes at most s.n * 3 / 4 bytes. Returns false (`out` partly written, *ret_n untouched) on
 * invalid characters, padding, an impossible length or non-zero trailing bits. */
bool base64url_decode(struct str s, unsigned char *out, size_t *ret_n) must_check;

#endif
