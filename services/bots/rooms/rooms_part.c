/* SPDX-License-Identifier: MIT
 * rooms_part.c - rooms in the life of a node (see services/bots/bots.h). */
#include "services/bots/bots.h"

extern const struct bots_part rooms_part;
const struct bots_part rooms_part = {.event = NULL};
