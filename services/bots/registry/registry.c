/* SPDX-License-Identifier: MIT
 * registry.c - see registry.h. An operation is one call of a verb on the cluster's shard; what can
 * be judged without Redis is judged first, and is reported from the loop, as all else. */
#include "services/bots/registry/registry.h"

#include "generated/verbs.h"
#include "services/bots/bots.h"
#include "services/bots/registry/endpoint.h"
#include "services/bots/skeleton.h"
#include "shared/base/mem.h"
#include "shared/http/access/gate.h"
#include "shared/http/request/once.h"
#include "shared/queue/lines.h"

#include <openssl/crypto.h>

enum {
    LIST_BOTS_MAX = 1000,
    JSON_MAX_BYTES = 6 * BOT_EMULATES_MAX_BYTES + 2,
    SECRETS_MAX_BYTES = CALLER_KEY_MAX_BYTES + SIGNING_SECRET_BYTES,
};

/* In memory of its own: it outlives the request that began it. */
struct registry_call {
    struct bots *bots;
    struct call call;
    struct deadline soon; /* for what was refused without a call */
    enum err error;
    const char *detail;
    grant_cb *on_grant; /* one of these three; NULL after registry_leave */
    removed_cb *on_removed;
    listed_cb *on_listed;
    void *context;
    char id[BOT_ID_CHARS + 1]; /* of a registration */
    bool pulls;
    char *account, *user_name; /* of who lists */
    size_t name_n;
    char name[BOTS_NAME_MAX_BYTES]; /* of the bot */
};

enum err registry_keys(const struct bots *bots, struct bot_keys *ret_keys)
{
    if (!bots->server->gate->has_token_key)
        return ERR_REDIS_LOST;
    bot_keys_derive(&bots->server->gate->token_key, ret_keys);
    return ERR_OK;
}

#define BAD_USERNAME "username takes 1 to 64 letters, digits and, inside, `-`, `_` and `.`."

/* --- the end of an operation ------------------------------------------------------------------ */

static void end(struct registry_call *c)
{
    free(c->account);
    free(c->user_name);
    free(c);
}

static void report_error(struct registry_call *c, enum err error, const char *detail)
{
    if (c->on_grant != NULL)
        c->on_grant(c->context, &(struct grant){.error = error, .detail = detail});
    else if (c->on_removed != NULL)
        c->on_removed(c->context, error, detail);
    else if (c->on_listed != NULL)
        c->on_listed(c->context, error, NULL, 0, STR(""));
    end(c);
}

static void on_soon(struct deadline *deadline)
{
    struct registry_call *c = container_of(deadline, struct registry_call, soon);
    report_error(c, c->error, c->detail);
}

static struct registry_call *refuse(struct registry_call *c, enum err error, const char *detail)
{
    c->error = error;
    c->detail = detail;
    c->soon.on_expire = on_soon;
    loop_set_deadline(c->bots->server->loop, &c->soon, 0);
    return c;
}

void registry_leave(struct registry_call *c)
{
    if (c == NULL)
        return;
    c->on_grant = NULL;
    c->on_removed = NULL;
    c->on_listed = NULL;
}

static struct registry_call *begin(struct bots *bots, void *context)
{
    struct registry_call *c = mem_zeroed(sizeof *c);
    c->bots = bots;
    c->context = context;
    return c;
}

static void name_it(struct registry_call *c, struct str name)
{
    c->name_n = name.n;
    memcpy(c->name, name.at, name.n);
}

static struct str name_of(const struct registry_call *c)
{
    return (struct str){c->name, c->name_n};
}

/* full/<whose share is used up> */
static void report_full(struct registry_call *c, struct lines *rest)
{
    struct str whose = lines_next(rest);
    if (str_eq(whose, STR("namespace")))
        report_error(c, ERR_NAMESPACE_FULL, "This namespace has 1,000 bots: remove one first.");
    else if (str_eq(whose, STR("account")))
        report_error(c, ERR_RATE_LIMITED,
                     "This account has as many bots as it may: 500, half of those of its "
                     "namespace. Remove one first.");
    else
        report_error(c, ERR_RATE_LIMITED,
                     "An account and user may have 50 bots: remove one first.");
}

/* Returns whether the reply is no "ok"; then it was reported. */
static bool has_failed(struct registry_call *c, enum err error, struct str tag, struct lines *rest)
{
    static const struct {
        struct str tag;
        enum err error;
    } refusals[] = {{{"missing", 7}, ERR_NOT_FOUND},
                    {{"forbidden", 9}, ERR_BOT_NOT_YOURS},
                    {{"taken", 5}, ERR_NAME_TAKEN},
                    {{"free", 4}, ERR_BAD_REQUEST},
                    {{"reused", 6}, ERR_IDEMPOTENCY}};
    if (error == ERR_OK && str_eq(tag, STR("ok")))
        return false;
    if (error == ERR_OK && str_eq(tag, STR("full"))) {
        report_full(c, rest);
        return true;
    }
    enum err what = error == ERR_OK ? ERR_INTERNAL : error;
    for (size_t i = 0; error == ERR_OK && i < sizeof refusals / sizeof *refusals; i++)
        if (str_eq(tag, refusals[i].tag))
            what = refusals[i].error;
    report_error(c, what,
                 what == ERR_NOT_FOUND     ? "There is no such bot."
                 : what == ERR_BAD_REQUEST ? BAD_USERNAME
                                           : NULL);
    return true;
}

/* Hands out the keys of a generation. */
static void grant(struct registry_call *c, struct str id, uint64_t generation)
{
    char bytes[SECRETS_MAX_BYTES];
    struct buf b = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    struct bot_keys keys;
    struct bot_version version = {name_of(c), id, generation};
    enum err error = registry_keys(c->bots, &keys);
    if (error != ERR_OK) {
        report_error(c, error, NULL);
        return;
    }
    caller_key_put(&b, &keys, &version);
    size_t key_n = b.n;
    signing_secret_put(&b, &keys, &version);
    struct grant grant = {.error = ERR_OK,
                          .username = lines_name_within(name_of(c)),
                          .caller_key = {bytes, key_n},
                          .signing_secret = {bytes + key_n, b.n - key_n},
                          .pulls = c->pulls};
    if (c->on_grant != NULL)
        c->on_grant(c->context, &grant);
    OPENSSL_cleanse(&keys, sizeof keys);
    OPENSSL_cleanse(bytes, sizeof bytes);
    end(c);
}

/* --- registering ------------------------------------------------------------------------------ */

static bool is_username(struct str name)
{
    if (name.n < 1 || name.n > BOT_USERNAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.at[i];
        bool is_alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        bool is_inside = i > 0 && i + 1 < name.n;
        if (!is_alnum && !(is_inside && (c == '-' || c == '_' || c == '.')))
            return false;
    }
    return true;
}

/* No bot can be called that, but it may look like the name of one. */
static bool has_foreign_letters(struct str name)
{
    bool is_ascii = true;
    for (size_t i = 0; i < name.n; i++)
        is_ascii &= ((unsigned char)name.at[i] & 0x80) == 0;
    return !is_ascii && name.n <= BOT_USERNAME_MAX_BYTES;
}

/* The main bot's, or that of an account's own user, or what looks like one of them. */
static bool is_reserved(const struct bots *bots, struct str namespace, struct str username)
{
    const struct accounts *accounts = gate_accounts(bots->server->gate);
    char skeleton[SKELETON_CHARS + 1], other[SKELETON_CHARS + 1];
    skeleton_of(username, skeleton);
    skeleton_of(BOTS_ANNEX, other);
    if (strcmp(skeleton, other) == 0)
        return true;
    for (size_t i = 0; i < accounts_count(accounts); i++) {
        const struct account *account = accounts_at(accounts, i);
        struct str its = account->namespace.n > 0 ? account->namespace : STR("%");
        if (!str_eq(its, namespace))
            continue;
        skeleton_of(account->name, other);
        if (strcmp(skeleton, other) == 0)
            return true;
    }
    return false;
}

/* Returns what refuses it, with a sentence, or ERR_OK. */
static enum err judge(const struct bots *bots, const struct registrant *who,
                      const struct registration *given, const char **ret_detail,
                      enum endpoint_kind *ret_kind)
{
    *ret_detail = NULL;
    if (who->role == ROLE_ENGINE)
        return ERR_FORBIDDEN;
    if (given->username.n >= 1 && is_reserved(bots, who->namespace, given->username))
        return ERR_NAME_TAKEN;
    if (!is_username(given->username) && !has_foreign_letters(given->username)) {
        *ret_detail = BAD_USERNAME;
        return ERR_BAD_REQUEST;
    }
    if (given->emulates.n > BOT_EMULATES_MAX_BYTES || !str_is_utf8(given->emulates)) {
        *ret_detail = "emulates takes a name of at most 128 bytes.";
        return ERR_BAD_REQUEST;
    }
    *ret_detail = endpoint_check(given->endpoint, bots->settings->is_private_allowed, ret_kind);
    if (*ret_detail != NULL)
        return ERR_BAD_ENDPOINT;
    return ERR_OK;
}

static void on_registered(struct call *call, enum err error, struct str reply)
{
    struct registry_call *c = container_of(call, struct registry_call, call);
    struct lines lines = lines_of(reply);
    if (!has_failed(c, error, lines_next(&lines), &lines))
        grant(c, str_of(c->id), lines_next_u64(&lines));
}

static struct str json_of(struct buf *b, struct str text)
{
    size_t from = b->n;
    buf_put_json(b, text);
    return (struct str){b->at + from, b->n - from};
}

struct registry_call *registry_register(struct bots *bots, const struct registrant *who,
                                        const struct registration *given, grant_cb *on_grant,
                                        void *context)
{
    char json[2 * JSON_MAX_BYTES];
    struct buf b = {.at = json, .cap = sizeof json, .max = sizeof json};
    char skeleton_bytes[BOTS_NAME_MAX_BYTES];
    struct buf name = {.at = NULL};
    struct buf skeleton = {
        .at = skeleton_bytes, .cap = sizeof skeleton_bytes, .max = sizeof skeleton_bytes};
    struct registry_call *c = begin(bots, context);
    enum endpoint_kind kind = ENDPOINT_PULLS;
    const char *detail;
    enum err error = judge(bots, who, given, &detail, &kind);
    struct bot_keys keys;
    c->on_grant = on_grant;
    if (error == ERR_OK)
        error = registry_keys(bots, &keys); /* else nobody could be given any */
    if (error != ERR_OK)
        return refuse(c, error, detail);
    OPENSSL_cleanse(&keys, sizeof keys);
    name = (struct buf){.at = c->name, .cap = sizeof c->name, .max = sizeof c->name};
    bots_put_name(&name, who->namespace, given->username);
    c->name_n = name.n;
    bots_put_skeleton(&skeleton, who->namespace, given->username);
    c->pulls = kind == ENDPOINT_PULLS;
    once_id(given->key, BOT_ID_CHARS / 2, c->id);
    call_bot_register(shards_call(bots->server->shards, &c->call, on_registered), .bot = name_of(c),
                      .namespace = who->namespace, .id = str_of(c->id),
                      .username = json_of(&b, given->username),
                      .emulates = given->emulates.n == 0 ? STR("") : json_of(&b, given->emulates),
                      .endpoint = given->endpoint,
                      .body_format = str_eq(given->format, STR("zulip")) ? BOT_REGISTER_ZULIP
                                                                         : BOT_REGISTER_ANNEX,
                      .account = who->account, .user = who->user_name, .role = role_name(who->role),
                      .skeleton = buf_str(&skeleton), .is_asked = !is_username(given->username),
                      .key = given->key);
    return c;
}

/* --- rotating and removing -------------------------------------------------------------------- */

static void on_rotated(struct call *call, enum err error, struct str reply)
{
    struct registry_call *c = container_of(call, struct registry_call, call);
    struct lines lines = lines_of(reply);
    if (has_failed(c, error, lines_next(&lines), &lines))
        return;
    uint64_t generation = lines_next_u64(&lines);
    lines_next(&lines); /* the name */
    struct str id = lines_next(&lines);
    lines_next(&lines); /* username, emulates */
    lines_next(&lines);
    c->pulls = lines_next(&lines).n == 0;
    grant(c, id, generation);
}

static bool is_operator(const struct registrant *who)
{
    return who->role == ROLE_OPERATOR;
}

static bool has_name(struct registry_call *c, struct str name)
{
    if (name.n < 1 || name.n > sizeof c->name)
        return false;
    name_it(c, name);
    return true;
}

struct registry_call *registry_rotate(struct bots *bots, const struct registrant *who,
                                      struct str name, grant_cb *on_grant, void *context)
{
    struct registry_call *c = begin(bots, context);
    c->on_grant = on_grant;
    if (!has_name(c, name))
        return refuse(c, ERR_NOT_FOUND, "There is no such bot.");
    call_bot_rotate(shards_call(bots->server->shards, &c->call, on_rotated), .bot = name,
                    .account = who->account, .user = who->user_name,
                    .is_operator = is_operator(who));
    return c;
}

static void on_deleted(struct call *call, enum err error, struct str reply)
{
    struct registry_call *c = container_of(call, struct registry_call, call);
    struct lines lines = lines_of(reply);
    if (has_failed(c, error, lines_next(&lines), &lines))
        return;
    if (c->on_removed != NULL)
        c->on_removed(c->context, ERR_OK, NULL);
    end(c);
}

struct registry_call *registry_remove(struct bots *bots, const struct registrant *who,
                                      struct str name, removed_cb *on_removed, void *context)
{
    struct registry_call *c = begin(bots, context);
    c->on_removed = on_removed;
    if (!has_name(c, name))
        return refuse(c, ERR_NOT_FOUND, "There is no such bot.");
    call_bot_delete(shards_call(bots->server->shards, &c->call, on_deleted), .bot = name,
                    .account = who->account, .user = who->user_name,
                    .is_operator = is_operator(who));
    return c;
}

/* --- listing ---------------------------------------------------------------------------------- */

static struct listed_bot listed_of(const struct registry_call *c, struct lines *lines)
{
    struct listed_bot bot;
    bot.name = lines_next(lines);
    lines_next(lines); /* its id */
    bot.username = lines_next(lines);
    bot.emulates = lines_next(lines);
    if (bot.emulates.n == 0)
        bot.emulates = STR("null");
    bot.endpoint = lines_next(lines);
    bot.format = lines_next(lines);
    bot.account = lines_next(lines);
    bot.user_name = lines_next(lines);
    lines_next(lines); /* the role */
    bot.generation = lines_next_u64(lines);
    lines_next(lines); /* whether a former key is good, and since when it is one */
    lines_next(lines);
    bot.created_ms = lines_next_u64(lines);
    for (int i = 0; i < 3; i++) /* its circuit */
        lines_next(lines);
    bot.is_own =
        str_eq(bot.account, str_of(c->account)) && str_eq(bot.user_name, str_of(c->user_name));
    return bot;
}

static void on_list(struct call *call, enum err error, struct str reply)
{
    struct registry_call *c = container_of(call, struct registry_call, call);
    struct lines lines = lines_of(reply);
    if (has_failed(c, error, lines_next(&lines), &lines))
        return;
    struct str next = lines_next(&lines);
    struct listed_bot *bots = mem_zeroed_n(LIST_BOTS_MAX, sizeof *bots);
    size_t n = 0;
    while (n < LIST_BOTS_MAX && lines_are_left(&lines)) {
        lines_next(&lines); /* its cursor */
        bots[n++] = listed_of(c, &lines);
    }
    if (c->on_listed != NULL)
        c->on_listed(c->context, ERR_OK, bots, n, next);
    free(bots);
    end(c);
}

struct registry_call *registry_list(struct bots *bots, const struct registrant *who, uint64_t limit,
                                    struct str after, listed_cb *on_listed, void *context)
{
    struct registry_call *c = begin(bots, context);
    c->on_listed = on_listed;
    c->account = str_copy(who->account);
    c->user_name = str_copy(who->user_name);
    call_bot_list(shards_call(bots->server->shards, &c->call, on_list), .namespace = who->namespace,
                  .limit = limit, .after = after);
    return c;
}
