/* SPDX-License-Identifier: MIT
 * data_version.c - see data_version.h. */
#include "shared/redis/data_version.h"

#include <stdio.h>

enum { DIGITS_MAX = 9 }; /* fewer than the id has with which records without a version begin */

unsigned data_version_parse(struct str word)
{
    uint64_t version;
    return word.n <= DIGITS_MAX && str_parse_u64(word, &version) ? (unsigned)version : 0;
}

const char *data_version_explain(char text[DATA_VERSION_TEXT_BYTES], const char *what,
                                 unsigned seen, const char *advice)
{
    char has[32] = "no data version";
    if (seen > 0)
        snprintf(has, sizeof has, "data version %u", seen);
    snprintf(text, DATA_VERSION_TEXT_BYTES,
             "%s has %s, and this Parley (%s) reads only data version %u: %s", what, has,
             PARLEY_VERSION, (unsigned)DATA_VERSION, advice);
    return text;
}
