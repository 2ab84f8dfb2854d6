/* SPDX-License-Identifier: MIT
 *
 * postgres_roles: checks the rights of the two roles of a connection to PostgreSQL. The *login*
 * role, of the URL, owns the schema `parley` with the ledger. The *statement* role, of --sql-role,
 * runs each statement: PostgreSQL has no authorizer, so that role must be allowed no more than
 * statements are. In the child.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_SQL_POSTGRES_ROLES_H
#define PARLEY_SERVICES_WORKFLOW_SQL_POSTGRES_ROLES_H

#include "services/workflow/sql/database.h"

struct pg_conn; /* libpq's PGconn */

/* DATABASE_REFUSED with a reason if a role may do too much, or is missing. */
enum database_opened postgres_check_roles(struct pg_conn *connection, const char *role,
                                          struct buf *reason) must_check;

#endif
