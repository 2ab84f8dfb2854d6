/* SPDX-License-Identifier: MIT
 * caller_key.c - see caller_key.h. The MAC is compared first, in constant time: a key that this
 * cluster has not made costs no call except the one that counts failures. */
#include "services/bots/registry/caller_key.h"

#include "generated/verbs.h"
#include "services/bots/bots.h"
#include "services/bots/registry/registry.h"
#include "shared/http/access/authenticate.h"
#include "shared/http/access/gate.h"
#include "shared/http/access/rates.h"
#include "shared/http/request/respond.h"
#include "shared/queue/lines.h"

#include <openssl/crypto.h>
#include <stdio.h>

struct checking {
    caller_cb *on_caller;
    struct caller_key key;
    struct caller caller;
};

static const char refused[] = "X-CALLER-KEY is wrong, was replaced, or is of a bot that no longer "
                              "exists.";
static const char no_key[] = "X-CALLER-KEY is missing: it is the key that this bot's registration "
                             "has returned (caller_key).";

bool caller_key_is_open(const struct request *r)
{
    /* The headers are only read. */
    return request_header((struct request *)r, "x-caller-key").at != NULL;
}

/* A bot's requests count against the rate of its registrant's account. One of an OpenID provider
 * has none here. */
static bool is_admitted(struct request *r, const struct caller *caller)
{
    char bytes[ACCOUNT_NAME_MAX_BYTES + 1], detail[128];
    struct buf b = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    unsigned retry_s = 0;
    if (!buf_put_unnamed(&b, caller->account) || b.is_over)
        return true;
    const struct account *account = accounts_find(gate_accounts(r->server->gate), buf_str(&b));
    if (account == NULL ||
        rates_admit(r->server->gate->rates, account, false, false, &retry_s) == RATES_ADMITTED)
        return true;
    metrics_add(r->server->metrics, METRIC_RATE_LIMITED, 1);
    snprintf(detail, sizeof detail,
             "The account of this bot exceeds its rate of %llu %s per second.",
             COUNTED(account->max_rate, "request"));
    respond_error_more(r, ERR_RATE_LIMITED, detail, NULL, retry_s);
    return false;
}

bool caller_key_is_ours(const struct server *server, struct str key)
{
    struct bot_keys keys;
    struct caller_key unused;
    if (!server->gate->has_token_key)
        return false;
    bot_keys_derive(&server->gate->token_key, &keys);
    bool is_ours = caller_key_read(&keys, key, &unused);
    OPENSSL_cleanse(&keys, sizeof keys);
    return is_ours;
}

static void on_found(struct request *r, enum err error, struct str reply)
{
    struct checking *checking = r->state;
    struct caller *caller = &checking->caller;
    struct lines lines = lines_of(reply);
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
        return;
    }
    bool is_there = str_eq(lines_next(&lines), STR("ok"));
    lines_next(&lines); /* whether it may be called */
    caller->name = request_copy(r, lines_next(&lines));
    caller->username = lines_name_within(caller->name);
    caller->id = request_copy(r, lines_next(&lines));
    lines_next(&lines); /* username, emulates */
    lines_next(&lines);
    caller->pulls = lines_next(&lines).n == 0;
    caller->format = request_copy(r, lines_next(&lines));
    caller->account = request_copy(r, lines_next(&lines));
    caller->user_name = request_copy(r, lines_next(&lines));
    lines_next(&lines); /* the role */
    uint64_t generation = lines_next_u64(&lines);
    bool is_former_good = lines_next_u64(&lines) == 1;
    bool is_current = checking->key.generation == generation;
    bool is_former = is_former_good && checking->key.generation + 1 == generation;
    if (!is_there || !str_eq(caller->id, (struct str){checking->key.id, sizeof checking->key.id}) ||
        !(is_current || is_former)) {
        respond_error(r, ERR_UNAUTHORIZED, refused);
        return;
    }
    r->state = NULL;
    if (is_admitted(r, caller))
        checking->on_caller(r, caller);
}

void caller_start(struct request *r, caller_cb *on_caller)
{
    struct checking *checking = request_alloc(r, sizeof *checking);
    struct bot_keys keys;
    struct str text = request_header(r, "x-caller-key");
    enum err error = registry_keys(bots_of(r), &keys);
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
        return;
    }
    *checking = (struct checking){.on_caller = on_caller};
    bool is_ours = text.at != NULL && caller_key_read(&keys, text, &checking->key);
    OPENSSL_cleanse(&keys, sizeof keys);
    if (!is_ours) {
        authenticate_fail(r, text.at == NULL ? no_key : refused);
        return;
    }
    r->state = checking;
    call_bot_find(request_call(r, on_found),
                  .bot = (struct str){checking->key.name, checking->key.name_n});
}
