/* SPDX-License-Identifier: MIT
 * parts.c - the parts of the service (see bots.h): a row each. */
#include "services/bots/bots.h"

extern const struct bots_part rooms_part;    /* rooms/ */
extern const struct bots_part dispatch_part; /* dispatch/ */
extern const struct bots_part pull_part;     /* pull/ */
extern const struct bots_part evaluate_part; /* evaluate/ */

const struct bots_part *const bots_parts[] = {
    &rooms_part, &dispatch_part, &pull_part, &evaluate_part, NULL,
};
