/* SPDX-License-Identifier: MIT
 *
 * trust: --ca-file, for every command that calls https:// URLs or connects to Redis. One per
 * process; read by main before threads start, read-only from then on.
 */
#ifndef PARLEY_BASE_TRUST_H
#define PARLEY_BASE_TRUST_H

#include "shared/base/config.h"

extern const struct config_group trust_options;

/* Checks and keeps the setting, where a command has it; borrows from `config`. False after one line
 * on standard error. */
bool trust_read_options(const struct config *config) must_check;

/* The file whose authorities are trusted; NULL: the system's. */
const char *trust_file(void);

#endif
