/* SPDX-License-Identifier: MIT
 * auth_fault.c - see auth_fault.h. */
#include "shared/http/access/auth_fault.h"

#include "shared/auth/account_key.h"
#include "shared/auth/signed.h"
#include "shared/base/json_fault.h"
#include "shared/http/access/admit.h"
#include "shared/http/access/gate.h"

#include <ctype.h>
#include <openssl/sha.h>

#define HOW                                                                                        \
    "send User, Nonce and Hash in the query string (`parley sign` makes them), or "                \
    "`Authorization: Bearer` and a token of /api/login"

/* --- nothing ---------------------------------------------------------------------------------- */

static bool is_alike_there(struct request *r)
{
    static const char *const names[] = {"User", "Nonce", "Hash"};
    for (size_t i = 0; i < r->param_n; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (json_is_alike(r->params[i].name, str_of(names[k])))
                return true;
    return false;
}

/* A request without credentials where they are looked for. */
static const char *fault_of_none(struct request *r)
{
    struct str authorization = request_header(r, "authorization");
    if (authorization.n >= 6 && str_eq_nocase((struct str){authorization.at, 6}, STR("Basic ")))
        return "This route does not take `Authorization: Basic`: only /api/login does. Log in "
               "there, and send `Authorization: Bearer` and the token.";
    if (authorization.at != NULL)
        return "Authorization must be `Bearer`, a space and a token of /api/login.";
    if (request_header(r, "x-api-key").at != NULL)
        return "This route does not take x-api-key: " HOW ".";
    if (request_param(r, "token").at != NULL)
        return "`token` in the query string is for WebSockets only: send `Authorization: Bearer` "
               "and the token.";
    if (is_alike_there(r))
        return "No credentials: the parameters must be spelt User, Nonce and Hash, with capitals.";
    if (r->is_cut)
        return "No credentials before the body, which has more than 16 KiB: " HOW ".";
    return "No credentials: " HOW ".";
}

/* --- signatures ------------------------------------------------------------------------------- */

static bool is_hex(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!isxdigit((unsigned char)text.at[i]))
            return false;
    return true;
}

static const char *fault_of_hash(const struct request *r, struct str hash)
{
    bool is_sha1 = hash.n == 2 * SHA_DIGEST_LENGTH;
    if (!is_hex(hash) || (!is_sha1 && hash.n != 2 * SHA256_DIGEST_LENGTH))
        return "Hash must be 64 hex digits (SHA-256) or 40 (SHA-1).";
    if (is_sha1 && !r->server->gate->is_sha1_allowed)
        return "This node does not take SHA-1 (--auth-sha1 off): Hash must be the 64 hex digits of "
               "SHA-256.";
    return "The account or its secret is wrong. Hash must be the hex SHA-256 of "
           "\"<User> <Nonce> <secret>\", with one space between them. An account with a hashed "
           "secret cannot sign: it logs in at /api/login.";
}

const char *auth_fault_of_signed(struct request *r, const struct auth_signed *given)
{
    if (given->user.at == NULL && given->nonce.at == NULL && given->hash.at == NULL)
        return fault_of_none(r);
    if (given->user.at == NULL)
        return "The signature is not complete: User, the account that signs, is missing.";
    if (given->nonce.at == NULL)
        return "The signature is not complete: Nonce is missing.";
    if (given->hash.at == NULL)
        return "The signature is not complete: Hash is missing.";
    if (given->user.n == 0 || given->user.n > ACCOUNT_NAME_MAX_BYTES)
        return "User must be the name of an account, 1 to 128 bytes.";
    if (given->nonce.n == 0 || given->nonce.n > SIGNED_NONCE_MAX_BYTES)
        return "Nonce must be 1 to 128 bytes.";
    return fault_of_hash(r, given->hash);
}

/* --- the others ------------------------------------------------------------------------------- */

const char *auth_fault_of_token(struct str token)
{
    unsigned dot_n = 0;
    for (size_t i = 0; i < token.n; i++)
        dot_n += token.at[i] == '.';
    if (token.n == 0)
        return "Authorization has no token after `Bearer`: get one from /api/login.";
    if (dot_n != 2)
        return "This is not a token: a token has three parts with dots between them. Get one from "
               "/api/login.";
    return "The token is not valid here: it was changed, or somebody else issued it. Get one from "
           "/api/login.";
}

const char *auth_fault_of_key(struct str key)
{
    if (account_key_is(key))
        return "This key is not valid here: it was revoked, its account has another secret, or it "
               "was not copied whole. `parley account key` prints the valid one.";
    if (key.n == 0 || memchr(key.at, ':', key.n) == NULL)
        return "x-api-key must be a key (sk-...), a token, or the account, a colon and its secret.";
    return "The account or its secret is wrong in x-api-key or after `Bearer`.";
}

const char *auth_fault_of_basic(struct str pair)
{
    if (pair.n == 0 || memchr(pair.at, ':', pair.n) == NULL)
        return "`Authorization: Basic` must be base64 of the account, a colon and its secret.";
    return "The account or its secret is wrong, or this account must sign: only one with a hashed "
           "secret sends it.";
}
