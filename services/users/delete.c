/* SPDX-License-Identifier: MIT
 * delete.c - DELETE /api/users/{user}: deletes everything stored for a user
 * (lua/users/delete_user.lua). Each shard is called repeatedly, a few rows per call, until one
 * round finds nothing on any of them. After ROUNDS_MAX rounds the client is answered and sends the
 * request again. The node keeps no progress, so any node continues. */
#include "services/users/users.h"

#include "generated/verbs.h"
#include "shared/base/log.h"
#include "shared/http/gather.h"
#include "shared/http/respond.h"

enum { ROUNDS_MAX = 100 };

/* In the order of the verb's reply. */
static const char *const kinds[] = {"Topics",  "SharedTopics",    "Queries",
                                    "Lookups", "Recommendations", "Documents",
                                    "Jobs",    "Limits",          "Runs"};
enum { KIND_N = sizeof kinds / sizeof *kinds };

struct deletion {
    struct person person;
    unsigned rounds;
    uint64_t gone[KIND_N];
};

static void go_on(struct request *r);

/* Returns whether the shard may have more. */
static bool take(struct deletion *deletion, struct str reply)
{
    struct lines lines = lines_of(reply);
    (void)lines_next(&lines); /* "ok" */
    bool is_more = lines_next_u64(&lines) != 0;
    for (unsigned i = 0; i < KIND_N; i++)
        deletion->gone[i] += lines_next_u64(&lines);
    return is_more;
}

static void answer(struct request *r, const struct deletion *deletion, bool is_done)
{
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"Deleted\":{");
    for (unsigned i = 0; i < KIND_N; i++)
        buf_printf(b, "%s\"%s\":%llu", i == 0 ? "" : ",", kinds[i],
                   (unsigned long long)deletion->gone[i]);
    buf_printf(b, "},\"Done\":%s}", is_done ? "true" : "false");
    log_write(LOG_INFO, "user data deleted", LOG_STR("user", deletion->person.whom.user_name),
              LOG_STR("by", r->account->name_token), LOG_STR("request", r->id),
              LOG_U("topics", deletion->gone[0]), LOG_U("documents", deletion->gone[5]),
              LOG_S("done", is_done ? "yes" : "no"));
    respond_json(r, 202, b);
}

static void on_round(struct request *r, enum err error, const struct gather *all)
{
    struct deletion *deletion = r->state;
    struct lines none = lines_of(STR(""));
    bool is_more = false;
    if (reply_refuse(r, error, STR("ok"), &none))
        return;
    for (unsigned i = 0; i < all->n; i++)
        is_more |= take(deletion, all->replies[i]);
    if (is_more && ++deletion->rounds < ROUNDS_MAX)
        go_on(r);
    else
        answer(r, deletion, !is_more);
}

static void go_on(struct request *r)
{
    struct deletion *deletion = r->state;
    struct gather *all = gather_begin(r, on_round);
    for (unsigned i = 0; i < all->n; i++)
        call_delete_user(gather_call(r, i), .user = deletion->person.whom.user_name,
                         .space = deletion->person.space);
}

void users_delete(struct request *r)
{
    struct deletion *deletion = request_alloc(r, sizeof *deletion);
    *deletion = (struct deletion){.rounds = 0};
    if (!person_of_path(r, &deletion->person))
        return;
    r->state = deletion;
    go_on(r);
}
