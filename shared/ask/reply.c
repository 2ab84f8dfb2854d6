/* SPDX-License-Identifier: MIT
 * reply.c - see reply.h. */
#include "shared/ask/reply.h"

#include "shared/ask/refusal.h"
#include "shared/http/request/explain.h"

#include <stdio.h>

enum { STORED_RETRY_S = 60, NAME_MAX_BYTES = 1024 };

/* Tags without more: what each of them is answered with; NULL: in the error's own words. */
static const struct {
    struct str tag;
    enum err error;
    const char *detail;
} refusals[] = {
    {STR("mismatch"), ERR_QUERY_MISMATCH, NULL},
    {STR("reused"), ERR_IDEMPOTENCY, NULL}, /* the key (lua/turn/made.lua) */
    {STR("lost"), ERR_LEASE_LOST, NULL},
    {STR("large"), ERR_TOO_LARGE,
     "The partial text of this claim is larger than 1 MiB: send the whole answer with "
     "give-new-answer."},
    {STR("gone"), ERR_NOTHING_KEPT, NULL},
};

/* The state of the query that the request is about, for its engine and for others. */
static const struct {
    struct str tag;
    enum err error;
    const char *for_engine, *for_others;
} ends[] = {
    {STR("done"), ERR_ALREADY_DONE, "has already been answered: drop this answer",
     "has already been answered"},
    {STR("cancelled"), ERR_CANCELLED, "was cancelled: drop this answer", "was cancelled"},
    {STR("failed"), ERR_FAILED, "has failed: drop this answer",
     "has failed: an operator can open it again (POST /api/retry-query)"},
    {STR("pending"), ERR_CONFLICT, "is open or claimed",
     "is open or claimed: only one that has failed or was cancelled is opened again"},
};

/* --- the query or topic of the request -------------------------------------------------------- */

/* As its client names it. */
static const char *topic_of(struct request *r)
{
    struct str name = r->about.topic;
    char bytes[NAME_MAX_BYTES];
    struct buf plain = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    if (r->account != NULL && r->account->namespace.n > 0)
        name = lines_name_within(name);
    struct str rest = name, first = str_cut(&rest, NAMESPACE_MARK);
    if (rest.at != NULL) {
        buf_put(&plain, first);
        buf_put_char(&plain, NAMESPACE_MARK);
    }
    (void)!buf_put_unnamed(&plain, rest.at == NULL ? name : rest);
    return explain_quoted(r, buf_str(&plain));
}

static void refuse_missing(struct request *r)
{
    if (r->about.topic.at == NULL)
        respond_error(r, ERR_NOT_FOUND, NULL);
    else if (r->about.seq > 0)
        explain(r, ERR_NOT_FOUND,
                "There is no query %llu in a topic %s for this account: check Topic and Seq.",
                (unsigned long long)r->about.seq, topic_of(r));
    else
        explain(r, ERR_NOT_FOUND, "There is no topic %s for this account.", topic_of(r));
}

/* False: it is none of these tags. */
static bool refuse_ended(struct request *r, struct str tag)
{
    bool is_engine = r->account != NULL && r->account->role == ROLE_ENGINE;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (!str_eq(tag, ends[i].tag))
            continue;
        const char *what = is_engine ? ends[i].for_engine : ends[i].for_others;
        if (r->about.topic.at == NULL)
            respond_error(r, ends[i].error, NULL);
        else
            explain(r, ends[i].error, "Query %llu of topic %s %s.",
                    (unsigned long long)r->about.seq, topic_of(r), what);
        return true;
    }
    return false;
}

/* --- limits ----------------------------------------------------------------------------------- */

struct full_text {
    struct str of; /* whose share is used up, as lua/queue/enqueue.lua has it */
    const char *what, *advice;
};

static const struct full_text full_queue = {
    .what = "The queue of the whole cluster is full",
    .advice = "Retry later, or let an operator add engines or raise --queue-max."};
static const struct full_text full_shares[] = {
    {STR("user"), "This user has as many waiting as the account lets each of its users have",
     "Retry when some are answered, or let an operator raise max_waiting of the account."},
    {STR("account"), "This account has as many waiting as one may have, all its users together",
     "Retry when some are answered, or let an operator raise --queue-max."},
    {STR("models"), "This account has questions waiting for as many models as one may name",
     "Ask for one of these models, or for none."},
    {STR("topic"), "This topic has as many waiting as one may have, or their texts are long",
     "Retry when some are answered, or use another topic."},
};

static const struct full_text *full_text_of(struct str of)
{
    for (size_t i = 0; i < sizeof full_shares / sizeof *full_shares; i++)
        if (str_eq(of, full_shares[i].of))
            return &full_shares[i];
    return &full_queue;
}

/* waiting/<depth>/<eta>/<of>, full/<depth>/<eta>: how much waits, and when to try again. */
static void refuse_full(struct request *r, enum err error, struct lines *rest)
{
    char detail[256], members[96];
    uint64_t depth = lines_next_u64(rest), eta_s = 0;
    bool has_eta = str_parse_u64(lines_next(rest), &eta_s);
    const struct full_text *text = full_text_of(lines_next(rest));
    snprintf(detail, sizeof detail, "%s: %llu %s. %s", text->what,
             COUNTED_AS(depth, "is waiting", "are waiting"), text->advice);
    if (has_eta)
        snprintf(members, sizeof members, "\"depth\":%llu,\"eta_seconds\":%llu",
                 (unsigned long long)depth, (unsigned long long)eta_s);
    else
        snprintf(members, sizeof members, "\"depth\":%llu,\"eta_seconds\":null",
                 (unsigned long long)depth);
    respond_error_more(r, error, detail, members, refusal_retry_s(has_eta, eta_s));
}

/* stored/<bytes>/<limit>/<user or account>: whose room is used up, and what makes room again. */
static void refuse_stored(struct request *r, struct lines *rest)
{
    char detail[512], members[96];
    uint64_t used = lines_next_u64(rest), most = lines_next_u64(rest);
    bool is_of_user = str_eq(lines_next(rest), STR("user"));
    bool is_of_shard = r->server->shards->n > 1;
    snprintf(detail, sizeof detail,
             "The storage limit for %s%s would be exceeded: %llu of %llu %s used. Delete "
             "topics (DELETE /api/topic) or a user's data (DELETE /api/users/{user}); an operator "
             "can raise %s, or have old topics deleted automatically (--retention-days).",
             is_of_user ? "this user of the account" : "all users of this account",
             is_of_shard ? ", on the shard of this topic" : "", (unsigned long long)used,
             COUNTED_AS(most, "byte is", "bytes are"),
             is_of_user ? "max_stored_per_user" : "max_stored");
    snprintf(members, sizeof members, "\"stored\":%llu,\"max_stored\":%llu",
             (unsigned long long)used, (unsigned long long)most);
    respond_error_more(r, ERR_TOO_MUCH_STORED, detail, members, STORED_RETRY_S);
}

static void put_header(struct request *r, const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    respond_header(r, name, str_of(text));
}

static void put_quota_headers(struct request *r, uint64_t limit, uint64_t left, uint64_t reset_s)
{
    put_header(r, "x-ratelimit-limit", limit);
    put_header(r, "x-ratelimit-remaining", left);
    put_header(r, "x-ratelimit-reset", reset_s);
}

struct quota quota_of(struct str line)
{
    struct quota quota;
    if (!str_parse_u64(str_cut(&line, ' '), &quota.limit) ||
        !str_parse_u64(str_cut(&line, ' '), &quota.left) || !str_parse_u64(line, &quota.reset_ms))
        return (struct quota){.limit = 0};
    return quota;
}

void reply_put_quota(struct request *r, const struct quota *quota)
{
    if (quota->limit > 0)
        put_quota_headers(r, quota->limit, quota->left, (quota->reset_ms + 999) / 1000);
}

void reply_refuse_limited(struct request *r, uint64_t retry_ms, uint64_t limit, uint64_t window_s)
{
    struct refusal refusal;
    refusal_of_limit(r, retry_ms, limit, window_s, &refusal);
    put_quota_headers(r, limit, 0, refusal.retry_after_s);
    refusal_respond(r, &refusal);
}

bool reply_refuse(struct request *r, enum err error, struct str tag, struct lines *rest)
{
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
        return true;
    }
    if (str_eq(tag, STR("ok")))
        return false;
    if (str_eq(tag, STR("waiting")) || str_eq(tag, STR("full"))) {
        refuse_full(r, tag.at[0] == 'w' ? ERR_USER_QUEUE_FULL : ERR_QUEUE_FULL, rest);
        return true;
    }
    if (str_eq(tag, STR("stored"))) {
        refuse_stored(r, rest);
        return true;
    }
    if (str_eq(tag, STR("limited"))) {
        uint64_t retry_ms = lines_next_u64(rest), limit = lines_next_u64(rest);
        reply_refuse_limited(r, retry_ms, limit, lines_next_u64(rest));
        return true;
    }
    if (str_eq(tag, STR("missing"))) {
        refuse_missing(r);
        return true;
    }
    if (str_eq(tag, STR("forbidden"))) {
        explain(r, ERR_FORBIDDEN, "This user has no topic %s.", topic_of(r));
        return true;
    }
    if (refuse_ended(r, tag))
        return true;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if (str_eq(tag, refusals[i].tag)) {
            respond_error(r, refusals[i].error, refusals[i].detail);
            return true;
        }
    return false;
}
