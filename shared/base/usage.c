/* SPDX-License-Identifier: MIT
 * usage.c - see usage.h. */
#include "shared/base/usage.h"

#include "shared/base/nearest.h"

#include <stdio.h>

enum { LINE_MAX_BYTES = 2048 };

static bool end_line(struct buf *b, const char *command)
{
    buf_printf(b, " (see parley %s%s--help)\n", command, *command == 0 ? "" : " ");
    fprintf(stderr, "parley: %.*s", STR_ARG(buf_str(b)));
    buf_fini(b);
    return false;
}

bool usage_unknown(const char *command, const char *what, const char *prefix, struct str given,
                   struct str meant)
{
    struct buf b;
    buf_init(&b, LINE_MAX_BYTES);
    buf_printf(&b, "unknown %s ", what);
    buf_put_typed(&b, prefix, given);
    buf_put_nearest(&b, prefix, meant);
    return end_line(&b, command);
}

void buf_put_words(struct buf *b, const char *words)
{
    struct str rest = str_of(words);
    for (bool is_first = true; rest.at != NULL; is_first = false) {
        struct str word = str_cut(&rest, '|');
        buf_printf(b, "%s%.*s", is_first ? "" : rest.at == NULL ? " or " : ", ", STR_ARG(word));
    }
}

bool usage_word(const char *command, const char *words, const char *given)
{
    struct buf b;
    buf_init(&b, LINE_MAX_BYTES);
    buf_printf(&b, "%s takes ", command);
    buf_put_words(&b, words);
    if (given != NULL) {
        buf_lit(&b, ", not ");
        buf_put_typed(&b, "", str_of(given));
        buf_put_nearest(&b, "", nearest_of(str_of(given), words));
    }
    return end_line(&b, command);
}

bool usage_flags_only(const char *command, const char *given)
{
    struct buf b;
    buf_init(&b, LINE_MAX_BYTES);
    buf_printf(&b, "%s takes flags only, not ", command);
    buf_put_typed(&b, "", str_of(given));
    if (*given == '-')
        buf_lit(&b, ": flags begin with two dashes");
    else
        buf_lit(&b, "; a switch takes on or off");
    return end_line(&b, command);
}
