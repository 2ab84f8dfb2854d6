/* SPDX-License-Identifier: MIT
 *
 * skeleton: reduces the name of a user or a bot to what it looks like. Two names have the same
 * skeleton if they differ in case only, or if people take one for the other: `lee`, `Lee`, `Iee`
 * and `l\u0435e` with a Cyrillic letter. Bots are found by their skeleton, and no two names of a
 * namespace have the same one if one of them is a bot's (ADR 51).
 *
 * It is the skeleton of Unicode's UTS 39, without regard to case. Its digest is what is stored:
 * that is equally long for each name and needs no escapes. Any thread.
 */
#ifndef PARLEY_BOTS_SKELETON_H
#define PARLEY_BOTS_SKELETON_H

#include "shared/base/str.h"

enum { SKELETON_CHARS = 24 };

/* `name` is UTF-8, as given and without its namespace. Writes hex digits and a NUL. */
void skeleton_of(struct str name, char ret_skeleton[SKELETON_CHARS + 1]);
bool skeleton_is_same(struct str a, struct str b);

#endif
