/* SPDX-License-Identifier: MIT
 *
 * audit: entries of the audit log (lua/audit): who deleted what, what operators did, which accounts
 * changed, which logins were refused. Entries are written after the answer, without anybody waiting
 * for them; operators' and accounts' entries are log lines too, which remain if Redis is lost in
 * that moment. An entry names accounts, routes and ids, never a secret or a text of a user. On the
 * loop's thread.
 */
#ifndef PARLEY_HTTP_AUDIT_H
#define PARLEY_HTTP_AUDIT_H

#include "shared/http/request/request.h"

enum { AUDIT_ROW_MAX_BYTES = 4096 };

/* For audit_request: the client left first, and its calls of Redis were under way. */
enum { AUDIT_UNANSWERED = 0 };
/* Notes a request whose route has an audit event, if it had an effect or may have had one: any
 * `status` below 400 or from 500 on, or AUDIT_UNANSWERED, which the entry does not show. */
void audit_request(struct request *r, int status);

/* Puts an entry for a login that was refused, for lua/auth/failure.lua. `account` is as claimed:
 * it is named only if it exists, because people type secrets there, too. */
void audit_put_refused(struct buf *row, struct request *r, struct str account);

/* Notes the accounts that differ; of more than AUDIT_ACCOUNTS_MAX changes only their number. */
enum { AUDIT_ACCOUNTS_MAX = 100 };
void audit_accounts(struct server *server, const struct accounts *before,
                    const struct accounts *after);

#endif
