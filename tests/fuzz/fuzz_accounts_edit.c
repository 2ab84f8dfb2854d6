/* SPDX-License-Identifier: MIT
 * Any bytes as an accounts file that is edited. What a change returns is a file that holds what it
 * should; a file that was refused before is not edited. The first byte chooses the account. */
#include "shared/auth/accounts_edit.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct accounts *parse(struct str text)
{
    char reason[ACCOUNTS_REASON_BYTES];
    struct accounts *accounts = NULL;
    return accounts_parse(text, reason, sizeof reason, &accounts) ? accounts : NULL;
}

static void check(bool ok, const char *reason, const struct buf *out, size_t count)
{
    if (!ok) {
        assert(reason[0] != 0 && strlen(reason) < ACCOUNTS_REASON_BYTES);
        return;
    }
    struct accounts *after = parse(buf_str(out));
    assert(after != NULL && accounts_count(after) == count);
    accounts_destroy(after);
}

static void try_all(struct str text, struct str name, size_t count)
{
    static const struct account_member added[] = {{"secret", STR("s3cret: #")},
                                                  {"role", STR("user")}};
    static const struct account_member set[] = {
        {"former_secret", STR("former")}, {"former_until", STR("2026-11-24T01:02:03Z")},
        {"max_rate", {NULL, 0}},          {"secret_hash", {NULL, 0}},
        {"former_hash", {NULL, 0}},       {"secret", STR("new")}};
    char reason[ACCOUNTS_REASON_BYTES] = "";
    struct buf out;
    buf_init(&out, ACCOUNTS_FILE_MAX_BYTES);
    check(accounts_edit_set(text, name, set, sizeof set / sizeof *set, &out, reason), reason, &out,
          count);
    buf_clear(&out);
    reason[0] = 0;
    check(accounts_edit_remove(text, name, &out, reason), reason, &out, count - 1);
    buf_clear(&out);
    reason[0] = 0;
    check(accounts_edit_add(text, STR("New_1"), added, 2, &out, reason), reason, &out, count + 1);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 4096)
        return 0;
    struct str text = {(const char *)data + 1, size - 1};
    struct accounts *accounts = parse(text);
    size_t count = accounts == NULL ? 0 : accounts_count(accounts);
    if (count == 0) {
        try_all(text, STR("A"), 0);
    } else {
        struct buf name;
        buf_init(&name, ACCOUNT_NAME_MAX_BYTES);
        buf_put(&name, accounts_at(accounts, data[0] % count)->name);
        try_all(text, buf_str(&name), count);
        buf_fini(&name);
    }
    accounts_destroy(accounts);
    return 0;
}
