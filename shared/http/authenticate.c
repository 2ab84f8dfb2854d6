/* SPDX-License-Identifier: MIT
 * authenticate.c - see authenticate.h. A failure costs the sender a round trip to Redis, where
 * failures are counted per address for the whole cluster; a success costs nothing. */
#include "shared/http/authenticate.h"

#include "shared/auth/signed.h"
#include "shared/base/clock.h"
#include "shared/http/peer.h"
#include "shared/http/respond.h"

enum { FAILURES_MAX = 10, FAILURES_WINDOW_MS = 60000 };

static void refuse_address(struct request *r, uint64_t left_ms)
{
    respond_error_more(r, ERR_TOO_MANY_FAILURES, NULL, NULL, (unsigned)(left_ms + 999) / 1000);
}

static void on_counted(struct request *r, enum err error, struct str reply)
{
    uint64_t count = 0;
    if (error == ERR_OK && str_parse_u64(reply, &count) && count > FAILURES_MAX)
        refuse_address(r, FAILURES_WINDOW_MS);
    else
        respond_error(r, ERR_UNAUTHORIZED, NULL);
}

static bool fail(struct request *r)
{
    struct buf name;
    metrics_add(r->server->metrics, METRIC_LOGIN_FAILURES, 1);
    buf_init(&name, PEER_TEXT_MAX * 3);
    buf_put_name(&name, peer_address(r));
    struct turn *turn = request_begin_plain_verb(r, LANE_FIRST, STR("failure"), on_counted);
    turn_put(turn, buf_str(&name));
    turn_put_u64(turn, FAILURES_MAX);
    turn_put_u64(turn, FAILURES_WINDOW_MS);
    turn_end(turn);
    buf_fini(&name);
    return false;
}

/* `Authorization: Bearer <token>`; at == NULL when there is none. */
static struct str bearer_token(struct request *r)
{
    struct str value = request_header(r, "authorization");
    if (value.n < 7 || !str_eq_nocase((struct str){value.at, 7}, STR("Bearer ")))
        return (struct str){NULL, 0};
    return str_trim((struct str){value.at + 7, value.n - 7});
}

static bool check_token(struct request *r, struct str token)
{
    struct token_claims claims;
    if (!r->server->has_token_key) {
        respond_error(r, ERR_REDIS_LOST, NULL);
        return false;
    }
    if (token_verify(&r->server->token_key, token, clock_wall_s(), &claims) != ERR_OK)
        return fail(r);
    const struct accounts *accounts = account_book_current(r->server->config->accounts);
    const struct account *account = accounts_find(accounts, token_sub(&claims));
    if (account == NULL || account->role != claims.role)
        return fail(r);
    r->account = account;
    return true;
}

static bool check_signed(struct request *r)
{
    struct str user = request_param(r, "User"), hash = request_param(r, "Hash");
    struct str nonce = request_param_plus(r, "Nonce");
    if (user.at == NULL && r->route->takes_signed_body && r->h2o->entity.len > 0) {
        if (!request_body(r))
            return false;
        user = request_member_text(r, "User");
        nonce = request_member_text(r, "Nonce");
        hash = request_member_text(r, "Hash");
    }
    const struct accounts *accounts = account_book_current(r->server->config->accounts);
    const struct account *account = user.at == NULL ? NULL : accounts_find(accounts, user);
    bool is_sha1_allowed = r->server->config->is_sha1_allowed;
    enum err error = signed_verify(account, user, nonce, hash, is_sha1_allowed);
    if (error != ERR_OK && account != NULL && nonce.n > 0 && memchr(nonce.at, '+', nonce.n)) {
        /* A client that writes its spaces as '+' and signs the space. */
        nonce = request_param(r, "Nonce");
        if (nonce.at != NULL)
            error = signed_verify(account, user, nonce, hash, is_sha1_allowed);
    }
    if (error != ERR_OK)
        return fail(r);
    r->account = account;
    r->is_signed = true;
    signed_nonce_id(user, nonce, r->nonce.bytes);
    r->nonce.is_set = true;
    return true;
}

bool authenticate(struct request *r)
{
    if (r->route->roles == ROLES_NONE)
        return true;
    uint64_t left_ms = blocks_left_ms(r->server->blocks, r);
    if (left_ms > 0) {
        refuse_address(r, left_ms);
        return false;
    }
    struct str token = bearer_token(r);
    if (token.at != NULL ? !check_token(r, token) : !check_signed(r))
        return false;
    if ((r->route->roles & 1u << r->account->role) == 0) {
        respond_error(r, ERR_FORBIDDEN, NULL);
        return false;
    }
    return true;
}
