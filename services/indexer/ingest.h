/* SPDX-License-Identifier: MIT
 *
 * ingest: `parley ingest`, whose options and help are in ingest_help.c.
 */
#ifndef PARLEY_INDEXER_INGEST_H
#define PARLEY_INDEXER_INGEST_H

#include "shared/base/config.h"

/* Returns the exit code. */
int ingest_run(const struct config *config);

#endif
