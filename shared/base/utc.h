/* SPDX-License-Identifier: MIT
 *
 * utc: reads times as people write them: RFC 3339, in UTC and in whole seconds. Pure; any thread.
 * buf_put_timestamp writes them.
 */
#ifndef PARLEY_BASE_UTC_H
#define PARLEY_BASE_UTC_H

#include "shared/base/str.h"

/* Reads "2026-11-24T01:02:03Z" as seconds since 1970. Returns false, with *ret_s untouched, for any
 * other text, and for times before 1970. */
bool utc_parse(struct str text, uint64_t *ret_s) must_check;

#endif
