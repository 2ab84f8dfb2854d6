/* SPDX-License-Identifier: MIT
 * proof.c - see proof.h. */
#include "shared/http/access/proof.h"

#include "shared/auth/account_key.h"
#include "shared/auth/secret.h"
#include "shared/auth/signed.h"
#include "shared/base/base64url.h"
#include "shared/http/access/gate.h"
#include "shared/http/access/oidc.h"

#include <stdlib.h>
#include <string.h>

enum { VALUE_MAX = 1 << 10 };

/* As the query has them, `at == NULL` where it does not. */
struct signed_params {
    struct str user, nonce, hash;
};

static void keep_first(struct str *kept, struct str value)
{
    if (kept->at == NULL)
        *kept = value.at == NULL ? STR("") : value;
}

static struct signed_params read_params(struct str query)
{
    struct signed_params found = {.user = {NULL, 0}};
    while (query.at != NULL) {
        struct str value = str_cut(&query, '&');
        struct str name = str_cut(&value, '=');
        if (str_eq(name, STR("User")))
            keep_first(&found.user, value);
        else if (str_eq(name, STR("Nonce")))
            keep_first(&found.nonce, value);
        else if (str_eq(name, STR("Hash")))
            keep_first(&found.hash, value);
    }
    return found;
}

/* Where it has to be decoded, into `b`, which must outlive the result. `at == NULL` when it is not
 * there, not decodable, or longer than all that may be signed. */
static struct str decode(struct buf *b, struct str raw, bool plus_is_space)
{
    if (raw.n > VALUE_MAX)
        return (struct str){NULL, 0};
    if (raw.n == 0 || (memchr(raw.at, '%', raw.n) == NULL &&
                       (!plus_is_space || memchr(raw.at, '+', raw.n) == NULL)))
        return raw;
    buf_clear(b);
    return buf_put_url_decoded(b, raw, plus_is_space) ? buf_str(b) : (struct str){NULL, 0};
}

static bool may_use(const struct route *route, enum role role)
{
    return (route->roles & 1u << role) != 0;
}

static const struct account *find_account(struct server *server, struct str name)
{
    return accounts_find(gate_accounts(server->gate), name);
}

static bool is_good_token(struct server *server, const struct route *route, struct str token)
{
    const struct account *account;
    struct jwt_claims provided;
    struct person person;
    uint64_t expires_s;
    if (person_is_token(token)) {
        bool is_theirs = server->gate->has_token_key &&
                         gate_check_person(server->gate, token, &person) == ERR_OK;
        if (is_theirs)
            person_fini(&person);
        return is_theirs && may_use(route, ROLE_USER);
    }
    if (token_is_ours(token) || server->gate->oidc == NULL)
        return server->gate->has_token_key &&
               gate_check_token(server->gate, token, &account, &expires_s) == ERR_OK &&
               may_use(route, account->role);
    if (oidc_verify(server->gate->oidc, token, &provided) != JWT_GOOD)
        return false;
    bool is_good = find_account(server, provided.sub) == NULL && may_use(route, ROLE_USER);
    jwt_claims_fini(&provided);
    return is_good;
}

const struct account *proof_of_signature(struct server *server, struct str user, struct str nonce,
                                         struct str hash, struct nonce_id *ret_nonce)
{
    const struct account *account = user.at == NULL ? NULL : find_account(server, user);
    if (signed_verify(account, user, nonce, hash, server->gate->is_sha1_allowed) != ERR_OK) {
        /* Accounts without a former secret and unknown ones take this step too: it takes time. */
        account = account == NULL ? NULL : account->former;
        if (signed_verify(account, user, nonce, hash, server->gate->is_sha1_allowed) != ERR_OK)
            return NULL;
    }
    signed_nonce_id(user, nonce, ret_nonce->bytes);
    ret_nonce->is_set = true;
    return account;
}

const struct account *proof_of_query(struct server *server, struct str query,
                                     struct nonce_id *ret_nonce)
{
    struct buf user_buf, nonce_buf, hash_buf;
    buf_init(&user_buf, VALUE_MAX);
    buf_init(&nonce_buf, VALUE_MAX);
    buf_init(&hash_buf, VALUE_MAX);
    struct signed_params raw = read_params(query);
    struct str user = decode(&user_buf, raw.user, true);
    struct str hash = decode(&hash_buf, raw.hash, true);
    struct str nonce = decode(&nonce_buf, raw.nonce, false);
    const struct account *account = proof_of_signature(server, user, nonce, hash, ret_nonce);
    if (account == NULL && nonce.n > 0 && memchr(nonce.at, '+', nonce.n)) {
        /* A client that writes its spaces as '+' and signs the space. Unknown accounts take this
         * step too: it takes time. */
        nonce = decode(&nonce_buf, raw.nonce, true);
        account = proof_of_signature(server, user, nonce, hash, ret_nonce);
    }
    buf_fini(&user_buf);
    buf_fini(&nonce_buf);
    buf_fini(&hash_buf);
    return account;
}

static bool is_good_signature(struct server *server, const struct route *route, struct str query)
{
    struct nonce_id nonce = {.is_set = false};
    const struct account *account = proof_of_query(server, query, &nonce);
    return account != NULL && may_use(route, account->role);
}

static const struct account *account_of_pair(struct server *server, struct str pair,
                                             struct str *ret_name)
{
    struct str secret = pair;
    *ret_name = str_cut(&secret, ':');
    return secret_check(find_account(server, *ret_name), secret);
}

bool is_api_key(struct str text)
{
    return account_key_is(text) || (text.n > 0 && memchr(text.at, ':', text.n) != NULL);
}

const struct account *proof_of_api_key(struct server *server, struct str key,
                                       char room[ACCOUNT_NAME_MAX_BYTES], struct str *ret_name)
{
    if (!account_key_is(key))
        return account_of_pair(server, key, ret_name);
    account_key_name(key, room, ret_name);
    return account_key_check(find_account(server, *ret_name), key);
}

/* Standard base64, with or without its padding; others need not be accepted. */
const struct account *proof_of_basic(struct server *server, struct str value, struct buf *text,
                                     struct str *ret_name)
{
    char url[BASIC_MAX_BYTES];
    size_t n = 0;
    value = str_trim(value);
    while (value.n > 0 && value.at[value.n - 1] == '=')
        value.n--;
    *ret_name = STR("");
    buf_clear(text);
    char *at = buf_reserve(text, BASIC_MAX_BYTES);
    if (value.n > sizeof url || at == NULL)
        return NULL;
    for (size_t i = 0; i < value.n; i++)
        url[i] = value.at[i] == '+' ? '-' : value.at[i] == '/' ? '_' : value.at[i];
    if (!base64url_decode((struct str){url, value.n}, (unsigned char *)at, &n))
        return NULL;
    text->n = n;
    const struct account *account = account_of_pair(server, buf_str(text), ret_name);
    return account != NULL && account->is_hashed ? account : NULL;
}

static bool is_good_basic(struct server *server, const struct route *route, struct str value)
{
    struct buf text;
    struct str name;
    buf_init(&text, BASIC_MAX_BYTES);
    const struct account *account = proof_of_basic(server, value, &text, &name);
    buf_fini(&text);
    return account != NULL && may_use(route, account->role);
}

static bool is_good_api_key(struct server *server, const struct route *route, struct str key)
{
    char room[ACCOUNT_NAME_MAX_BYTES];
    struct str name;
    const struct account *account = proof_of_api_key(server, key, room, &name);
    return account != NULL && may_use(route, account->role);
}

/* A token, or an API key where the route takes one. */
static bool is_good_bearer(struct server *server, const struct route *route, struct str value)
{
    return route->takes_api_key && is_api_key(value) ? is_good_api_key(server, route, value)
                                                     : is_good_token(server, route, value);
}

enum proof proof_of_head(struct server *server, const struct route *route,
                         const struct proof_places *places)
{
    struct str authorization = places->authorization, query = places->query;
    bool is_good;
    if (is_bearer(authorization))
        is_good = is_good_bearer(server, route, bearer_value(authorization));
    else if (route->takes_basic && is_basic(authorization))
        is_good = is_good_basic(server, route, basic_value(authorization));
    else if (read_params(query).user.at != NULL)
        is_good = is_good_signature(server, route, query);
    else if (route->takes_api_key && places->api_key.at != NULL)
        is_good = is_good_bearer(server, route, places->api_key);
    else if (route->is_caller_key != NULL && places->caller_key.at != NULL)
        return route->is_caller_key(server, places->caller_key) ? PROOF_GOOD : PROOF_NONE;
    else
        return PROOF_NONE;
    return is_good ? PROOF_GOOD : PROOF_WRONG;
}
