/* SPDX-License-Identifier: MIT
 * origins.c - see origins.h. */
#include "shared/http/request/origins.h"

#include <stdio.h>

#define SCHEME_CHARS STR("abcdefghijklmnopqrstuvwxyz0123456789+-.")
#define HOST_CHARS STR("abcdefghijklmnopqrstuvwxyz0123456789-._:[]")

/* Returns whether it is not empty and has no other characters. */
static bool has_only(struct str s, struct str chars)
{
    for (size_t i = 0; i < s.n; i++)
        if (memchr(chars.at, s.at[i], chars.n) == NULL)
            return false;
    return s.n > 0;
}

static bool is_origin(struct str s)
{
    struct str host = s, scheme = str_cut(&host, ':');
    return has_only(scheme, SCHEME_CHARS) && str_has_prefix(host, STR("//")) &&
           has_only((struct str){host.at + 2, host.n - 2}, HOST_CHARS);
}

bool origins_check_list(const char *list, char *reason, size_t reason_size)
{
    struct str rest = str_of(list);
    if (str_eq(rest, STR("*")))
        return true;
    while (rest.n > 0) {
        struct str item = str_trim(str_cut(&rest, ','));
        if (!is_origin(item)) {
            snprintf(reason, reason_size,
                     "'%.*s' is not an origin: write it as browsers send it, such as "
                     "https://app.example or http://localhost:3000, or * alone for any",
                     STR_ARG(item));
            return false;
        }
    }
    return true;
}
