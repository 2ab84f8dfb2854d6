/* SPDX-License-Identifier: MIT
 *
 * embed_options: --embeddings and the key of that model server, for every command that embeds
 * documents or compares their vectors. Used from main before threads start.
 */
#ifndef PARLEY_EMBED_EMBED_OPTIONS_H
#define PARLEY_EMBED_EMBED_OPTIONS_H

#include "shared/base/config.h"
#include "shared/embed/embed.h"

extern const struct config_group embed_options;

/* Makes the embedder, which is the caller's to destroy. NULL after one line on standard error. */
struct embedder *embed_read_options(const struct config *config) must_check;

#endif
