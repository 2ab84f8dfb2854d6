/* SPDX-License-Identifier: MIT
 *
 * accounts_edit: changes the text of an accounts file and leaves the rest of it as it is: comments,
 * order, spacing. Each function reads the whole text (borrowed) and puts the changed one. The
 * result is read again before it is returned: if it does not hold exactly the accounts that it
 * should, the change is refused, so a file in an unforeseen form is never damaged. Pure functions,
 * any thread.
 *
 * They return false with a NUL-terminated reason of at most ACCOUNTS_REASON_BYTES, which repeats
 * nothing from the file except names (accounts.h); `out` is then to be thrown away.
 */
#ifndef PARLEY_AUTH_ACCOUNTS_EDIT_H
#define PARLEY_AUTH_ACCOUNTS_EDIT_H

#include "shared/auth/accounts.h"

/* A member of an account as the file calls it: "role", "secret". */
struct account_member {
    const char *name;
    struct str value; /* UTF-8; `at == NULL`: the member is removed */
};

/* Adds an account after the last one. `text` may hold no account yet, or nothing. */
bool accounts_edit_add(struct str text, struct str name, const struct account_member *members,
                       size_t member_n, struct buf *out, char *reason) must_check;
/* Sets and removes members of an account that exists. */
bool accounts_edit_set(struct str text, struct str name, const struct account_member *members,
                       size_t member_n, struct buf *out, char *reason) must_check;
/* Removes an account that exists. The last one cannot be removed. */
bool accounts_edit_remove(struct str text, struct str name, struct buf *out,
                          char *reason) must_check;

/* The reason for a name that none of them has, with the nearest one; false. */
bool accounts_explain_missing(const struct accounts *accounts, struct str name, char *reason);

#endif
