/* SPDX-License-Identifier: MIT
 * budget.c - see budget.h. */
#include "services/openai/budget.h"

#include "generated/verbs.h"
#include "services/openai/owed.h"
#include "shared/ask/reply.h"
#include "shared/base/mem.h"
#include "shared/http/request/explain.h"

#include <stdio.h>

enum { RETRY_MAX_MS = 60000, DURATION_BYTES = 64, HEADER_LINES = 4 };

bool budget_is_needed(const struct account *account)
{
    return account->requests_per_minute > 0 || account->tokens_per_day > 0 ||
           account->max_concurrent > 0;
}

/* --- headers ---------------------------------------------------------------------------------- */

static void put_number(struct request *r, const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    respond_header(r, name, str_of(text));
}

/* As OpenAI writes it: 20ms, 6s, 1m0s, 23h59m1s. */
static void put_duration(struct request *r, const char *name, uint64_t ms)
{
    char text[DURATION_BYTES];
    unsigned long long s = (ms + 999) / 1000, minutes = s / 60, hours = minutes / 60;
    if (ms < 1000)
        snprintf(text, sizeof text, "%llums", (unsigned long long)ms);
    else if (minutes == 0)
        snprintf(text, sizeof text, "%llus", s);
    else if (hours == 0)
        snprintf(text, sizeof text, "%llum%llus", minutes, s % 60);
    else
        snprintf(text, sizeof text, "%lluh%llum%llus", hours, minutes % 60, s % 60);
    respond_header(r, name, str_of(text));
}

static void put_headers(struct request *r, struct lines *reply)
{
    const struct account *account = r->account;
    uint64_t requests = lines_next_u64(reply), requests_ms = lines_next_u64(reply);
    uint64_t tokens = lines_next_u64(reply), tokens_ms = lines_next_u64(reply);
    if (account->requests_per_minute > 0) {
        put_number(r, "x-ratelimit-limit-requests", account->requests_per_minute);
        put_number(r, "x-ratelimit-remaining-requests", requests);
        put_duration(r, "x-ratelimit-reset-requests", requests_ms);
    }
    if (account->tokens_per_day > 0) {
        put_number(r, "x-ratelimit-limit-tokens", account->tokens_per_day);
        put_number(r, "x-ratelimit-remaining-tokens", tokens);
        put_duration(r, "x-ratelimit-reset-tokens", tokens_ms);
    }
}

/* --- refusals --------------------------------------------------------------------------------- */

static void refuse(struct request *r, struct str used_up, uint64_t wait_ms)
{
    const struct account *account = r->account;
    char detail[256];
    bool is_of_day = str_eq(used_up, STR("tokens"));
    uint64_t retry_ms = wait_ms < 1 ? 1 : wait_ms > RETRY_MAX_MS ? RETRY_MAX_MS : wait_ms;
    if (is_of_day)
        snprintf(detail, sizeof detail,
                 "This account has used up its %llu %s for today (UTC). An operator can raise "
                 "tokens_per_day of the account.",
                 COUNTED_AS(account->tokens_per_day, "token", "tokens"));
    else if (str_eq(used_up, STR("requests")))
        snprintf(detail, sizeof detail,
                 "Rate limit reached: this account may send %llu %s a minute. Retry in %llu "
                 "ms.",
                 COUNTED_AS(account->requests_per_minute, "request", "requests"),
                 (unsigned long long)retry_ms);
    else
        snprintf(
            detail, sizeof detail,
            "This account has %llu %s at work, as many as it may at a time. Retry when one has "
            "ended.",
            COUNTED_AS(account->max_concurrent, "request", "requests"));
    metrics_add(r->server->metrics, METRIC_RATE_LIMITED, 1);
    if (is_of_day) /* a retry within the minute gets the same */
        respond_header(r, "x-should-retry", STR("false"));
    respond_error_more(r, is_of_day ? ERR_QUOTA_USED : ERR_RATE_LIMITED, detail, NULL,
                       (unsigned)((retry_ms + 999) / 1000));
}

/* --- the life of one -------------------------------------------------------------------------- */

void budget_take(struct budget *budget, struct request *r, struct str id,
                 request_reply_cb *on_reply)
{
    const struct account *account = r->account;
    *budget = (struct budget){.id = id, .is_counted = true};
    call_budget_take(
        request_call(r, on_reply), .account = account->name_token, .id = id,
        .requests = !r->is_behind && account->requests_per_minute > 0 ? account->requests_per_minute
                                                                      : NO_NUMBER,
        .tokens = account->tokens_per_day > 0 ? account->tokens_per_day : NO_NUMBER,
        .running =
            !r->is_behind && account->max_concurrent > 0 ? account->max_concurrent : NO_NUMBER);
}

bool budget_admit(struct budget *budget, struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    bool is_taken = error == ERR_OK && str_eq(lines_next(&lines), STR("ok"));
    if (error == ERR_OK) /* else it may have been counted */
        budget->is_counted = is_taken;
    if (error == ERR_OK)
        put_headers(r, &lines);
    return is_taken;
}

void budget_refuse(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct str budget = lines_next(&lines);
    if (reply_refuse(r, error, budget, &lines))
        return;
    for (unsigned i = 0; i < HEADER_LINES; i++)
        (void)lines_next(&lines);
    refuse(r, budget, lines_next_u64(&lines));
}

struct release {
    struct owed owed;
    struct str id;
    bool is_void;
    char names[];
};

static void send_release(struct owed *owed, struct call_start start)
{
    const struct release *release = container_of(owed, struct release, owed);
    call_budget_release(start, .account = owed->home, .id = release->id,
                        .is_void = release->is_void);
}

static void release(struct budget *budget, const struct request *r, bool is_void)
{
    struct str account = r->account->name_token, id = budget->id;
    struct release *release = mem_zeroed(sizeof *release + account.n + id.n);
    budget->is_counted = false;
    release->owed.home.at = memcpy(release->names, account.at, account.n);
    release->owed.home.n = account.n;
    release->id.at = memcpy(release->names + account.n, id.at, id.n);
    release->id.n = id.n;
    release->is_void = is_void;
    release->owed.send = send_release;
    owed_start(openai_of(r), &release->owed, 0);
}

void budget_pass(struct budget *budget, const struct request *r, bool is_certain)
{
    if (budget->is_counted && !is_certain)
        release(budget, r, false);
    budget->is_counted = false;
}

void budget_fini(struct budget *budget, const struct request *r)
{
    if (budget->is_counted)
        release(budget, r, true);
}
