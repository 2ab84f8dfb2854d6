/* SPDX-License-Identifier: MIT
 *
 * serve: `parley serve`, whose options and help are in serve_help.c.
 */
#ifndef PARLEY_SERVICES_NODE_SERVE_H
#define PARLEY_SERVICES_NODE_SERVE_H

#include "shared/base/config.h"

/* Runs until a signal ends it. Returns the exit code. */
int serve_run(const struct config *config);

#endif
