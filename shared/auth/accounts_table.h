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

/* Copies `draft`, except the derived texts, which it computes. Asserts that `accounts` has no such
 * name and is not full. */
void accounts_add(struct accounts *accounts, const struct account *draft);

#endif
