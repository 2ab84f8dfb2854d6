/* SPDX-License-Identifier: MIT
 *
 * account_key: `parley account key`, the key of an account (shared/auth/account_key.h) on standard
 * output.
 */
#ifndef PARLEY_COMMANDS_ACCOUNT_KEY_H
#define PARLEY_COMMANDS_ACCOUNT_KEY_H

#include "services/commands/account_file.h"

#include "shared/base/str.h"

/* Prints the key of `name`, alone on its line or in a JSON object. With `revokes` the key's
 * generation is raised in `file` first, so that former keys end. `file` is closed by the caller.
 * Returns false after a line on standard error. */
bool account_key_print(struct account_file *file, const char *path, struct str name, bool revokes,
                       bool as_json) must_check;

#endif
