/* SPDX-License-Identifier: MIT
 * Any bytes as accounts.yaml: either a reason that fits and is text, or accounts that keep what
 * accounts.h promises of them. */
#include "shared/auth/accounts.h"
#include "shared/base/buf.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct accounts *accounts, const struct account *account)
{
    struct buf name;
    buf_init(&name, ACCOUNT_NAME_MAX_BYTES);
    assert(accounts_find(accounts, account->name) == account);
    assert(account->name.n > 0 && account->name.n <= ACCOUNT_NAME_MAX_BYTES);
    assert(str_is_utf8(account->name));
    assert(memchr(account->name.at, 0, account->name.n) == NULL);
    assert(buf_put_unnamed(&name, account->name_token) && !name.is_over);
    assert(str_eq(buf_str(&name), account->name));
    assert(account->name_json.n >= account->name.n + 2 && account->name_json.at[0] == '"');
    assert(account->secret.n > 0 && account->secret.n <= ACCOUNT_SECRET_MAX_BYTES);
    assert((unsigned)account->role < ROLE_NR);
    assert(account->weight >= 0.01 && account->weight <= 1000);
    assert(account->max_stored == 0 ||
           (account->max_stored >= 65536 && account->max_stored <= ACCOUNT_STORED_MAX));
    assert(account->max_rate >= 1 && account->max_rate <= 1000000);
    assert(account->max_nonces >= 100);
    assert(account->max_waiting >= 1 && account->max_waiting <= 100000);
    buf_fini(&name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char reason[ACCOUNTS_REASON_BYTES] = "";
    struct accounts *accounts = NULL;
    if (!accounts_parse((struct str){(const char *)data, size}, reason, sizeof reason, &accounts)) {
        assert(accounts == NULL && reason[0] != 0 && strlen(reason) < sizeof reason - 1);
        assert(str_is_utf8(str_of(reason)));
        return 0;
    }
    assert(accounts_count(accounts) > 0);
    for (size_t i = 0; i < accounts_count(accounts); i++)
        check(accounts, accounts_at(accounts, i));
    accounts_destroy(accounts);
    return 0;
}
