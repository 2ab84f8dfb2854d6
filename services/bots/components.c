/* SPDX-License-Identifier: MIT
 * components.c - the components of the service (see bots.h): a row each. */
#include "services/bots/bots.h"

extern const struct bots_component rooms_component;    /* rooms/ */
extern const struct bots_component dispatch_component; /* dispatch/ */
extern const struct bots_component pull_component;     /* pull/ */
extern const struct bots_component evaluate_component; /* evaluate/ */

const struct bots_component *const bots_components[] = {
    &rooms_component, &dispatch_component, &pull_component, &evaluate_component, NULL,
};
