/* SPDX-License-Identifier: MIT
 * account_key.c - see account_key.h. */
#include "services/commands/account_key.h"

#include "shared/auth/account_key.h"
#include "shared/auth/accounts_edit.h"

#include <openssl/crypto.h>
#include <stdio.h>

static bool complain(const char *path, const char *reason)
{
    fprintf(stderr, "parley: %s: %s\n", path, reason);
    return false;
}

static bool raise_generation(struct account_file *file, const struct account *account,
                             unsigned generation, char *reason)
{
    struct buf value, text;
    struct whole_file new_file = {.fd = -1};
    buf_init(&value, 16);
    buf_init(&text, ACCOUNTS_FILE_MAX_BYTES);
    buf_put_u64(&value, generation);
    const struct account_member member = {"key_generation", buf_str(&value)};
    bool is_edited =
        accounts_edit_set(buf_str(&file->text), account->name, &member, 1, &text, reason);
    bool ok = is_edited && account_file_write(file, buf_str(&text), &new_file) &&
              account_file_commit(file, &new_file);
    if (is_edited)
        reason[0] = 0; /* whatever failed was reported */
    whole_file_leave(&new_file);
    buf_fini(&value);
    buf_fini(&text);
    return ok;
}

static void print_key(const struct account *account, bool as_json)
{
    struct buf key, out;
    buf_init(&key, ACCOUNT_KEY_MAX_BYTES);
    buf_init(&out, SIZE_MAX / 2);
    account_key_put(&key, account);
    if (as_json) {
        buf_lit(&out, "{\"account\":");
        buf_put_json(&out, account->name);
        buf_lit(&out, ",\"key\":");
        buf_put_json(&out, buf_str(&key));
        buf_printf(&out, ",\"key_generation\":%u}\n", account->key_generation);
    } else {
        buf_put(&out, buf_str(&key));
        buf_put_char(&out, '\n');
    }
    fwrite(out.at, 1, out.n, stdout);
    OPENSSL_cleanse(key.at, key.n);
    OPENSSL_cleanse(out.at, out.n);
    buf_fini(&key);
    buf_fini(&out);
}

static bool print_key_of(struct account_file *file, const struct account *found, bool revokes,
                         bool as_json, char *reason)
{
    struct account account = *found;
    if (account.is_hashed) {
        snprintf(reason, ACCOUNTS_REASON_BYTES,
                 "account '%.*s' has a hashed secret, of which no key can be made: programs send "
                 "its name, a colon and its secret instead",
                 STR_ARG(account.name));
        return false;
    }
    if (revokes && account.key_generation == ACCOUNT_KEY_GENERATION_MAX) {
        snprintf(reason, ACCOUNTS_REASON_BYTES,
                 "key_generation of account '%.*s' cannot be raised further: rotate its secret",
                 STR_ARG(account.name));
        return false;
    }
    account.key_generation += revokes;
    if (revokes && !raise_generation(file, &account, account.key_generation, reason))
        return false;
    print_key(&account, as_json);
    return true;
}

bool account_key_print(struct account_file *file, const char *path, struct str name, bool revokes,
                       bool as_json)
{
    char reason[ACCOUNTS_REASON_BYTES] = "";
    struct accounts *accounts;
    if (!account_file_open(file, path, false))
        return false;
    if (!accounts_parse(buf_str(&file->text), reason, sizeof reason, &accounts))
        return complain(path, reason);
    const struct account *found = accounts_find(accounts, name);
    bool ok = found != NULL ? print_key_of(file, found, revokes, as_json, reason)
                            : accounts_explain_missing(accounts, name, reason);
    accounts_destroy(accounts);
    return ok || (reason[0] != 0 && complain(path, reason));
}
