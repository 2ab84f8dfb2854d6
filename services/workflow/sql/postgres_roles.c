/* SPDX-License-Identifier: MIT
 * postgres_roles.c - see postgres_roles.h. Each rule is a query whose first row, if it has one,
 * names what is wrong; $1 is the statement role. */
#include "services/workflow/sql/postgres_roles.h"

#include <libpq-fe.h>

/* A role has what each role has that it is a member of. */
#define OF_ROLE "pg_has_role($1::name, r.oid, 'MEMBER')"
#define OF_EITHER "(" OF_ROLE " OR pg_has_role(session_user, r.oid, 'MEMBER'))"
/* Schemas that are not people's: PostgreSQL's and our own. */
#define OWN_SCHEMA "(n.nspname ~ '^pg_' OR n.nspname IN ('information_schema', 'parley'))"

static const struct {
    const char *query, *before, *after;
} rules[] = {
    {"SELECT rolname FROM pg_roles r WHERE rolsuper AND " OF_EITHER
     " ORDER BY rolname IN ($1, session_user) DESC",
     "the role ",
     " is a superuser. Statements must run as a role that may do no more than they may"},
    {"SELECT $1::name WHERE NOT pg_has_role(session_user, $1::name, 'MEMBER')",
     "the login role is no member of ", ": GRANT it to the login role"},
    {"SELECT $1::name WHERE $1::name = session_user", "--sql-role is ",
     ", which is the login role: it must be another one"},
    {"SELECT rolname FROM pg_roles r WHERE (rolcreaterole OR rolcreatedb OR rolreplication OR "
     "rolbypassrls) AND " OF_EITHER " ORDER BY rolname IN ($1, session_user) DESC",
     "the role ", " may create roles or databases, replicate, or bypass row security"},
    {"SELECT rolname FROM pg_roles r WHERE rolname ~ '^pg_' AND rolname <> 'pg_database_owner' "
     "AND " OF_EITHER,
     "a role of the connection is a member of ", ", which reaches files, programs or other data"},
    {"SELECT current_database() WHERE has_database_privilege($1::name, current_database(), "
     "'CREATE')",
     "the statement role may create schemas in the database ", ""},
    {"SELECT nspname FROM pg_namespace n WHERE has_schema_privilege($1::name, oid, 'CREATE') AND "
     "nspname !~ '^pg_(toast_)?temp_'",
     "the statement role may create tables in the schema ", ""},
    {"SELECT relname FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE " OF_ROLE,
     "the statement role owns ", ", and so may drop it"},
    {"SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind IN "
     "('r','p','v','m','f') AND NOT " OWN_SCHEMA " AND "
     "has_table_privilege($1::name, c.oid, 'DELETE, TRUNCATE, TRIGGER')",
     "the statement role may delete, truncate or put triggers on ", ""},
    {"SELECT nspname FROM pg_namespace WHERE nspname = 'parley' AND "
     "has_schema_privilege($1::name, oid, 'USAGE')",
     "the statement role may use the schema ", ", which holds the ledger"},
    {"SELECT proname FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname = "
     "'pg_catalog' AND proname ~ '^(pg_read_|pg_ls_|pg_stat_file|lo_import|lo_export|pg_reload|"
     "pg_promote|pg_rotate)' AND has_function_privilege($1::name, p.oid, 'EXECUTE') AND "
     "NOT EXISTS (SELECT FROM aclexplode(coalesce(proacl, acldefault('f', proowner))) "
     "WHERE grantee = 0)",
     "the statement role may call ", ""},
};

static enum database_opened refuse(struct buf *reason, const char *before, const char *name,
                                   const char *after)
{
    buf_lit(reason, "PostgreSQL: ");
    buf_put(reason, str_of(before));
    buf_put(reason, str_of(name));
    buf_put(reason, str_of(after));
    buf_lit(reason, " (see docs/operations/workflow-database.md).");
    return DATABASE_REFUSED;
}

enum database_opened postgres_check_roles(PGconn *connection, const char *role, struct buf *reason)
{
    enum database_opened opened = DATABASE_OPEN;
    PGresult *found = PQexecParams(connection, "SELECT 1 FROM pg_roles WHERE rolname = $1::name", 1,
                                   NULL, &role, NULL, NULL, 0);
    if (PQresultStatus(found) == PGRES_TUPLES_OK && PQntuples(found) == 0)
        opened = refuse(reason, "there is no role ", role, " for statements to run as");
    PQclear(found);
    for (size_t i = 0; opened == DATABASE_OPEN && i < sizeof rules / sizeof *rules; i++) {
        found = PQexecParams(connection, rules[i].query, 1, NULL, &role, NULL, NULL, 0);
        if (PQresultStatus(found) != PGRES_TUPLES_OK) {
            database_put_message(reason, "PostgreSQL: the roles cannot be checked",
                                 PQresultErrorMessage(found));
            opened = PQstatus(connection) == CONNECTION_OK ? DATABASE_REFUSED : DATABASE_AWAY;
        } else if (PQntuples(found) > 0) {
            opened = refuse(reason, rules[i].before, PQgetvalue(found, 0, 0), rules[i].after);
        }
        PQclear(found);
    }
    return opened;
}
