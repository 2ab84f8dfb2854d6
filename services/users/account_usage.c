/* SPDX-License-Identifier: MIT
 * account_usage.c - GET /api/usage: what an account has used by day and model, and how much of its
 * budgets (lua/account/account_usage.lua). Each shard has what was answered there; rows of the same
 * account, day and model are added up. Operators read all accounts, a page at a time in the order
 * of the file. */
#include "services/users/users.h"

#include "generated/verbs.h"
#include "shared/base/mem.h"
#include "shared/http/access/gate.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/gather.h"
#include "shared/http/request/respond.h"

#include <stdlib.h>

enum {
    PAGE = 20, /* accounts, as many as the verb takes */
    DAYS = 30, /* lua/users/tokens.lua */
    DAY_S = 86400,
    DATE_CHARS = 10,
    ANSWER_MAX_BYTES = 64 << 20,
};

enum used { USED_REQUESTS, USED_RUNNING, USED_TOKENS, USED_NR };
enum count { COUNT_REQUESTS, COUNT_PROMPT, COUNT_COMPLETION, COUNT_ESTIMATED, COUNT_NR };

struct row {
    unsigned account;
    uint64_t day;     /* since 1970 */
    struct str model; /* name, or "<api>/<name>" */
    uint64_t n[COUNT_NR];
};

struct reading {
    const struct account *accounts[PAGE];
    unsigned account_n;
    uint64_t next; /* 0: there are no more */
    uint64_t used[PAGE][USED_NR];
    struct row *rows;
    size_t row_n;
};

/* --- rows ------------------------------------------------------------------------------------- */

static int compare_str(struct str a, struct str b)
{
    int order = memcmp(a.at, b.at, a.n < b.n ? a.n : b.n);
    return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

/* By account, the newest day first. */
static int compare(const void *one, const void *other)
{
    const struct row *a = one, *b = other;
    if (a->account != b->account)
        return a->account < b->account ? -1 : 1;
    if (a->day != b->day)
        return a->day > b->day ? -1 : 1;
    return compare_str(a->model, b->model);
}

static size_t lines_n(struct str text)
{
    size_t n = 1;
    for (size_t i = 0; i < text.n; i++)
        n += text.at[i] == '\n';
    return n;
}

static uint64_t next_u64(struct str *line)
{
    uint64_t n = 0;
    return str_parse_u64(str_cut(line, ' '), &n) ? n : 0;
}

/* Accounts come in the order in which they were named. */
static void read_shard(struct reading *reading, struct str reply)
{
    struct lines lines = lines_of(reply);
    unsigned account = 0;
    (void)lines_next(&lines); /* "ok" */
    for (bool is_first = true; lines_are_left(&lines);) {
        struct str line = lines_next(&lines);
        if (line.n > 0 && line.at[0] == '@') {
            account += !is_first;
            is_first = false;
            (void)str_cut(&line, ' ');
            (void)str_cut(&line, ' ');
            for (unsigned k = 0; k < USED_NR; k++)
                reading->used[account][k] += next_u64(&line);
            continue;
        }
        struct row *row = &reading->rows[reading->row_n++];
        *row = (struct row){.account = account, .day = next_u64(&line)};
        row->model = str_cut(&line, ' ');
        for (unsigned k = 0; k < COUNT_NR; k++)
            row->n[k] = next_u64(&line);
    }
}

static void add_up(struct reading *reading)
{
    size_t n = 0;
    struct row *rows = reading->rows;
    qsort(rows, reading->row_n, sizeof *rows, compare);
    for (size_t i = 0; i < reading->row_n; i++) {
        if (n == 0 || compare(&rows[n - 1], &rows[i]) != 0) {
            rows[n++] = rows[i];
            continue;
        }
        for (unsigned k = 0; k < COUNT_NR; k++)
            rows[n - 1].n[k] += rows[i].n[k];
    }
    reading->row_n = n;
}

/* --- the answer ------------------------------------------------------------------------------- */

static void put_budget(struct buf *b, const char *name, uint64_t most, uint64_t used)
{
    buf_put_key(b, name);
    if (most > 0)
        buf_printf(b, "{\"max\":%llu,\"used\":%llu}", (unsigned long long)most,
                   (unsigned long long)used);
    else
        buf_lit(b, "null");
}

/* `%` is no model's name: what did not fit (lua/users/tokens.lua). */
static void put_model(struct buf *b, struct str model)
{
    struct str rest = model, api = str_cut(&rest, '/');
    buf_lit(b, ",\"api\":");
    if (api.n < model.n)
        buf_put_json_of_name(b, api);
    else
        buf_lit(b, "null");
    buf_lit(b, ",\"model\":");
    if (str_eq(model, STR("%")))
        buf_lit(b, "null");
    else
        buf_put_json_of_name(b, api.n < model.n ? rest : model);
}

static void put_row(struct buf *b, const struct row *row)
{
    char bytes[64];
    struct buf date = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    buf_put_timestamp(&date, row->day * DAY_S);
    buf_printf(b, "{\"day\":\"%.*s\"", DATE_CHARS, date.at);
    put_model(b, row->model);
    buf_printf(b,
               ",\"requests\":%llu,\"prompt_tokens\":%llu,\"completion_tokens\":%llu,\"estimated_"
               "requests\":%llu}",
               (unsigned long long)row->n[COUNT_REQUESTS], (unsigned long long)row->n[COUNT_PROMPT],
               (unsigned long long)row->n[COUNT_COMPLETION],
               (unsigned long long)row->n[COUNT_ESTIMATED]);
}

static void put_account(struct buf *b, const struct reading *reading, unsigned i, size_t *row)
{
    const struct account *account = reading->accounts[i];
    const uint64_t *used = reading->used[i];
    buf_lit(b, "{\"account\":");
    buf_put(b, account->name_json);
    put_budget(b, "requests_per_minute", account->requests_per_minute, used[USED_REQUESTS]);
    put_budget(b, "tokens_per_day", account->tokens_per_day, used[USED_TOKENS]);
    put_budget(b, "max_concurrent", account->max_concurrent, used[USED_RUNNING]);
    buf_lit(b, ",\"rows\":[");
    for (bool is_first = true; *row < reading->row_n && reading->rows[*row].account == i;
         (*row)++, is_first = false) {
        if (!is_first)
            buf_put_char(b, ',');
        put_row(b, &reading->rows[*row]);
    }
    buf_lit(b, "]}");
}

static void answer(struct request *r, const struct reading *reading)
{
    struct buf b;
    size_t row = 0;
    buf_init(&b, ANSWER_MAX_BYTES);
    buf_lit(&b, "{\"accounts\":[");
    for (unsigned i = 0; i < reading->account_n; i++) {
        if (i > 0)
            buf_put_char(&b, ',');
        put_account(&b, reading, i, &row);
    }
    buf_lit(&b, "],\"next\":");
    if (reading->next > 0)
        buf_put_u64(&b, reading->next);
    else
        buf_lit(&b, "null");
    buf_put_char(&b, '}');
    respond_json(r, 200, &b);
    buf_fini(&b);
}

static void on_read(struct request *r, enum err error, const struct gather *all)
{
    struct reading *reading = r->state;
    struct lines none = lines_of(STR(""));
    size_t most = 0;
    if (reply_refuse(r, error, STR("ok"), &none))
        return;
    for (unsigned i = 0; i < all->n; i++)
        most += lines_n(all->replies[i]);
    reading->rows = mem_alloc(most * sizeof *reading->rows);
    for (unsigned i = 0; i < all->n; i++)
        read_shard(reading, all->replies[i]);
    add_up(reading);
    answer(r, reading);
    free(reading->rows);
}

/* --- the request ------------------------------------------------------------------------------ */

static bool pick_named(struct request *r, struct reading *reading, struct str name)
{
    reading->accounts[0] = accounts_find(gate_accounts(r->server->gate), name);
    if (reading->accounts[0] == NULL) {
        explain(r, ERR_NOT_FOUND, "There is no account %s.", explain_quoted(r, name));
        return false;
    }
    reading->account_n = 1;
    return true;
}

static bool pick_page(struct request *r, struct reading *reading)
{
    const struct accounts *accounts = gate_accounts(r->server->gate);
    uint64_t from;
    if (!request_param_u64(r, "after", 0, UINT32_MAX, 0, &from))
        return false;
    for (; from < accounts_count(accounts) && reading->account_n < PAGE; from++)
        reading->accounts[reading->account_n++] = accounts_at(accounts, from);
    reading->next = from < accounts_count(accounts) ? from : 0;
    return true;
}

void users_account_usage(struct request *r)
{
    struct reading *reading = request_alloc(r, sizeof *reading);
    struct str name = request_param(r, "account");
    uint64_t days;
    *reading = (struct reading){.accounts = {r->account}, .account_n = 1};
    if (!request_param_u64(r, "days", 1, DAYS, DAYS, &days))
        return;
    if (r->account->role == ROLE_OPERATOR) {
        reading->account_n = 0;
        if (!(name.at != NULL ? pick_named(r, reading, name) : pick_page(r, reading)))
            return;
    }
    r->state = reading;
    struct gather *all = gather_begin(r, on_read);
    for (unsigned i = 0; i < all->n; i++) {
        struct verb_writer verb = begin_account_usage(gather_call(r, i), .days = days);
        for (unsigned k = 0; k < reading->account_n; k++)
            put_account_usage_account(&verb, .name = reading->accounts[k]->name_token);
        end_verb(&verb);
    }
}
