/* SPDX-License-Identifier: MIT
 *
 * looks: what the name of a user or a bot looks like. Two names have the same look if they differ
 * in case only, or if people take one for the other: `lee`, `Lee`, `Iee` and `l\u0435e` with a
 * Cyrillic letter. Bots are found by their look, and no two names of a namespace look alike if one
 * of them is a bot's (ADR 51).
 *
 * The look is the skeleton of Unicode's UTS 39, without regard to case. What is stored is its
 * digest, so it is as long for each name and needs no escapes. Any thread.
 */
#ifndef PARLEY_BOTS_LOOKS_H
#define PARLEY_BOTS_LOOKS_H

#include "shared/base/str.h"

enum { LOOK_CHARS = 24 };

/* `name` is UTF-8, as given and without its namespace. Writes hex digits and a NUL. */
void looks_of(struct str name, char ret_look[LOOK_CHARS + 1]);
bool looks_same(struct str a, struct str b);

#endif
