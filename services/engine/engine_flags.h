/* SPDX-License-Identifier: MIT
 *
 * engine_flags: rejects values of the engine's flags, and reads those that several of its checks
 * need. Nothing is kept; texts are the config's.
 */
#ifndef PARLEY_ENGINE_ENGINE_FLAGS_H
#define PARLEY_ENGINE_ENGINE_FLAGS_H

#include "shared/base/config.h"

/* Write a line on standard error and return false. `value` is shown unless it may hold a
 * password. */
bool engine_flags_complain(const char *line);
bool engine_flags_refuse(const char *flag, const char *what, const char *value);
/* NULL: the built-in model. */
const char *engine_flags_llm_url(const struct config *config);

#endif
