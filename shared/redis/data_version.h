/* SPDX-License-Identifier: MIT
 *
 * data_version: the one number of everything that Parley stores, in Redis and in backups. It is in
 * the record of each server (agreement.h) and in the first line of a backup
 * (services/backup/archive.h). A build reads data of its own version and of no other
 * (ADR 25). Pure functions, any thread.
 */
#ifndef PARLEY_REDIS_DATA_VERSION_H
#define PARLEY_REDIS_DATA_VERSION_H

#include "shared/base/str.h"

enum {
    /* Raise it with each change after which a build would misread what another one has stored. */
    DATA_VERSION = 3,
    DATA_VERSION_TEXT_BYTES = 256
};

/* Returns the data version in `word`; 0 if it has none. */
unsigned data_version_parse(struct str word);

/* Writes why data of another version (0: without one) are not read, and what to do, on one line:
 * `what` is their holder, `advice` an order. Returns `text`. */
const char *data_version_explain(char text[DATA_VERSION_TEXT_BYTES], const char *what,
                                 unsigned seen, const char *advice);

#endif
