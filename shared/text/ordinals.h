/* SPDX-License-Identifier: MIT
 *
 * ordinals: numbers whose full stop ends no sentence: "2. Rinse" at the start of a line, "am 1.
 * Januar" in German. Pure.
 */
#ifndef PARLEY_TEXT_ORDINALS_H
#define PARLEY_TEXT_ORDINALS_H

#include "shared/base/str.h"

/* Returns whether `text` ends in a number of one or two digits with a stop, and continues with
 * `rest` all the same. */
bool ordinal_ends(struct str text, struct str rest);

#endif
