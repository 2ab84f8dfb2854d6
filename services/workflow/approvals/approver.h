/* SPDX-License-Identifier: MIT
 *
 * approver: who may answer a question, as names for keys (lua/workflow). `a.` and an account,
 * `r.` and a role, or `o.` and a digest of the account and user who began the run. A question lists
 * its approvers by these names; an account that asks or answers has one name of each kind. Pure
 * functions, any thread.
 *
 * `role:user` and `role:frontend` mean the accounts of the run's own namespace, because users of
 * different namespaces never meet (ADR 36). Operators and engines belong to no namespace.
 */
#ifndef PARLEY_WORKFLOW_APPROVALS_APPROVER_H
#define PARLEY_WORKFLOW_APPROVALS_APPROVER_H

#include "shared/auth/accounts.h"

/* Longest name, an account's: each byte may become three. */
enum { APPROVER_NAME_MAX_BYTES = 2 + 3 * ACCOUNT_NAME_MAX_BYTES };

/* Puts the name of one entry of `approvers` in the workflows file: an account, or `role:NAME`.
 * `namespace` is that of the account that began the run. Returns false, with nothing put, for
 * `role:` and a word that is no role, and for an account that is empty or too long. */
bool approver_put_listed(struct buf *b, struct str listed, struct str namespace) must_check;

/* The three names of who asks or answers. `account_name` and `user_name` are names as in keys
 * (buf_put_name), the latter with its namespace. */
void approver_put_account(struct buf *b, struct str account_name);
void approver_put_role(struct buf *b, enum role role, struct str namespace);
void approver_put_owner(struct buf *b, struct str account_name, struct str user_name);

/* Returns whether `name` is one of `approvers` (names, with a space between each). */
bool approver_is_among(struct str approvers, struct str name);

#endif
