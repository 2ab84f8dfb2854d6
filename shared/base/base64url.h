/* SPDX-License-Identifier: MIT
 *
 * base64url: base64 with the URL-safe alphabet and without padding (RFC 4648, section 5), as tokens
 * and keys are written. One spelling per run of bytes: the decoder takes no other. Pure functions,
 * any thread.
 */
#ifndef PARLEY_BASE_BASE64URL_H
#define PARLEY_BASE_BASE64URL_H

#include "shared/base/str.h"

/* Writes n * 4 / 3 characters, rounded up, without a NUL, and returns how many. */
size_t base64url_encode(const unsigned char *bytes, size_t n, char *out);

/* Writes at most s.n * 3 / 4 bytes. False (with `out` half-written, *ret_n untouched) on foreign
 * characters, padding, an impossible length and bits set behind the last byte. */
bool base64url_decode(struct str s, unsigned char *out, size_t *ret_n) must_check;

#endif
