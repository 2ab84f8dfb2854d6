/* SPDX-License-Identifier: MIT
 *
 * help: the settings of `parley engine` and its --help page. */
#ifndef PARLEY_ENGINE_HELP_H
#define PARLEY_ENGINE_HELP_H

#include "shared/base/config.h"

extern const struct config_option engine_options[];
void help_print(void);

#endif
