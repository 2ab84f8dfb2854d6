/* SPDX-License-Identifier: MIT
 * gate.c - see gate.h. */
#include "shared/http/access/gate.h"

#include "generated/verbs.h"
#include "shared/base/clock.h"
#include "shared/base/mem.h"
#include "shared/http/access/failures.h"
#include "shared/http/access/oidc.h"
#include "shared/http/access/rates.h"
#include "shared/http/request/server.h"

static void on_key(struct call *call, enum err error, struct str reply)
{
    struct gate *gate = container_of(call, struct gate, key_call);
    if (error == ERR_OK && token_key_parse(reply, &gate->token_key))
        gate->has_token_key = true;
}

/* All nodes use the key that the first of them proposed; Redis keeps it. */
void gate_on_up(struct gate *gate)
{
    char hex[TOKEN_KEY_BYTES * 2 + 1];
    str_random_hex(TOKEN_KEY_BYTES, hex);
    call_detach(&gate->key_call);
    call_key(shards_call(gate->shards, &gate->key_call, on_key), .proposal = str_of(hex));
}

enum err gate_check_token(struct gate *gate, struct str token, const struct account **ret_account,
                          uint64_t *ret_expires_s)
{
    return token_cache_verify(gate->tokens, &gate->token_key, gate_accounts(gate), token,
                              clock_wall_s(), ret_account, ret_expires_s);
}

void gate_put_source(const struct gate *gate, struct buf *out)
{
    const struct oidc_settings *settings = oidc_settings_of(gate->oidc);
    buf_put(out, str_of(settings->issuer));
    buf_put_char(out, ' ');
    buf_put(out, str_of(settings->client_id));
}

typedef enum err read_person(const struct token_key *key, struct str source, struct str text,
                             uint64_t now_s, struct person *ret_person);

static enum err check(struct gate *gate, read_person *read, struct str text,
                      struct person *ret_person)
{
    struct person person;
    struct buf source;
    if (gate->oidc == NULL || !oidc_has_client(gate->oidc))
        return ERR_REVOKED;
    buf_init(&source, 2 * OIDC_URL_MAX_BYTES);
    gate_put_source(gate, &source);
    enum err error = read(&gate->token_key, buf_str(&source), text, clock_wall_s(), &person);
    buf_fini(&source);
    if (error != ERR_OK)
        return error;
    if (accounts_find(gate_accounts(gate), person.claims.sub) != NULL) {
        person_fini(&person);
        return ERR_REVOKED;
    }
    *ret_person = person;
    return ERR_OK;
}

enum err gate_check_person(struct gate *gate, struct str token, struct person *ret_person)
{
    return check(gate, person_read_token, token, ret_person);
}

enum err gate_check_code(struct gate *gate, struct str code, struct person *ret_person)
{
    return check(gate, person_read_code, code, ret_person);
}

struct gate *gate_create(struct loop *loop, const struct server_config *config,
                         struct shards *shards, struct metrics *metrics)
{
    struct gate *gate = mem_alloc(sizeof *gate);
    *gate = (struct gate){.accounts = config->accounts,
                          .is_sha1_allowed = config->is_sha1_allowed,
                          .failures = failures_create(),
                          .rates = rates_create(loop, shards),
                          .tokens = token_cache_create(),
                          .shards = shards};
    if (config->oidc != NULL && oidc_is_wanted(config->oidc))
        gate->oidc = oidc_create(loop, config->oidc, metrics);
    if (gate->accounts != NULL)
        gate->seen = gate_accounts(gate);
    return gate;
}

void gate_destroy(struct gate *gate)
{
    call_detach(&gate->key_call);
    oidc_destroy(gate->oidc);
    failures_destroy(gate->failures);
    rates_destroy(gate->rates);
    token_cache_destroy(gate->tokens);
    free(gate);
}
