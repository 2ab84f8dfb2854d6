/* SPDX-License-Identifier: MIT
 * openai_end.c - ends completions by what their responses were: see openai_internal.h.
 *
 * Half an answer is none: what ends without a finish_reason or [DONE] is a failure. A server that
 * has ended its text without any of it will do so again: that refuses the prompt, unless it gave
 * no reason. To a client of a door, whatever the server says is an answer, even no text. */
#include "services/engine/models/openai_internal.h"

#include "services/engine/models/openai_judge.h"
#include "services/engine/models/openai_piece.h"

#include "shared/http/request/error_text.h"

#include <stdio.h>

/* Takes `error`, which is for a client of a door; NULL: it gets the reason. */
static void finish_with(struct completion *completion, enum completion_outcome outcome,
                        uint64_t retry_after_s, json_t *error)
{
    const struct completion_events *events = completion->events;
    const struct openai_reply *reply = &completion->reply;
    void *context = completion->context;
    char reason[REPLY_REASON_MAX_BYTES];
    struct completion_end end = {.outcome = outcome,
                                 .reason = outcome == COMPLETION_DONE ? "" : reason,
                                 .retry_after_s = retry_after_s,
                                 .error = error,
                                 .facts = {.has_usage = reply->has_usage,
                                           .prompt_tokens = reply->prompt_tokens,
                                           .completion_tokens = reply->completion_tokens}};
    snprintf(end.facts.finish, sizeof end.facts.finish, "%s",
             completion->is_enough ? "length" : reply->finish);
    memcpy(reason, completion->reason, sizeof reason);
    openai_free(completion);
    events->on_done(context, &end);
    json_decref(error);
}

void openai_finish(struct completion *completion, enum completion_outcome outcome)
{
    finish_with(completion, outcome, 0, NULL);
}

void openai_refuse(struct completion *completion, int status, const json_t *error)
{
    finish_with(completion, COMPLETION_REFUSED, 0,
                openai_make_error(status, error, completion->reason));
}

void openai_set_reason(struct completion *completion, const char *what, struct str more)
{
    snprintf(completion->reason, sizeof completion->reason, "%s%s%.*s", what,
             more.n > 0 ? ": " : "", STR_ARG(more));
}

void openai_fail_with_status(struct completion *completion, const struct http_response *response)
{
    int status = response->status;
    enum completion_outcome outcome = openai_judge(completion->prompt->api, status, response->body);
    char why[160];
    json_t *json = NULL;
    struct buf reason;
    buf_init(&reason, SIZE_MAX / 2);
    openai_put_status(&reason, status, response->body);
    buf_terminate(&reason);
    openai_set_reason(completion, reason.at, STR(""));
    buf_fini(&reason);
    if (outcome != COMPLETION_REFUSED) {
        finish_with(completion, outcome, response->retry_after_s, NULL);
        return;
    }
    if (!json_parse(response->body, why, sizeof why, &json))
        json = NULL;
    /* What a server says of its own status 5xx is about the prompt, if that is refused. */
    openai_refuse(completion, status >= 500 && status != 501 ? 400 : status, json);
    json_decref(json);
}

/* The server has ended its answer, of which there is none. */
static enum completion_outcome judge_silence(struct completion *completion)
{
    const struct openai_reply *reply = &completion->reply;
    const char *word = reply->finish;
    if (reply->refusal.n > 0) {
        struct buf line;
        buf_init(&line, SIZE_MAX / 2);
        http_put_one_line(&line, buf_str(&reply->refusal));
        openai_set_reason(completion, "the model refused to answer (refusal)", buf_str(&line));
        buf_fini(&line);
        return COMPLETION_REFUSED;
    }
    bool is_plain_stop = word[0] == 0 || strcmp(word, "stop") == 0;
    if (reply->has_tools && is_plain_stop)
        word = "tool_calls";
    openai_set_reason(completion, "the model returned no text", str_of(word));
    bool is_reasonless = is_plain_stop && !reply->has_tools && !completion->has_thoughts;
    return is_reasonless ? COMPLETION_RETRY : COMPLETION_REFUSED;
}

/* The answer is not whole. */
static void fail(struct completion *completion, const char *lost)
{
    const struct openai_reply *reply = &completion->reply;
    if (reply->is_broken)
        openai_set_reason(completion, reply->reason, STR(""));
    else if (completion->is_empty)
        openai_set_reason(completion, "the model server sent nothing but comments", STR(""));
    else if (lost != NULL)
        openai_set_reason(completion, "the answer of the model server broke off", str_of(lost));
    else
        openai_set_reason(completion, "the model server ended the answer without a finish_reason",
                          STR(""));
    if (reply->is_hopeless)
        openai_refuse(completion, 400, reply->error);
    else
        openai_finish(completion, COMPLETION_RETRY);
}

bool openai_is_whole(const struct completion *completion)
{
    const struct openai_reply *reply = &completion->reply;
    if (!openai_is_passed(completion) || openai_is_of_messages(completion))
        return reply_is_whole(reply);
    /* The end of one choice is not that of the others. */
    return !reply->is_broken && (reply->is_over || openai_is_failure(str_of(reply->finish)) ||
                                 delta_maker_has_ended(&completion->maker) ||
                                 (reply->form == REPLY_OBJECT && completion->maker.choice_n > 0));
}

/* The whole answer of a request that was passed on. */
static void conclude_passed(struct completion *completion)
{
    if (openai_is_of_messages(completion)) {
        openai_finish(completion, COMPLETION_DONE);
    } else if (completion->maker.choice_n == 0) {
        openai_set_reason(completion, "the model returned no choice", STR(""));
        openai_finish(completion, COMPLETION_RETRY);
    } else if (!delta_maker_finish(&completion->maker)) {
        openai_set_reason(completion, "the answer is too large", STR(""));
        openai_refuse(completion, 500, NULL);
    } else {
        openai_finish(completion, COMPLETION_DONE);
    }
}

void openai_conclude(struct completion *completion, const char *lost)
{
    struct openai_reply *reply = &completion->reply;
    if (completion->is_enough) {
        openai_finish(completion, COMPLETION_DONE);
    } else if (completion->messages.is_disordered) {
        openai_set_reason(completion, "the model server sent events in no order", STR(""));
        openai_finish(completion, COMPLETION_RETRY);
    } else if (completion->is_full) {
        openai_set_reason(completion, "the answer is too large", STR(""));
        openai_refuse(completion, 500, NULL);
    } else if (!openai_is_whole(completion)) {
        fail(completion, lost);
    } else if (openai_is_failure(str_of(reply->finish))) {
        openai_set_reason(completion, "the model server gave up", str_of(reply->finish));
        openai_finish(completion, COMPLETION_RETRY);
    } else {
        openai_put_rest(completion);
        if (openai_is_passed(completion))
            conclude_passed(completion);
        else
            openai_finish(completion,
                          completion->has_answer ? COMPLETION_DONE : judge_silence(completion));
    }
}

void openai_conclude_embeddings(struct completion *completion, struct str body)
{
    struct openai_reply *reply = &completion->reply;
    char reason[160];
    json_t *json = NULL;
    reply->has_usage = openai_read_tokens(body, &reply->prompt_tokens);
    if (openai_pass_embeddings(body, openai_on_delta, completion)) {
        openai_finish(completion, COMPLETION_DONE);
        return;
    }
    if (completion->is_full) {
        openai_set_reason(completion, "the answer is too large", STR(""));
        openai_refuse(completion, 500, NULL);
        return;
    }
    if (!json_parse(body, reason, sizeof reason, &json))
        json = NULL;
    openai_set_reason(completion, "the model server sent a response without embeddings",
                      http_error_message(json));
    json_decref(json);
    openai_finish(completion, COMPLETION_RETRY);
}
