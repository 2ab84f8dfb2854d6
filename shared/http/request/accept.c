/* SPDX-License-Identifier: MIT
 * accept.c - see accept.h. */
#include "shared/http/request/accept.h"

/* How well a range fits a name; the order is that of their weight. */
enum fit { FIT_NONE, FIT_ANY, FIT_GROUP, FIT_EXACT };

static enum fit fit_of(struct str range, struct str name)
{
    if (str_eq_nocase(range, name))
        return FIT_EXACT;
    if (str_eq(range, STR("*")) || str_eq(range, STR("*/*")))
        return FIT_ANY;
    if (range.n < 3 || range.n > name.n || range.at[range.n - 1] != '*' ||
        range.at[range.n - 2] != '/')
        return FIT_NONE;
    size_t n = range.n - 1; /* "text/" */
    return str_eq_nocase((struct str){range.at, n}, (struct str){name.at, n}) ? FIT_GROUP
                                                                              : FIT_NONE;
}

/* 0 to 1 with three digits after the point at most. */
static bool read_q(struct str s, unsigned *ret_q)
{
    if (s.n == 0 || s.n > 5 || s.at[0] < '0' || s.at[0] > '1' || (s.n > 1 && s.at[1] != '.'))
        return false;
    unsigned q = (unsigned)(s.at[0] - '0') * ACCEPT_BEST, unit = ACCEPT_BEST / 10;
    for (size_t i = 2; i < s.n; i++, unit /= 10) {
        if (s.at[i] < '0' || s.at[i] > '9')
            return false;
        q += (unsigned)(s.at[i] - '0') * unit;
    }
    *ret_q = q;
    return q <= ACCEPT_BEST;
}

/* The q among a range's parameters; ACCEPT_BEST without one. */
static bool q_of(struct str parameters, unsigned *ret_q)
{
    *ret_q = ACCEPT_BEST;
    while (parameters.at != NULL) {
        struct str value = str_trim(str_cut(&parameters, ';'));
        struct str name = str_cut(&value, '=');
        if (str_eq_nocase(str_trim(name), STR("q")))
            return value.at != NULL && read_q(str_trim(value), ret_q);
    }
    return true;
}

unsigned accept_quality(struct str list, struct str name)
{
    enum fit best_fit = FIT_NONE;
    unsigned best = 0;
    while (list.at != NULL) {
        struct str parameters = str_cut(&list, ',');
        struct str range = str_trim(str_cut(&parameters, ';'));
        enum fit fit = fit_of(range, name);
        unsigned q;
        if (fit < best_fit || fit == FIT_NONE || !q_of(parameters, &q))
            continue;
        if (fit > best_fit || q > best)
            best = q;
        best_fit = fit;
    }
    return best;
}

bool accept_names(struct str list, struct str name)
{
    while (list.at != NULL) {
        struct str parameters = str_cut(&list, ',');
        if (str_eq_nocase(str_trim(str_cut(&parameters, ';')), name))
            return true;
    }
    return false;
}

bool accept_prefers_page(struct str list)
{
    return accept_quality(list, STR("text/html")) > accept_quality(list, STR("application/json"));
}
