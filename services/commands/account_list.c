/* SPDX-License-Identifier: MIT
 * account_list.c - see account_list.h. */
#include "services/commands/account_list.h"

#include "shared/auth/accounts.h"
#include "shared/base/buf.h"
#include "shared/base/clock.h"
#include "shared/base/shown.h"

#include <stdio.h>

static void put_time(struct buf *b, uint64_t epoch_s)
{
    buf_put_timestamp(b, epoch_s);
    buf_put_char(b, 'Z');
}

static void put_account_json(struct buf *b, const struct account *account)
{
    buf_lit(b, "{\"account\":");
    buf_put(b, account->name_json);
    buf_lit(b, ",\"role\":");
    buf_put_json(b, role_name(account->role));
    buf_lit(b, ",\"namespace\":");
    if (account->namespace.n == 0)
        buf_lit(b, "null");
    else
        buf_put_json(b, account->namespace);
    buf_printf(b,
               ",\"weight\":%.*s,\"max_waiting\":%u,\"upload_rate\":%u,\"max_rate\":%u,\"max_"
               "nonces\":%llu",
               STR_ARG(account->weight_text), account->max_waiting, account->upload_rate,
               account->max_rate, (unsigned long long)account->max_nonces);
    buf_printf(b, ",\"max_stored\":%llu,\"max_stored_per_user\":%llu",
               (unsigned long long)account->max_stored,
               (unsigned long long)account->max_stored_per_user);
    buf_printf(b, ",\"requests_per_minute\":%u,\"tokens_per_day\":%llu,\"max_concurrent\":%u",
               account->requests_per_minute, (unsigned long long)account->tokens_per_day,
               account->max_concurrent);
    buf_printf(b, ",\"hashed\":%s,\"former_until\":", account->is_hashed ? "true" : "false");
    if (account->former == NULL) {
        buf_lit(b, "null}");
        return;
    }
    buf_put_char(b, '"');
    put_time(b, account->former_until_s);
    buf_lit(b, "\"}");
}

static void put_list_json(struct buf *b, const struct accounts *accounts)
{
    buf_lit(b, "{\"accounts\":[");
    for (size_t i = 0; i < accounts_count(accounts); i++) {
        if (i > 0)
            buf_put_char(b, ',');
        put_account_json(b, accounts_at(accounts, i));
    }
    buf_lit(b, "]}\n");
}

static void put_list(struct buf *b, const struct accounts *accounts)
{
    size_t width = sizeof "ACCOUNT" - 1;
    struct buf name; /* without what would steer a terminal */
    buf_init(&name, SIZE_MAX / 2);
    for (size_t i = 0; i < accounts_count(accounts); i++)
        if (accounts_at(accounts, i)->name.n > width)
            width = accounts_at(accounts, i)->name.n;
    buf_printf(b, "%-*s  %-8s  %-12s  %s\n", (int)width, "ACCOUNT", "ROLE", "NAMESPACE", "SECRET");
    for (size_t i = 0; i < accounts_count(accounts); i++) {
        const struct account *account = accounts_at(accounts, i);
        buf_clear(&name);
        buf_put_shown(&name, account->name);
        buf_printf(b, "%-*.*s  %-8s  %-12.*s  %s", (int)width, STR_ARG(buf_str(&name)),
                   role_name(account->role).at, STR_ARG(account->namespace),
                   account->is_hashed ? "hashed" : "plain");
        if (account->former != NULL) {
            buf_lit(b, ", the former one until ");
            put_time(b, account->former_until_s);
        }
        buf_put_char(b, '\n');
    }
    buf_fini(&name);
}

bool account_list_print(const char *path, bool as_json)
{
    char reason[ACCOUNTS_REASON_BYTES];
    struct accounts *accounts;
    struct buf out;
    if (!accounts_load(path, reason, sizeof reason, &accounts)) {
        fprintf(stderr, "parley: %s: %s\n", path, reason);
        return false;
    }
    accounts_drop_former(accounts, clock_wall_s());
    buf_init(&out, SIZE_MAX / 2);
    if (as_json)
        put_list_json(&out, accounts);
    else
        put_list(&out, accounts);
    fwrite(out.at, 1, out.n, stdout);
    buf_fini(&out);
    accounts_destroy(accounts);
    return true;
}
