/* SPDX-License-Identifier: MIT
 * operators.c - GET /api/batches and POST /api/batches/{batch_id}/cancel: the batches of all
 * accounts, for operators (lua/batches/batch_list_all.lua). Of several shards a page is merged, the
 * newest batch first; where the next one begins is a place in the order of all of them. */
#include "services/openai/batches/batches.h"

#include "generated/verbs.h"
#include "services/openai/files/files.h"
#include "shared/ask/on_behalf.h"
#include "shared/ask/reply.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/gather.h"

enum {
    LIMIT_MAX = 100,
    ACCOUNT_MAX_BYTES = 128,
    ANSWER_MAX_BYTES = 1 << 20,
    PLACE_MAX_BYTES = 80, /* "<ms> <owner>-<batch>" */
    BATCH_LINES = 10,     /* of a batch after its place */
};

static const char *const statuses[] = {"validating", "failed",     "in_progress", "completed",
                                       "expired",    "cancelling", "cancelled"};

struct listing {
    struct str account, user, status, after;
    uint64_t limit;
};

/* The next batch of a shard's page, or the place up to which the shard has looked. */
struct part {
    struct lines rest;
    struct str next, id;
    uint64_t ms;
    bool is_there, is_end;
};

static void set_place(struct part *part, struct str ms, struct str id)
{
    part->is_there = str_parse_u64(ms, &part->ms) && id.n > FILE_OWNER_CHARS;
    part->id = id;
}

static void step(struct part *part)
{
    struct str rest = part->next, ms;
    if (lines_are_left(&part->rest)) {
        ms = lines_next(&part->rest);
        set_place(part, ms, lines_next(&part->rest));
        return;
    }
    part->is_end = true;
    ms = str_cut(&rest, ' ');
    set_place(part, ms, part->next.n > 0 ? rest : STR(""));
}

static bool is_before(const struct part *a, const struct part *b)
{
    return a->ms != b->ms ? a->ms > b->ms : str_compare(a->id, b->id) > 0;
}

static struct part *first_of(struct part *parts, unsigned n)
{
    struct part *first = NULL;
    for (unsigned i = 0; i < n; i++)
        if (parts[i].is_there && (first == NULL || is_before(&parts[i], first)))
            first = &parts[i];
    return first;
}

static void put_time(struct buf *b, const char *name, struct str ms)
{
    uint64_t at_ms;
    buf_put_key(b, name);
    if (str_parse_u64(ms, &at_ms))
        buf_put_json_time(b, at_ms);
    else
        buf_lit(b, "null");
}

/* Takes the lines of the batch. */
static void put_batch(struct buf *b, struct part *part)
{
    struct str of[BATCH_LINES];
    uint64_t counts[3] = {0};
    struct str id = {part->id.at + FILE_OWNER_CHARS + 1, part->id.n - FILE_OWNER_CHARS - 1};
    for (size_t i = 0; i < BATCH_LINES; i++)
        of[i] = lines_next(&part->rest);
    for (size_t i = 0; i < 3; i++)
        (void)!str_parse_u64(of[7 + i], &counts[i]);
    buf_printf(b, "{\"id\":\"" BATCH_PREFIX "%.*s\",\"account\":", STR_ARG(id));
    buf_put_json_of_name(b, of[0]);
    buf_lit(b, ",\"user\":");
    buf_put_json_of_name(b, of[1]);
    buf_lit(b, ",\"status\":");
    buf_put_json(b, of[2]);
    buf_lit(b, ",\"endpoint\":");
    buf_put_json(b, of[3]);
    buf_lit(b, ",\"created\":");
    buf_put_json_time(b, part->ms);
    put_time(b, "in_progress", of[4]);
    put_time(b, "expires", of[5]);
    put_time(b, "ended", of[6]);
    buf_printf(b, ",\"lines\":{\"total\":%llu,\"answered\":%llu,\"failed\":%llu}}",
               (unsigned long long)counts[0], (unsigned long long)counts[1],
               (unsigned long long)counts[2]);
}

static void on_listed(struct request *r, enum err error, const struct gather *all)
{
    const struct listing *listing = r->state;
    struct lines none = lines_of(STR(""));
    struct part parts[SHARDS_MAX], *part;
    struct str last = STR("");
    uint64_t n = 0, last_ms = 0;
    bool has_next = false;
    if (reply_refuse(r, error, STR("ok"), &none))
        return;
    for (unsigned i = 0; i < all->n; i++) {
        parts[i] = (struct part){.rest = lines_of(all->replies[i])};
        (void)lines_next(&parts[i].rest); /* "ok" */
        parts[i].next = lines_next(&parts[i].rest);
        step(&parts[i]);
    }
    struct buf b;
    buf_init(&b, ANSWER_MAX_BYTES);
    buf_lit(&b, "{\"batches\":[");
    while (!has_next && (part = first_of(parts, all->n)) != NULL) {
        has_next = part->is_end || n == listing->limit;
        if (has_next && !part->is_end)
            break; /* it begins the next page */
        last = part->id;
        last_ms = part->ms;
        if (has_next)
            break;
        buf_put(&b, n++ == 0 ? STR("") : STR(","));
        put_batch(&b, part);
        step(part);
    }
    buf_lit(&b, "],\"next\":");
    if (has_next)
        buf_printf(&b, "\"%llu-%.*s\"", (unsigned long long)last_ms, STR_ARG(last));
    else
        buf_lit(&b, "null");
    buf_put_char(&b, '}');
    respond_json(r, 200, &b);
    buf_fini(&b);
}

static struct str account_name(struct request *r, struct str account)
{
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_put_name(b, account);
    return request_copy(r, buf_str(b));
}

/* "<ms>-<owner>-<batch>" */
static bool read_after(struct request *r, struct str after, struct str *ret_after)
{
    char bytes[PLACE_MAX_BYTES];
    struct buf place = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    struct str rest = after, ms = str_cut(&rest, '-'), id = rest, owner = str_cut(&rest, '-');
    uint64_t at_ms;
    *ret_after = STR("");
    if (after.at == NULL)
        return true;
    if (!str_parse_u64(ms, &at_ms) || owner.n != FILE_OWNER_CHARS || rest.n != BATCH_ID_CHARS ||
        !file_is_hex(owner) || !file_is_hex(rest))
        return explain_param(r, "after", "the `next` of an earlier answer");
    buf_printf(&place, "%llu %.*s", (unsigned long long)at_ms, STR_ARG(id));
    *ret_after = request_copy(r, buf_str(&place));
    return true;
}

static bool read_status(struct request *r, struct str *ret_status)
{
    struct str status = request_param(r, "status");
    *ret_status = status.at == NULL ? STR("") : status;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (str_eq(status, str_of(statuses[i])))
            return true;
    return status.at == NULL ||
           explain_param(r, "status",
                         "validating, failed, in_progress, completed, expired, cancelling or "
                         "cancelled");
}

void openai_list_all_batches(struct request *r)
{
    struct listing *listing = r->state = request_alloc(r, sizeof *listing);
    struct str account = request_param(r, "account"), user = request_param(r, "user");
    *listing = (struct listing){.account = STR(""), .user = STR("")};
    if (!request_param_u64(r, "limit", 1, LIMIT_MAX, LIMIT_MAX, &listing->limit) ||
        !read_status(r, &listing->status) ||
        !read_after(r, request_param(r, "after"), &listing->after))
        return;
    if (account.n > ACCOUNT_MAX_BYTES) {
        (void)!explain_param(r, "account", "the name of an account, at most 128 bytes");
        return;
    }
    if (account.n > 0)
        listing->account = account_name(r, account);
    if (user.n > 0 && !on_behalf_any_name(r, user, &listing->user))
        return;
    struct gather *all = gather_begin(r, on_listed);
    for (unsigned i = 0; i < all->n; i++)
        call_batch_list_all(gather_call(r, i), .account = listing->account, .user = listing->user,
                            .status = listing->status, .after = listing->after,
                            .limit = listing->limit + 1);
}

/* --- cancelling one --------------------------------------------------------------------------- */

static void on_cancelled(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    struct buf *b = &r->server->scratch;
    if (batch_refuse(r, error, tag, &lines))
        return;
    (void)lines_next(&lines); /* its id, endpoint and input */
    (void)lines_next(&lines);
    (void)lines_next(&lines);
    struct str status = lines_next(&lines);
    buf_clear(b);
    buf_lit(b, "{\"id\":");
    buf_put_json(b, request_path_param(r, "batch_id"));
    buf_lit(b, ",\"status\":");
    buf_put_json(b, status);
    buf_put_char(b, '}');
    respond_json(r, 200, b);
}

void openai_cancel_any_batch(struct request *r)
{
    struct str text = request_path_param(r, "batch_id"), account, user, user_name, id;
    char *owner = request_alloc(r, FILE_OWNER_CHARS + 1);
    if (!request_body(r) || !request_text(r, "account", 1, ACCOUNT_MAX_BYTES, &account) ||
        !request_text(r, "user", 1, ACCOUNT_MAX_BYTES, &user) ||
        !on_behalf_any_name(r, user, &user_name) ||
        !(batch_id_read(text, &id) || explain_missing(r, "batch", text, NULL)))
        return;
    account = account_name(r, account);
    file_owner_digest(account, user_name, owner);
    call_batch_cancel(request_call(r, on_cancelled), .owner = str_of(owner), .account = account,
                      .user = user_name, .batch = id);
}
