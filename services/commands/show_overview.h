/* SPDX-License-Identifier: MIT
 *
 * show_overview: `parley show` without a word: how the whole cluster is, on a screen, and what
 * needs somebody's attention. One per process, on its main thread.
 */
#ifndef PARLEY_SERVICES_COMMANDS_SHOW_OVERVIEW_H
#define PARLEY_SERVICES_COMMANDS_SHOW_OVERVIEW_H

#include "shared/base/config.h"

/* Asks a node if --url is known, unless --redis is a flag; else Redis. Returns the exit code. */
int show_overview(const struct config *config);

#endif
