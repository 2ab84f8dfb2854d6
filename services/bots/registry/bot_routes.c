/* SPDX-License-Identifier: MIT
 * bot_routes.c - see handlers.h. What was begun comes to its end although its client has left. */
#include "services/bots/bots.h"
#include "services/bots/registry/endpoint.h"
#include "services/bots/registry/handlers.h"
#include "services/bots/registry/registry.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/once.h"
#include "shared/http/request/pages.h"
#include "shared/http/request/respond.h"

enum {
    LIMIT_USUAL = 100,
    CURSOR_MAX_BYTES = 600,
    FULL_RETRY_S = 300,
    BOT_JSON_MAX_BYTES = 16 << 10,
    LIST_MAX_BYTES = 8 << 20,
};

const char *registry_put_problem(struct buf *b, const struct problem *problem)
{
    if (problem->status != 401)
        return problem_put(b, problem);
    buf_lit(b, "{\"message\":");
    buf_put_json(b, str_of(problem->detail));
    buf_put_char(b, '}');
    return "application/json";
}

static struct registrant registrant_of(const struct request *r, const struct bots_who *who)
{
    return (struct registrant){who->account, who->user_name, who->namespace, r->account->role};
}

bool registrant_of_request(struct request *r, struct registrant *ret_registrant)
{
    struct bots_who who;
    if (r->account->role == ROLE_OPERATOR) {
        *ret_registrant = (struct registrant){r->account->name_token, r->account->user_token,
                                              bots_namespace_of(r), ROLE_OPERATOR};
        return true;
    }
    if (!bots_who_of(r, &who))
        return false;
    *ret_registrant = registrant_of(r, &who);
    return true;
}

/* --- the request that waits for an operation -------------------------------------------------- */

static void on_gone(struct request *r)
{
    registry_leave(r->state);
}

static void await(struct request *r, struct registry_call *call)
{
    r->state = call;
    r->on_gone = on_gone;
}

static void refuse(struct request *r, enum err error, const char *detail)
{
    bool is_full = error == ERR_RATE_LIMITED || error == ERR_NAMESPACE_FULL;
    struct str username = request_member_text(r, "username");
    if (error == ERR_NOT_FOUND)
        (void)explain_missing(r, "bot", request_path_param(r, "username"),
                              "GET /api/bots lists those that exist.");
    else if (error == ERR_NAME_TAKEN)
        explain(r, error,
                "The name %s is taken, or looks like one that is: users and bots share one set of "
                "names.",
                explain_quoted(r, username));
    else if (error == ERR_BAD_REQUEST)
        explain(r, error, "%s This one is %s.", detail, explain_quoted(r, username));
    else
        respond_error_more(r, error, detail, NULL, is_full ? FULL_RETRY_S : 0);
}

/* --- registering ------------------------------------------------------------------------------ */

static void put_secrets(struct buf *b, const struct grant *grant)
{
    buf_lit(b, "\"username\":");
    buf_put_json(b, grant->username);
    buf_put_key(b, "caller_key");
    buf_put_json(b, grant->caller_key);
    buf_put_key(b, "signing_secret");
    buf_put_json(b, grant->signing_secret);
}

static void respond_grant(struct request *r, int status, const struct grant *grant)
{
    struct buf *b = &r->server->scratch;
    r->state = NULL;
    if (grant->error != ERR_OK) {
        refuse(r, grant->error, grant->detail);
        return;
    }
    buf_clear(b);
    buf_put_char(b, '{');
    put_secrets(b, grant);
    buf_put_char(b, '}');
    respond_json(r, status, b);
}

static void on_added(void *context, const struct grant *grant)
{
    respond_grant(context, 201, grant);
}

static bool read_registration(struct request *r, const char *emulates,
                              struct registration *ret_registration)
{
    return request_body(r) &&
           request_text(r, "username", 1, BOT_USERNAME_MAX_BYTES, &ret_registration->username) &&
           request_optional_text(r, emulates, BOT_EMULATES_MAX_BYTES,
                                 &ret_registration->emulates) &&
           request_optional_text(r, "endpoint", BOT_ENDPOINT_MAX_BYTES,
                                 &ret_registration->endpoint);
}

static void add(struct request *r, const char *emulates, grant_cb *on_grant)
{
    struct registrant who;
    struct registration given = {.format = STR(""), .key = once_key(r)};
    if (r->nonce.is_set) { /* before anything is registered */
        request_handle_after_nonce(r);
        return;
    }
    if (!registrant_of_request(r, &who) || !read_registration(r, emulates, &given) ||
        !request_optional_text(r, "format", BOT_USERNAME_MAX_BYTES, &given.format))
        return;
    if (given.format.n > 0 && !str_is_listed(STR("annex,zulip"), given.format)) {
        (void)explain_member(r, "format", "annex or zulip");
        return;
    }
    await(r, registry_register(bots_of(r), &who, &given, on_grant, r));
}

void registry_add(struct request *r)
{
    add(r, "emulates", on_added);
}

static void put_text_or_null(struct buf *b, const char *key, struct str text)
{
    buf_put_key(b, key);
    if (text.n == 0)
        buf_lit(b, "null");
    else
        buf_put_json(b, text);
}

/* {"message","bot"}; the bot with its secrets. */
static void on_added_by_key(void *context, const struct grant *grant)
{
    struct request *r = context;
    struct buf *b = &r->server->scratch;
    r->state = NULL;
    if (grant->error != ERR_OK) {
        refuse(r, grant->error, grant->detail);
        return;
    }
    struct str name = request_member_text(r, "name"), endpoint = request_member_text(r, "endpoint"),
               format = request_member_text(r, "format");
    buf_clear(b);
    buf_lit(b, "{\"message\":\"The bot is registered. Its keys are shown only here.\",\"bot\":{");
    put_secrets(b, grant);
    put_text_or_null(b, "name", name);
    put_text_or_null(b, "endpoint", endpoint);
    buf_put_key(b, "format");
    buf_put_json(b, format.n == 0 ? STR("annex") : format);
    buf_lit(b, "}}");
    respond_json(r, 200, b);
}

void registry_add_by_key(struct request *r)
{
    add(r, "name", on_added_by_key);
}

/* --- rotating and removing -------------------------------------------------------------------- */

/* The name for keys of the bot in the path. */
static struct str target_of(struct request *r, const struct registrant *who)
{
    char bytes[BOTS_NAME_MAX_BYTES];
    struct buf b = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    struct str username = request_path_param(r, "username");
    if (username.n > BOT_USERNAME_MAX_BYTES)
        return STR("");
    bots_put_name(&b, who->namespace, username);
    return request_copy(r, buf_str(&b));
}

static void on_rotated(void *context, const struct grant *grant)
{
    respond_grant(context, 200, grant);
}

void registry_renew_secrets(struct request *r)
{
    struct registrant who;
    if (r->nonce.is_set)
        request_handle_after_nonce(r);
    else if (registrant_of_request(r, &who))
        await(r, registry_rotate(bots_of(r), &who, target_of(r, &who), on_rotated, r));
}

static void on_removed(void *context, enum err error, const char *detail)
{
    struct request *r = context;
    r->state = NULL;
    if (error != ERR_OK)
        refuse(r, error, detail);
    else
        respond_json_fixed(r, 200, STR("{\"status\":\"OK\"}"));
}

void registry_delete(struct request *r)
{
    struct registrant who;
    if (r->nonce.is_set)
        request_handle_after_nonce(r);
    else if (registrant_of_request(r, &who))
        await(r, registry_remove(bots_of(r), &who, target_of(r, &who), on_removed, r));
}

/* --- listing ---------------------------------------------------------------------------------- */

/* Where a bot is called is for its registrant and operators to know. */
static void put_bot(struct buf *b, const struct listed_bot *bot, bool is_shown)
{
    buf_lit(b, "{\"username\":");
    buf_put(b, bot->username);
    buf_put_key(b, "emulates");
    buf_put(b, bot->emulates);
    buf_put_key(b, "endpoint");
    if (bot->endpoint.n == 0 || !is_shown)
        buf_lit(b, "null");
    else
        buf_put_json(b, bot->endpoint);
    buf_put_key(b, "format");
    buf_put_json(b, bot->format);
    buf_printf(b, ",\"pulls\":%s}", bot->endpoint.n == 0 ? "true" : "false");
}

static void on_listed(void *context, enum err error, const struct listed_bot *bots, size_t n,
                      struct str next)
{
    struct request *r = context;
    struct buf b;
    r->state = NULL;
    if (error != ERR_OK) {
        refuse(r, error, NULL);
        return;
    }
    buf_init(&b, LIST_MAX_BYTES);
    buf_lit(&b, "{\"bots\":[");
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_put_char(&b, ',');
        put_bot(&b, &bots[i], bots[i].is_own || r->account->role == ROLE_OPERATOR);
    }
    buf_lit(&b, "]}");
    if (next.n > 0)
        pages_link(r, next);
    respond_json(r, 200, &b);
    buf_fini(&b);
}

void registry_show(struct request *r)
{
    struct registrant who;
    struct str after = request_param(r, "after");
    uint64_t limit;
    if (r->nonce.is_set) {
        request_handle_after_nonce(r);
        return;
    }
    if (!registrant_of_request(r, &who) ||
        !request_param_u64(r, "limit", 1, BOTS_PER_NAMESPACE, LIMIT_USUAL, &limit))
        return;
    if (after.n > CURSOR_MAX_BYTES) {
        (void)explain_param(r, "after", PAGES_CURSOR);
        return;
    }
    await(r,
          registry_list(bots_of(r), &who, limit, after.at == NULL ? STR("") : after, on_listed, r));
}
