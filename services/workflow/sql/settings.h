/* SPDX-License-Identifier: MIT
 *
 * settings: which database, as sql.h's settings hold it. Read from main before threads start;
 * immutable then.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_SQL_SETTINGS_H
#define PARLEY_SERVICES_WORKFLOW_SQL_SETTINGS_H

#include "services/workflow/sql/database.h"

struct sql_settings {
    const struct database_kind *kind;
    char *url, *password /* or NULL */, *role;
    char *place; /* what may be shown and logged */
};

/* The kind of database that a URL means by its scheme; NULL: none. */
const struct database_kind *sql_find_kind(const char *url) must_check;

#endif
