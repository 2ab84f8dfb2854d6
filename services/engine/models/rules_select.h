/* SPDX-License-Identifier: MIT
 *
 * rules_select: a request for rows while it becomes a SELECT, for rules_select.c and
 * rules_conditions.c. Pure.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_RULES_SELECT_H
#define PARLEY_SERVICES_ENGINE_MODELS_RULES_SELECT_H

#include "services/engine/models/rules_internal.h"

enum { RULES_SQL_MAX_BYTES = 64 << 10 };

struct rules_select {
    const struct rules_words *words; /* all borrowed */
    const json_t *tables, *columns;
    const char *table;
    size_t i; /* the word that is read next */
    size_t subject, subject_end;
    struct buf list, where;
    const char *order, *group;
    bool is_descending, is_count, is_distinct, has_limit;
    uint64_t limit;
};

/* Returns whether word `i` is that one. */
bool rules_is_one(const struct rules_select *r, size_t i, const char *word);
/* The column at word `i`, by its name or by what it usually is: "date", "name". NULL: none. */
const char *rules_column_at(const struct rules_select *r, size_t i, size_t *ret_n);

/* Each returns whether it took words at r->i. On false some may be taken; the caller sets r->i
 * back. */
bool rules_take_subject(struct rules_select *r);   /* the table, perhaps with a row of it */
bool rules_take_date(struct rules_select *r);      /* "after 2024-05-01", "in 2024" */
bool rules_take_named(struct rules_select *r);     /* "named Loop" */
bool rules_take_contains(struct rules_select *r);  /* "about knots" */
bool rules_take_reference(struct rules_select *r); /* "of pattern 3" */
bool rules_take_column(struct rules_select *r);    /* "kind is flow"; before the table: to show */

#endif
