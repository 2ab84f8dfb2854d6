/* SPDX-License-Identifier: MIT
 *
 * find: finds a text within JSON strings, as clients sent them. ASCII letters match in either case.
 * The second half of an escape is no text: the n of `\n` is not found. Takes linear time whatever
 * the texts are (Knuth, Morris and Pratt), and a string may come in parts, cut anywhere. The owner
 * has the memory. Pure functions, any thread.
 */
#ifndef PARLEY_TEXT_FIND_H
#define PARLEY_TEXT_FIND_H

#include "shared/base/str.h"

#include <stdint.h>

enum { FIND_MAX_BYTES = 2048 };

/* The wanted text. */
struct find {
    size_t n;
    uint16_t symbols[FIND_MAX_BYTES];  /* its bytes in lower case, and whether each is escaped */
    uint16_t fallback[FIND_MAX_BYTES]; /* [i]: how much of the text also ends its first i + 1 */
    bool may_begin[256];               /* bytes that a match, or an escape, may begin with */
};

/* The position in a string that is being read; zeroed at its beginning. */
struct find_place {
    size_t matched;
    bool is_escaped; /* a backslash was the last byte */
};

/* `text`: 1 to FIND_MAX_BYTES bytes of the inside of a JSON string, without half an escape. */
void find_init(struct find *find, struct str text);
/* Reads on in a string. Returns whether the text ends within `part`; the place is then useless. */
bool find_read(const struct find *find, struct find_place *place, struct str part) must_check;

#endif
