/* SPDX-License-Identifier: MIT
 * extractive_rows.c - see extractive_internal.h: rows of tables, and what their cells are. */
#include "services/engine/models/extractive_internal.h"

bool extractive_begins_table(struct str row, struct str passage)
{
    const char *at = row.at, *from = str_trim(passage).at;
    while (at > from && strchr(" \n", at[-1]) != NULL)
        at--;
    return at > from && at[-1] != '|';
}

bool extractive_is_described(struct str row)
{
    unsigned n = 0, described_n = 0;
    row = statement_plain(row);
    while (row.at != NULL && row.n > 0) {
        struct str cell = str_trim(str_cut(&row, '|'));
        n += cell.n > 0;
        described_n += str_holds(cell, STR(": "));
    }
    return n > 0 && 3 * described_n >= 2 * n;
}

/* Returns whether a cell, or a head, has a term of the question. */
static bool has_term(const struct terms *terms, size_t i, struct str cell)
{
    struct terms_found found = {{0}};
    (void)terms_match(terms, cell, 1, &found);
    return found.at[i] > 0;
}

/* Returns whether the question has the two terms beside each other, the second one a number or a
 * code: "week 8". */
static bool are_key(const struct terms *terms, size_t i)
{
    const struct term_word *name = &terms->at[i].word, *value = &terms->at[i + 1].word;
    return value->is_code && !name->is_code && value->here.at == name->here.at + name->here.n + 1;
}

bool extractive_is_keyed(const struct terms *terms, struct str heads, struct str row)
{
    row = statement_plain(row);
    heads = statement_plain(heads);
    while (row.at != NULL && row.n > 0) {
        struct str cell = str_trim(str_cut(&row, '|'));
        struct str head = heads.at == NULL ? STR("") : str_trim(str_cut(&heads, '|'));
        if (extractive_is_described(cell))
            head = str_cut(&cell, ':');
        for (size_t i = 0; i + 1 < terms->own_n; i++)
            if (are_key(terms, i) && has_term(terms, i, head) && has_term(terms, i + 1, cell))
                return true;
    }
    return false;
}
