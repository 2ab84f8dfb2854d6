/* SPDX-License-Identifier: MIT
 * operator.c - operators' actions: reopen a query, drain an engine (lua/operator). Their views are
 * in status.c and queue_pages.c. */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/http/request/explain.h"

#include "shared/http/access/gate.h"

enum { ACCOUNT_MAX_BYTES = 128 };

static void on_retried(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (!reply_refuse(r, error, lines_next(&lines), &lines))
        respond_json_fixed(r, 200, STR("{\"Status\":\"Open\"}"));
}

void broker_retry_query(struct request *r)
{
    struct str topic;
    uint64_t seq;
    if (!request_body(r) || !names_topic_member(r, &topic) || !params_seq(r, 1, &seq))
        return;
    call_retry(request_call(r, on_retried), .topic = topic, .seq = seq);
}

static void on_drained(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    const struct json_span *drain = request_member(r, "Drain");
    bool is_off = drain != NULL && drain->raw.at[0] == 'f';
    respond_json_fixed(r, 200, is_off ? STR("{\"Drained\":false}") : STR("{\"Drained\":true}"));
}

void broker_drain_engine(struct request *r)
{
    struct str user;
    bool is_drained;
    if (!request_body(r) || !request_text(r, "User", 1, ACCOUNT_MAX_BYTES, &user) ||
        !request_optional_bool(r, "Drain", true, &is_drained))
        return;
    const struct account *engine = accounts_find(gate_accounts(r->server->gate), user);
    if (engine == NULL || engine->role != ROLE_ENGINE) {
        explain(r, ERR_NOT_FOUND,
                "There is no account %s of role engine: GET /api/status lists the engines.",
                explain_quoted(r, user));
        return;
    }
    call_drain(request_call(r, on_drained), .account = engine->name_token,
               .is_drained = is_drained);
}
