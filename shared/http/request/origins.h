/* SPDX-License-Identifier: MIT
 *
 * origins: the list of origins that browsers may call from (--cors-origins). Pure functions.
 */
#ifndef PARLEY_HTTP_ORIGINS_H
#define PARLEY_HTTP_ORIGINS_H

#include "shared/base/str.h"

/* Returns true if `list` is `*`, empty or a comma-separated list of origins as browsers send them:
 * `scheme://host` or `scheme://host:port` in lower case, and nothing after it. Otherwise false with
 * a human-readable reason: such an entry would never match. */
bool origins_check_list(const char *list, char *reason, size_t reason_size) must_check;

#endif
