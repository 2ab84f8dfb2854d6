/* SPDX-License-Identifier: MIT
 *
 * engine_run: `parley engine`, whose options and help are in help.c.
 */
#ifndef PARLEY_ENGINE_ENGINE_RUN_H
#define PARLEY_ENGINE_ENGINE_RUN_H

#include "shared/base/config.h"

/* Runs until a signal ends it. Returns the exit code. */
int engine_run(const struct config *config);

#endif
