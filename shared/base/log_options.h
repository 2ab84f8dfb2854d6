/* SPDX-License-Identifier: MIT
 *
 * log_options: --log-level and --log-format, for every command that logs. Used from main before
 * threads start.
 */
#ifndef PARLEY_BASE_LOG_OPTIONS_H
#define PARLEY_BASE_LOG_OPTIONS_H

#include "shared/base/config.h"

/* For commands that run until they are stopped. */
extern const struct config_group log_options;
/* For commands that print results and log little: errors, as text. */
extern const struct config_group log_tool_options;

/* Sets up the log as either group says. */
void log_read_options(const struct config *config);

#endif
