/* SPDX-License-Identifier: MIT
 *
 * accounts_table: how accounts_read.c fills a `struct accounts`. Private to shared/auth. One
 * thread, before the accounts are shared with others.
 */
#ifndef PARLEY_AUTH_ACCOUNTS_TABLE_H
#define PARLEY_AUTH_ACCOUNTS_TABLE_H

#include "shared/auth/accounts.h"

/* Never NULL. Room for `cap` accounts. The caller destroys it with accounts_destroy. */
struct accounts *accounts_create(size_t cap);

/* Copies `draft` (of `draft->former` only the secret), except the derived texts, which it computes.
 * Asserts that `accounts` has no such name and is not full. */
void accounts_add(struct accounts *accounts, const struct account *draft);

/* Puts the file's bytes, at most one more than ACCOUNTS_FILE_MAX_BYTES. Blocks. Returns false with
 * a reason if it cannot be read. */
bool accounts_read_file(const char *path, struct buf *text, char *reason,
                        size_t reason_size) must_check;

#endif
