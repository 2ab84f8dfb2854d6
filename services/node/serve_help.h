/* SPDX-License-Identifier: MIT
 *
 * serve_help: the settings of `parley serve` as a table, and its --help page. What the table cannot
 * check, settings.c does. */
#ifndef PARLEY_SERVICES_NODE_SERVE_HELP_H
#define PARLEY_SERVICES_NODE_SERVE_HELP_H

#include "shared/base/config.h"

enum { THREADS_MAX = 64 };

extern const struct config_option serve_options[];

/* To standard output. */
void serve_print_help(void);

#endif
