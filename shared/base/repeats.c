/* SPDX-License-Identifier: MIT
 * repeats.c - see repeats.h. */
#include "shared/base/repeats.h"

#include <stdlib.h>

size_t repeats_add(struct repeats *repeats, const char *text, const char *name)
{
    size_t i = 0;
    while (i < repeats->n && strcmp(repeats->at[i].text, text) != 0)
        i++;
    if (i == REPEATS_MAX) {
        repeats->more_n++;
        return 0;
    }
    struct repeat *repeat = &repeats->at[i];
    if (i == repeats->n) {
        *repeat = (struct repeat){.text = str_copy(str_of(text))};
        repeats->n++;
    }
    if (repeat->n < REPEAT_NAMES_MAX)
        repeat->names[repeat->n] = str_copy(str_of(name));
    return ++repeat->n;
}

void repeat_put_names(struct buf *b, const struct repeat *repeat, size_t from)
{
    size_t known = repeat->n < REPEAT_NAMES_MAX ? repeat->n : REPEAT_NAMES_MAX;
    for (size_t i = from; i < known; i++) {
        buf_put(b, i == from ? STR("") : STR(", "));
        buf_put(b, str_of(repeat->names[i]));
    }
    if (known < repeat->n)
        buf_lit(b, ", ...");
}

void repeats_fini(struct repeats *repeats)
{
    for (size_t i = 0; i < repeats->n; i++) {
        free(repeats->at[i].text);
        for (size_t k = 0; k < REPEAT_NAMES_MAX; k++)
            free(repeats->at[i].names[k]);
    }
    *repeats = (struct repeats){.n = 0};
}
