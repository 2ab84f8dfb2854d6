/* SPDX-License-Identifier: MIT
 * asker.c - see asker.h. */
#include "services/documents/ask/asker.h"

#include <stdio.h>

enum { NO_ENGINE_RETRY_S = 5, TIMEOUT_RETRY_S = 1, FULL_RETRY_MAX_S = 300 };

struct asker asker_of_owner(struct request *r, const struct owner *owner)
{
    return (struct asker){.queue = documents_of(r)->queue,
                          .user = owner->name,
                          .user_name = owner->name_token,
                          .account = r->account->name_token,
                          .weight = r->account->weight_text,
                          .traceparent = request_header(r, "traceparent"),
                          .max_waiting = r->account->max_waiting,
                          .space = owner->space};
}

struct asker asker_of_public(struct request *r, struct str space)
{
    /* No account's name holds a colon. */
    return (struct asker){.queue = documents_of(r)->queue,
                          .user = STR("public"),
                          .user_name = STR("public"),
                          .account = STR("%3Apublic"),
                          .max_waiting = documents_of(r)->settings->public_max_waiting,
                          .traceparent = request_header(r, "traceparent"),
                          .space = space};
}

void asker_put(const struct asker *asker, struct question_settings *settings)
{
    settings->user = asker->user;
    settings->user_name = asker->user_name;
    settings->account = asker->account;
    settings->weight = asker->weight;
    settings->max_waiting = asker->max_waiting;
    settings->traceparent = asker->traceparent;
}

/* --- presence --------------------------------------------------------------------------------- */

static void end(struct presence *presence, bool has_left)
{
    presence_stop(presence);
    presence->on_end(presence, has_left);
}

static void on_left(struct left_listener *listener)
{
    end(H2O_STRUCT_FROM_MEMBER(struct presence, left, listener), true);
}

/* It had left, lost its right, or the node drained, before the wait began. */
static void on_soon(struct deadline *deadline)
{
    struct presence *presence = H2O_STRUCT_FROM_MEMBER(struct presence, soon, deadline);
    end(presence, presence->r->has_left || presence->r->revoked != ERR_OK);
}

void presence_start(struct presence *presence, struct request *r,
                    void (*on_end)(struct presence *presence, bool has_left))
{
    struct documents *documents = documents_of(r);
    *presence = (struct presence){.next = documents->waiting,
                                  .soon = {.on_expire = on_soon},
                                  .left = {.on_left = on_left},
                                  .r = r,
                                  .on_end = on_end,
                                  .is_on = true};
    if (presence->next != NULL)
        presence->next->previous = presence;
    documents->waiting = presence;
    request_on_left(r, &presence->left);
    if (r->has_left || r->revoked != ERR_OK || r->server->is_draining)
        loop_set_deadline(r->server->loop, &presence->soon, 0);
}

void presence_stop(struct presence *presence)
{
    struct request *r = presence->r;
    if (!presence->is_on)
        return;
    presence->is_on = false;
    request_off_left(r, &presence->left);
    loop_cancel_deadline(r->server->loop, &presence->soon);
    if (presence->previous != NULL)
        presence->previous->next = presence->next;
    else
        documents_of(r)->waiting = presence->next;
    if (presence->next != NULL)
        presence->next->previous = presence->previous;
}

void documents_drain(struct documents *documents)
{
    while (documents->waiting != NULL)
        end(documents->waiting, false);
}

/* --- refusals --------------------------------------------------------------------------------- */

static void refuse_full(const struct question_end *end, struct refusal *refusal)
{
    refusal->error = ERR_QUEUE_FULL;
    refusal->retry_after_s = NO_ENGINE_RETRY_S;
    if (end->eta_s > 0)
        refusal->retry_after_s =
            end->eta_s < FULL_RETRY_MAX_S ? (unsigned)end->eta_s : FULL_RETRY_MAX_S;
    snprintf(refusal->members, sizeof refusal->members, "\"depth\":%llu",
             (unsigned long long)end->depth);
}

static void use_llm_words(struct refusal *refusal)
{
    char more[sizeof refusal->members];
    if (refusal->detail[0] == 0)
        snprintf(refusal->detail, sizeof refusal->detail, "%s", err_info(refusal->error)->text);
    if (!err_is_outage(refusal->error) && refusal->error != ERR_STORE_FULL &&
        refusal->error != ERR_DRAINING)
        refusal->error = ERR_LLM_UNAVAILABLE;
    snprintf(more, sizeof more, "%s%.100s", refusal->members[0] != 0 ? "," : "", refusal->members);
    snprintf(refusal->members, sizeof refusal->members, "\"retryable\":true%.100s", more);
}

void refusal_of(const struct question_end *end, bool is_llm, struct refusal *ret_refusal)
{
    *ret_refusal = (struct refusal){.error = ERR_REDIS_LOST, .retry_after_s = TIMEOUT_RETRY_S};
    switch (end->outcome) {
    case QUESTION_NO_ENGINE:
        ret_refusal->error = ERR_NO_ENGINE;
        ret_refusal->retry_after_s = NO_ENGINE_RETRY_S;
        if (end->eta_s > 0) {
            ret_refusal->retry_after_s =
                end->eta_s < FULL_RETRY_MAX_S ? (unsigned)end->eta_s : FULL_RETRY_MAX_S;
            snprintf(
                ret_refusal->detail, sizeof ret_refusal->detail,
                "Every engine rests, because its model's server is busy or away: retry later.");
        }
        break;
    case QUESTION_FULL: refuse_full(end, ret_refusal); break;
    case QUESTION_TIMEOUT: ret_refusal->error = ERR_NO_ANSWER; break;
    case QUESTION_FAILED:
        ret_refusal->error = ERR_ENGINE_FAILED;
        ret_refusal->retry_after_s = NO_ENGINE_RETRY_S;
        break;
    case QUESTION_LOST:
        /* One whose verb broke, too. */
        if (end->error != ERR_INTERNAL)
            ret_refusal->error = end->error;
        break;
    default: break;
    }
    if (is_llm)
        use_llm_words(ret_refusal);
}

void refusal_of_drain(bool is_llm, struct refusal *ret_refusal)
{
    *ret_refusal = (struct refusal){.error = ERR_DRAINING, .retry_after_s = TIMEOUT_RETRY_S};
    if (is_llm)
        use_llm_words(ret_refusal);
}

void refusal_respond(struct request *r, const struct refusal *refusal)
{
    respond_error_more(r, refusal->error, refusal->detail[0] != 0 ? refusal->detail : NULL,
                       refusal->members[0] != 0 ? refusal->members : NULL, refusal->retry_after_s);
}

void refusal_put_event(struct request *r, const struct refusal *refusal, struct buf *b)
{
    const struct err_info *info = err_info(refusal->error);
    struct str detail = str_of(refusal->detail[0] != 0 ? refusal->detail : info->text);
    buf_printf(b, "{\"status\":%d,\"code\":\"%s\",\"detail\":", info->status, info->code);
    buf_put_json(b, detail);
    buf_lit(b, ",\"error\":");
    buf_put_json(b, detail);
    buf_printf(b, ",\"retry_after\":%u,\"instance\":", refusal->retry_after_s);
    buf_put_json(b, r->id);
    if (refusal->members[0] != 0)
        buf_printf(b, ",%s", refusal->members);
    buf_put_char(b, '}');
}
