/* SPDX-License-Identifier: MIT
 *
 * config_environment: the names that settings have in the environment, and a look at those that are
 * misspelt. A variable PARLEY_* that no command takes would do nothing without a word: its owner
 * believes it is in force. So it ends a command like a misspelt flag. Used from main before threads
 * start.
 */
#ifndef PARLEY_BASE_CONFIG_ENVIRONMENT_H
#define PARLEY_BASE_CONFIG_ENVIRONMENT_H

#include "shared/base/config.h"

enum { CONFIG_ENV_NAME_MAX = 64 };

/* "lease-seconds": PARLEY_LEASE_SECONDS. */
void config_put_env_name(const struct config_option *option, char name[CONFIG_ENV_NAME_MAX]);

/* Writes one line to standard error for each variable that looks like a setting and is none, with
 * the nearest name, and returns false if there is one. `all` are the groups of all commands, each
 * any number of times, and ends with NULL: a shell may export what other commands take. Variables
 * of ./dev, the tests, Docker Compose and of Kubernetes's services may stay; one that this command
 * may have been meant by is reported. */
bool config_check_environment(const struct config *config, const struct config_group *const *all,
                              const char *command) must_check;

#endif
