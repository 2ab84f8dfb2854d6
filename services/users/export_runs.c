/* SPDX-License-Identifier: MIT
 * export_runs.c - runs.json: the user's runs of workflows, newest first of each shard, with their
 * steps and who answered what. */
#include "services/users/export.h"

#include "generated/verbs.h"

static void put_name(struct export *x, const char *key, struct lines *lines)
{
    buf_put_key(&x->made, key);
    buf_put_json_of_name(&x->made, lines_next(lines));
}

static void put_time(struct export *x, const char *key, struct lines *lines)
{
    buf_put_key(&x->made, key);
    buf_put_json_time(&x->made, lines_next_u64(lines));
}

/* The 13 lines of a run, see lua/workflow/history.lua. */
static void put_run(struct export *x, struct lines *lines)
{
    struct buf *b = &x->made;
    export_begin_item(x);
    (void)lines_next(lines); /* its cursor */
    struct str session = lines_next(lines), run = lines_next(lines);
    buf_printf(b, "{\"run\":\"%.*s.%.*s\"", STR_ARG(session), STR_ARG(run));
    put_name(x, "request_id", lines);
    put_name(x, "session_id", lines);
    struct str account = lines_next(lines);
    buf_put_key(b, "account");
    buf_put_json_of_name(b, x->r->account->namespace.n > 0 ? lines_name_within(account) : account);
    put_name(x, "verb", lines);
    put_name(x, "version", lines);
    put_name(x, "final_status", lines);
    put_time(x, "timestamp", lines);
    put_time(x, "changed", lines);
    export_put_member(b, "steps", lines_next(lines));
    export_put_member(b, "answers", lines_next(lines));
    buf_put_char(b, '}');
}

static void on_runs(struct request *r, enum err error, struct str reply)
{
    struct export *x = r->state;
    struct lines lines = lines_of(reply);
    if (!export_takes(x, error, &lines, STR("")))
        return;
    struct str next = lines_next(&lines);
    while (lines_are_left(&lines))
        put_run(x, &lines);
    export_set(&x->after, next);
    if (next.n == 0 && ++x->shard == x->r->server->shards->n) {
        export_end_list(x);
        x->shard = 0;
        x->stage = EXPORT_MESSAGES;
    }
    export_go_on(x);
}

void export_runs(struct export *x)
{
    if (x->shard == 0 && x->after.n == 0)
        export_begin_file(x, STR("runs.json"));
    call_workflow_history(export_call_at(x, x->shard, on_runs),
                          .user = x->person.on_behalf.user_name, .account = STR(""),
                          .session = STR(""), .request_id = STR(""), .final_status = STR(""),
                          .limit = NO_NUMBER, .after = buf_str(&x->after));
}
