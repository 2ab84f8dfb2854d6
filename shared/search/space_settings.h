/* SPDX-License-Identifier: MIT
 *
 * space_settings: how a space's documents (an owner's, or a collection's) are stored; the document
 * service, its indexers and `parley ingest` must agree on it. Used from main before threads start.
 */
#ifndef PARLEY_SEARCH_SPACE_SETTINGS_H
#define PARLEY_SEARCH_SPACE_SETTINGS_H

#include "shared/base/config.h"

enum vectors_mode { VECTORS_AUTO, VECTORS_EXACT, VECTORS_SET, VECTORS_MODE_NR };

struct space_settings {
    enum vectors_mode vectors;
    uint64_t max_bytes; /* of all that is stored for one of them */
};

extern const struct config_group space_options;

struct space_settings space_read_options(const struct config *config);

#endif
