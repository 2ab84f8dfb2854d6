/* SPDX-License-Identifier: MIT
 *
 * settings: which database, and its options. Read from main before threads start;
 * immutable then.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_SQL_SETTINGS_H
#define PARLEY_SERVICES_WORKFLOW_SQL_SETTINGS_H

#include "services/workflow/sql/database.h"
#include "shared/base/config.h"

struct sql_settings {
    const struct database_kind *kind;
    char *url, *password /* or NULL */, *role;
    char *place; /* what may be shown and logged */
};

/* --sql-url, --sql-password-file and --sql-role. */
extern const struct config_group sql_options;

/* NULL after one line on standard error. No database is looked at. */
struct sql_settings *sql_read_options(const struct config *config) must_check;
/* Accepts NULL. */
void sql_settings_free(struct sql_settings *settings);
/* Puts the lines of --check-config on standard output: which database, without its password. */
void sql_print(const struct sql_settings *settings);
/* The kind of database that a URL means by its scheme; NULL: none. */
const struct database_kind *sql_find_kind(const char *url) must_check;

#endif
