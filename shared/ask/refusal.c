/* SPDX-License-Identifier: MIT
 * refusal.c - see refusal.h. */
#include "shared/ask/refusal.h"

#include "shared/http/request/stream.h"

#include <stdio.h>

enum {
    RETRY_UNKNOWN_S = 5,
    RETRY_MAX_S = 300,
    FAILED_RETRY_S = 5,
    TIMEOUT_RETRY_S = 1,
    LIMITED_RETRY_MAX_S = 3600,
};

unsigned refusal_retry_s(bool is_known, uint64_t eta_s)
{
    if (!is_known)
        return RETRY_UNKNOWN_S;
    return eta_s < 1 ? 1 : eta_s > RETRY_MAX_S ? RETRY_MAX_S : (unsigned)eta_s;
}

static const char *timeout_text(enum question_progress progress)
{
    switch (progress) {
    case QUESTION_CLAIMED:
        return "An engine is working on this question, but has not answered in time: send the "
               "same request again to keep waiting for it.";
    case QUESTION_OPEN:
        return "No engine has taken this question in time, since all are busy: send the same "
               "request again to keep its place.";
    default: return err_info(ERR_NO_ANSWER)->text;
    }
}

void refusal_of(const struct question_end *end, struct refusal *ret_refusal)
{
    *ret_refusal = (struct refusal){.error = ERR_REDIS_LOST, .retry_after_s = TIMEOUT_RETRY_S};
    switch (end->outcome) {
    case QUESTION_NO_ENGINE:
        ret_refusal->error = ERR_NO_ENGINE;
        ret_refusal->retry_after_s = refusal_retry_s(end->eta_s > 0, end->eta_s);
        if (end->eta_s > 0)
            snprintf(ret_refusal->detail, sizeof ret_refusal->detail,
                     "Every engine is resting because its model server is busy or unreachable: "
                     "retry later.");
        break;
    case QUESTION_FULL:
        ret_refusal->error = ERR_QUEUE_FULL;
        ret_refusal->retry_after_s = refusal_retry_s(end->eta_s > 0, end->eta_s);
        snprintf(ret_refusal->members, sizeof ret_refusal->members, "\"depth\":%llu",
                 (unsigned long long)end->depth);
        break;
    case QUESTION_TIMEOUT:
        ret_refusal->error = ERR_NO_ANSWER;
        snprintf(ret_refusal->detail, sizeof ret_refusal->detail, "%s",
                 timeout_text(end->progress));
        break;
    case QUESTION_FAILED:
        ret_refusal->error = ERR_ENGINE_FAILED;
        ret_refusal->retry_after_s = FAILED_RETRY_S;
        break;
    case QUESTION_LOST:
        /* One whose verb broke, too. */
        if (end->error != ERR_INTERNAL)
            ret_refusal->error = end->error;
        break;
    default: break;
    }
}

void refusal_of_limit(const struct request *r, uint64_t retry_ms, uint64_t limit, uint64_t window_s,
                      struct refusal *ret_refusal)
{
    uint64_t retry_s = retry_ms / 1000 + (retry_ms % 1000 != 0);
    retry_s = retry_s < 1 ? 1 : retry_s > LIMITED_RETRY_MAX_S ? LIMITED_RETRY_MAX_S : retry_s;
    *ret_refusal = (struct refusal){.error = ERR_RATE_LIMITED, .retry_after_s = (unsigned)retry_s};
    snprintf(ret_refusal->detail, sizeof ret_refusal->detail,
             "Too many requests of this kind from this %s: at most %llu in %llu %s. Retry in %llu "
             "%s.",
             r->account == NULL ? "address" : "user", (unsigned long long)limit,
             COUNTED(window_s, "second"), COUNTED(retry_s, "second"));
}

void refusal_of_drain(struct refusal *ret_refusal)
{
    *ret_refusal = (struct refusal){.error = ERR_DRAINING, .retry_after_s = TIMEOUT_RETRY_S};
}

void refusal_respond(struct request *r, const struct refusal *refusal)
{
    respond_error_more(r, refusal->error, refusal->detail[0] != 0 ? refusal->detail : NULL,
                       refusal->members[0] != 0 ? refusal->members : NULL, refusal->retry_after_s);
}

void refusal_put_event(struct buf *b, struct request *r, const struct refusal *refusal)
{
    stream_put_error(b, r, refusal->error, refusal->detail[0] != 0 ? refusal->detail : NULL,
                     refusal->members[0] != 0 ? refusal->members : NULL, refusal->retry_after_s);
}
