/* SPDX-License-Identifier: MIT
 *
 * engine_apis: which models and Apis (ADR 95) polls name, by the flags --models, --model, --apis,
 * --embeddings-url and --continues. Pure; texts are the config's.
 */
#ifndef PARLEY_ENGINE_ENGINE_APIS_H
#define PARLEY_ENGINE_ENGINE_APIS_H

#include "services/engine/models/api.h"
#include "shared/base/buf.h"
#include "shared/base/config.h"

/* Checks these flags. Returns false after a line on standard error. */
bool engine_apis_check(const struct config *config) must_check;
/* The Apis that are served, as API_BIT, and a bit for --continues. */
unsigned engine_apis(const struct config *config);
/* Returns whether nodes take so many models with these Apis. */
bool engine_apis_fit(struct str models, unsigned apis) must_check;
/* Puts the parameters of polls, each with an "&" before it: none if `models` is NULL. */
void engine_apis_put(const struct config *config, const char *models, struct buf *b);

#endif
