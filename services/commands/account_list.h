/* SPDX-License-Identifier: MIT
 *
 * account_list: the accounts of an accounts file on standard output, without their secrets.
 */
#ifndef PARLEY_SERVICES_COMMANDS_ACCOUNT_LIST_H
#define PARLEY_SERVICES_COMMANDS_ACCOUNT_LIST_H

#include "shared/base/str.h"

/* A table, or one JSON object. Returns false after a line on standard error if the file cannot be
 * read. */
bool account_list_print(const char *path, bool as_json) must_check;

#endif
