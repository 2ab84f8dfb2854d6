/* SPDX-License-Identifier: MIT
 * approver.c - see approver.h. */
#include "services/workflow/approvals/approver.h"

#include <openssl/evp.h>
#include <stdlib.h>

enum { OWNER_BYTES = 16 };

void approver_put_account(struct buf *b, struct str account_name)
{
    buf_lit(b, "a.");
    buf_put(b, account_name);
}

void approver_put_role(struct buf *b, enum role role, struct str namespace)
{
    bool has_namespace = role == ROLE_USER || role == ROLE_FRONTEND;
    buf_lit(b, "r.");
    namespace_put_name(b, has_namespace ? namespace : STR(""), role_name(role));
}

void approver_put_owner(struct buf *b, struct str account_name, struct str user_name)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    char hex[2 * OWNER_BYTES + 1];
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (context == NULL || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1 ||
        EVP_DigestUpdate(context, account_name.at, account_name.n) != 1 ||
        EVP_DigestUpdate(context, "", 1) != 1 ||
        EVP_DigestUpdate(context, user_name.at, user_name.n) != 1 ||
        EVP_DigestFinal_ex(context, digest, NULL) != 1)
        abort();
    EVP_MD_CTX_free(context);
    str_hex(digest, OWNER_BYTES, hex);
    buf_lit(b, "o.");
    buf_put(b, str_of(hex));
}

bool approver_put_listed(struct buf *b, struct str listed, struct str namespace)
{
    static const struct str mark = STR("role:");
    enum role role;
    if (str_has_prefix(listed, mark)) {
        struct str name = {listed.at + mark.n, listed.n - mark.n};
        if (!role_parse(name, &role))
            return false;
        approver_put_role(b, role, namespace);
        return true;
    }
    if (listed.n == 0 || listed.n > ACCOUNT_NAME_MAX_BYTES)
        return false;
    buf_lit(b, "a.");
    buf_put_name(b, listed);
    return true;
}

bool approver_is_among(struct str approvers, struct str name)
{
    while (approvers.at != NULL)
        if (str_eq(str_cut(&approvers, ' '), name))
            return name.n > 0;
    return false;
}
