/* SPDX-License-Identifier: MIT
 * utc.c - see utc.h. */
#include "shared/base/utc.h"

#include <time.h>

enum { CHARS = 20 };

bool utc_parse(struct str text, uint64_t *ret_s)
{
    static const char form[] = "0000-00-00T00:00:00Z";
    char copy[CHARS + 1];
    struct tm tm = {0};
    if (text.n != CHARS)
        return false;
    /* strptime passes over white space and takes shorter numbers. */
    for (size_t i = 0; i < CHARS; i++)
        if (form[i] == '0' ? text.at[i] < '0' || text.at[i] > '9' : text.at[i] != form[i])
            return false;
    memcpy(copy, text.at, CHARS);
    copy[CHARS] = 0;
    const char *end = strptime(copy, "%Y-%m-%dT%H:%M:%SZ", &tm);
    int day = tm.tm_mday;
    time_t time = end == NULL || *end != 0 ? -1 : timegm(&tm);
    if (time < 0 || tm.tm_mday != day) /* 31 February */
        return false;
    *ret_s = (uint64_t)time;
    return true;
}
