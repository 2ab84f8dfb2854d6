/* SPDX-License-Identifier: MIT
 *
 * accept: reads a client's preferences from Accept and Accept-Encoding (RFC 9110, section 12.5).
 * Pure, any thread; borrows.
 */
#ifndef PARLEY_HTTP_ACCEPT_H
#define PARLEY_HTTP_ACCEPT_H

#include "shared/base/str.h"

enum { ACCEPT_BEST = 1000 };

/* Returns the client's q-value, in thousandths, for `name`: a media type ("text/html") or a content
 * coding ("gzip"). The most specific range that matches `name` counts; of equally specific ones,
 * the highest q-value. Returns 0 if no range matches, or if the header is absent (`list.at ==
 * NULL`). Ranges with an invalid q-value are skipped; parameters other than q are ignored. */
unsigned accept_quality(struct str list, struct str name);

/* Returns whether a client prefers a page to JSON, as browsers do: programs name JSON, or take
 * anything. */
bool accept_prefers_page(struct str list);

/* Returns whether one of the ranges is `name` itself, whatever its q-value. */
bool accept_names(struct str list, struct str name);

#endif
