/* SPDX-License-Identifier: MIT
 *
 * repeats: collects faults of many items, so that each text is shown once, with the number of items
 * and the first of their names, instead of once per item. Texts and names are copied. Pure; one
 * thread at a time.
 *
 *     struct repeats faults = {.n = 0};
 *     repeats_add(&faults, "is empty", "a.txt");      // for each fault
 *     for (i = 0; i < faults.n; i++) ... faults.at[i] ...
 *     repeats_fini(&faults);
 */
#ifndef PARLEY_BASE_REPEATS_H
#define PARLEY_BASE_REPEATS_H

#include "shared/base/buf.h"

enum { REPEATS_MAX = 64, REPEAT_NAMES_MAX = 5 };

struct repeat {
    char *text;
    char *names[REPEAT_NAMES_MAX]; /* of the first items */
    size_t n;                      /* items */
};

/* In the order in which the texts came first. Zeroed: none. */
struct repeats {
    struct repeat at[REPEATS_MAX];
    size_t n;
    size_t more_n; /* items with other texts than the first REPEATS_MAX */
};

/* Returns how many items have that text now; 0: it is one of more_n. */
size_t repeats_add(struct repeats *repeats, const char *text, const char *name);
/* Puts the names from that one on: "b, c, d" or, if there are more items than names, "b, c, ...".
 */
void repeat_put_names(struct buf *b, const struct repeat *repeat, size_t from);
void repeats_fini(struct repeats *repeats);

#endif
