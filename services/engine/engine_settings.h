/* SPDX-License-Identifier: MIT
 *
 * engine_settings: checks the engine's flags in combination (help.c has each of them). Pure, except
 * that it checks whether the corpus is a folder. Nothing is kept; texts are the config's.
 */
#ifndef PARLEY_ENGINE_ENGINE_SETTINGS_H
#define PARLEY_ENGINE_ENGINE_SETTINGS_H

#include "services/engine/link/link.h"
#include "shared/base/config.h"
#include "shared/embed/embed.h"

/* Nodes take 64 bytes of Engine, which is this with a dash and the number of a slot, at most 256.
 */
enum { ENGINE_ID_MAX_BYTES = 60 };

/* Checks what the table of flags cannot check. False after a line on standard error. */
bool engine_settings_check(const struct config *config) must_check;
/* The value of --transport, which has been checked. */
enum link_transport engine_settings_transport(const struct config *config);
/* Returns whether that can be an --engine-id. */
bool engine_settings_is_id(const char *text);
/* NULL, with the reason, when --embeddings names no embedder. `key` may be NULL. */
struct embedder *engine_settings_create_embedder(const struct config *config, const char *key,
                                                 char *reason, size_t reason_size) must_check;
/* Prints what would run, for --check-config. `models`: that polls name; NULL: any. `index_path`:
 * NULL if no index is kept. */
void engine_settings_print(const struct config *config, const char *engine_id, const char *models,
                           const char *index_path);

#endif
