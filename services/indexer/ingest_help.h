/* SPDX-License-Identifier: MIT
 *
 * ingest_help: the settings of `parley ingest` and its --help page. */
#ifndef PARLEY_INDEXER_INGEST_HELP_H
#define PARLEY_INDEXER_INGEST_HELP_H

#include "shared/base/config.h"

extern const struct config_option ingest_options[];
void ingest_print_help(void);

#endif
