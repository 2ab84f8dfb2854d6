/* SPDX-License-Identifier: MIT
 * export_evaluations.c - evaluations.json: the user's evaluations of bots, newest first of each
 * shard, with their turns. */
#include "services/users/export.h"

#include "generated/verbs.h"

static void put_name(struct buf *b, const char *key, struct str name)
{
    buf_put_key(b, key);
    buf_put_json_of_name(b, name);
}

static void put_time(struct export *x, const char *key, struct lines *lines)
{
    buf_put_key(&x->made, key);
    buf_put_json_time(&x->made, lines_next_u64(lines));
}

/* The 14 lines of an evaluation, see lua/bots/evaluation_list.lua; keeps what its turns are read
 * with. */
static void put_evaluation(struct export *x, struct lines *lines)
{
    struct buf *b = &x->made;
    export_begin_item(x);
    (void)lines_next(lines); /* its cursor */
    export_set(&x->doc, lines_next(lines));
    buf_printf(b, "{\"id\":\"%.*s\"", STR_ARG(buf_str(&x->doc)));
    put_name(b, "status", lines_next(lines));
    (void)lines_next(lines); /* its namespace */
    struct str account = lines_next(lines);
    export_set(&x->filename, account);
    put_name(b, "account", x->r->account->namespace.n > 0 ? lines_name_within(account) : account);
    (void)lines_next(lines); /* the user */
    (void)lines_next(lines); /* the bot's name for keys */
    export_put_member(b, "bot", lines_next(lines));
    put_name(b, "measure", lines_next(lines));
    (void)lines_next(lines); /* turns of the conversation */
    (void)lines_next(lines); /* turns that are stored */
    put_time(x, "timestamp", lines);
    put_time(x, "changed", lines);
    export_put_member(b, "summary", lines_next(lines));
    buf_lit(b, ",\"turns\":[");
    x->from = 0;
    x->stage = EXPORT_TURNS;
}

void export_evaluations(struct export *x)
{
    if (x->shard == 0 && x->page_after.n == 0 && !x->is_page)
        export_begin_file(x, STR("evaluations.json"));
    if (!x->is_page) {
        call_evaluation_list(export_call_at(x, x->shard, export_on_page),
                             .user = x->person.on_behalf.user_name, .account = STR(""),
                             .limit = NO_NUMBER, .after = buf_str(&x->page_after));
    } else if (lines_are_left(&x->rest)) {
        put_evaluation(x, &x->rest);
    } else {
        x->is_page = false;
        if (x->is_last_page && ++x->shard == x->r->server->shards->n) {
            export_end_list(x);
            buf_clear(&x->page_after);
            x->stage = EXPORT_DOCUMENTS;
        }
    }
}

static void on_turns(struct request *r, enum err error, struct str reply)
{
    struct export *x = r->state;
    struct lines lines = lines_of(reply);
    if (!export_takes(x, error, &lines, STR("")))
        return;
    bool is_more = lines_next_u64(&lines) != 0;
    for (unsigned i = 0; i < 13; i++)
        (void)lines_next(&lines);
    for (; lines_are_left(&lines); x->from++) {
        buf_put(&x->made, x->from == 0 ? STR("\n") : STR(",\n"));
        buf_put(&x->made, lines_next(&lines));
    }
    if (!is_more) {
        buf_lit(&x->made, "]}");
        x->stage = EXPORT_EVALUATIONS;
    }
    export_go_on(x);
}

void export_turns(struct export *x)
{
    struct str rest = buf_str(&x->doc), evaluation = str_cut(&rest, '-');
    uint64_t run = 0;
    if (!str_parse_u64(rest, &run)) {
        export_fail(x, "an evaluation has no id");
        return;
    }
    call_evaluation_read(export_call(x, on_turns), .evaluation = evaluation, .run = run,
                         .account = buf_str(&x->filename), .user = x->person.on_behalf.user_name,
                         .since = x->from);
}
