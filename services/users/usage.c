/* SPDX-License-Identifier: MIT
 * usage.c - GET /api/users/{user}/usage: a user's storage and limits (lua/users/usage.lua). Queries
 * are counted topic by topic, a page of topics after the other. */
#include "services/users/users.h"

#include "generated/verbs.h"
#include "shared/ask/limits.h"
#include "shared/http/request/gather.h"
#include "shared/http/request/respond.h"

enum { TOKEN_DAYS = 30 }; /* lua/users/tokens.lua */

/* In the order of the verb's reply. */
enum count {
    COUNT_QUERIES,
    COUNT_TOPICS,
    COUNT_OPEN,
    COUNT_STORED,
    COUNT_STORED_OF_ACCOUNT,
    COUNT_RECOMMENDATIONS,
    COUNT_DOCUMENTS,
    COUNT_BYTES,
    COUNT_PASSAGES,
    COUNT_UPLOADS_MINUTE,
    COUNT_UPLOADS_HOUR,
    COUNT_ASKS_MINUTE,
    COUNT_RUNS,
    COUNT_ROOMS,
    COUNT_MESSAGES,
    COUNT_BOTS,
    COUNT_EVALUATIONS,
    COUNT_TOKENS_READ,
    COUNT_TOKENS_WRITTEN,
    COUNT_ACCOUNT_TOKENS_READ,
    COUNT_ACCOUNT_TOKENS_WRITTEN,
    COUNT_NR
};

struct counting {
    struct user_of_path person;
    uint64_t from, n[COUNT_NR];
};

static void count_page(struct request *r);

static void put_pair(struct buf *b, const char *key, const char *one, uint64_t n, const char *other,
                     uint64_t most)
{
    buf_printf(b, ",\"%s\":{\"%s\":%llu,\"%s\":%llu", key, one, (unsigned long long)n, other,
               (unsigned long long)most);
}

static void put_rate(struct buf *b, uint64_t used, uint64_t most, unsigned seconds)
{
    buf_printf(b, "{\"Used\":%llu,\"Max\":%llu,\"Seconds\":%u}", (unsigned long long)used,
               (unsigned long long)most, seconds);
}

static void put_bound(struct buf *b, const char *key, uint64_t bytes)
{
    buf_put_key(b, key);
    if (bytes > 0)
        buf_put_u64(b, bytes);
    else
        buf_lit(b, "null");
}

/* Bytes of the user and of the whole account, if they are counted. */
static void put_stored(struct buf *b, const struct request *r, const uint64_t *n)
{
    const struct account *account = r->account;
    if (account->max_stored == 0 && account->max_stored_per_user == 0) {
        buf_lit(b, ",\"Stored\":{\"Bytes\":null,\"BytesMax\":null,\"AccountBytes\":null,"
                   "\"AccountBytesMax\":null}");
        return;
    }
    buf_printf(b, ",\"Stored\":{\"Bytes\":%llu", (unsigned long long)n[COUNT_STORED]);
    put_bound(b, "BytesMax", account->max_stored_per_user);
    buf_put_key(b, "AccountBytes");
    buf_put_u64(b, n[COUNT_STORED_OF_ACCOUNT]);
    put_bound(b, "AccountBytesMax", account->max_stored);
    buf_put_char(b, '}');
}

static void put_tokens(struct buf *b, const uint64_t *n, bool has_account)
{
    put_pair(b, "Tokens", "Prompt", n[COUNT_TOKENS_READ], "Completion", n[COUNT_TOKENS_WRITTEN]);
    if (has_account)
        buf_printf(b, ",\"AccountPrompt\":%llu,\"AccountCompletion\":%llu",
                   (unsigned long long)n[COUNT_ACCOUNT_TOKENS_READ],
                   (unsigned long long)n[COUNT_ACCOUNT_TOKENS_WRITTEN]);
    else
        buf_lit(b, ",\"AccountPrompt\":null,\"AccountCompletion\":null");
    buf_printf(b, ",\"Days\":%u}", TOKEN_DAYS);
}

static void answer(struct request *r, const struct counting *counting)
{
    struct buf *b = &r->server->scratch;
    const uint64_t *n = counting->n;
    bool has_open = r->account->role != ROLE_OPERATOR;
    buf_clear(b);
    buf_lit(b, "{\"User\":");
    buf_put_json(b, counting->person.on_behalf.user);
    buf_printf(b, ",\"Topics\":{\"Count\":%llu}", (unsigned long long)n[COUNT_TOPICS]);
    if (has_open) {
        put_pair(b, "Queries", "Count", n[COUNT_QUERIES], "Open", n[COUNT_OPEN]);
        buf_printf(b, ",\"OpenMax\":%u}", r->account->max_waiting);
    } else {
        buf_printf(b, ",\"Queries\":{\"Count\":%llu,\"Open\":null,\"OpenMax\":null}",
                   (unsigned long long)n[COUNT_QUERIES]);
    }
    put_stored(b, r, n);
    put_tokens(b, n, has_open);
    buf_printf(b, ",\"Recommendations\":{\"Count\":%llu}",
               (unsigned long long)n[COUNT_RECOMMENDATIONS]);
    buf_printf(b, ",\"Runs\":{\"Count\":%llu}", (unsigned long long)n[COUNT_RUNS]);
    put_pair(b, "Rooms", "Count", n[COUNT_ROOMS], "Messages", n[COUNT_MESSAGES]);
    buf_printf(b, "},\"Bots\":{\"Count\":%llu},\"Evaluations\":{\"Count\":%llu}",
               (unsigned long long)n[COUNT_BOTS], (unsigned long long)n[COUNT_EVALUATIONS]);
    put_pair(b, "Documents", "Count", n[COUNT_DOCUMENTS], "CountMax", DOCUMENTS_MAX);
    buf_printf(b, ",\"Bytes\":%llu,\"BytesMax\":%llu,\"Passages\":%llu}",
               (unsigned long long)n[COUNT_BYTES],
               (unsigned long long)users_of(r)->settings->max_bytes,
               (unsigned long long)n[COUNT_PASSAGES]);
    buf_lit(b, ",\"Rates\":{\"Uploads\":[");
    put_rate(b, n[COUNT_UPLOADS_MINUTE], r->account->upload_rate, 60);
    buf_put_char(b, ',');
    put_rate(b, n[COUNT_UPLOADS_HOUR], r->account->upload_rate * UPLOADS_HOUR_FACTOR, 3600);
    buf_lit(b, "],\"Questions\":[");
    put_rate(b, n[COUNT_ASKS_MINUTE], ASKS_A_MINUTE, 60);
    buf_lit(b, "]}}");
    respond_json(r, 200, b);
}

static void on_page(struct request *r, enum err error, const struct gather *all)
{
    struct counting *counting = r->state;
    struct lines none = lines_of(STR(""));
    uint64_t next = 0, most = 0;
    if (reply_refuse(r, error, STR("ok"), &none))
        return;
    bool is_first = counting->from == 0;
    for (unsigned i = 0; i < all->n; i++) {
        struct lines lines = lines_of(all->replies[i]);
        (void)lines_next(&lines); /* "ok" */
        if (str_parse_u64(lines_next(&lines), &next))
            most = next;
        for (unsigned k = 0; k < COUNT_NR; k++) {
            uint64_t n = lines_next_u64(&lines);
            counting->n[k] += k == COUNT_QUERIES || is_first ? n : 0;
        }
    }
    counting->from = most;
    if (most > 0)
        count_page(r);
    else
        answer(r, counting);
}

static void count_page(struct request *r)
{
    const struct counting *counting = r->state;
    struct gather *all = gather_begin(r, on_page);
    for (unsigned i = 0; i < all->n; i++)
        call_usage(gather_call(r, i), .user = counting->person.on_behalf.user_name,
                   .account = r->account->name_token, .space = counting->person.space,
                   .from = counting->from);
}

void users_usage(struct request *r)
{
    struct counting *counting = request_alloc(r, sizeof *counting);
    *counting = (struct counting){.from = 0};
    if (!person_of_path(r, &counting->person))
        return;
    r->state = counting;
    count_page(r);
}
