/* SPDX-License-Identifier: MIT
 * history.c - GET /api/workflows/history: the caller's runs with their steps and answers, newest
 * first. Each shard has some of them; one page of each is merged (shard_list.h). */
#include "generated/verbs.h"
#include "services/workflow/workflow.h"
#include "shared/ask/shard_list.h"
#include "shared/base/json.h"
#include "shared/http/request/explain.h"

enum { PAGE_RUNS = 100, LIST_MAX_BYTES = 64 << 20, NAME_MAX_BYTES = 512 };

struct history {
    struct workflow_who who;
    struct str session, request_id, status, after;
    uint64_t limit;
};

/* --- one run ---------------------------------------------------------------------------------- */

static void put_member(struct buf *b, const char *key, const json_t *value)
{
    buf_put_key(b, key);
    if (value == NULL)
        buf_lit(b, "null");
    else
        buf_put_json_value(b, value);
}

/* As lua/workflow/questions.lua wrote it; who is null where a deadline answered. */
static void put_answer(struct buf *b, const json_t *answer)
{
    const json_t *who = json_object_get(answer, "who");
    buf_lit(b, "{\"step\":");
    buf_put_u64(b, (uint64_t)json_integer_value(json_object_get(answer, "step")));
    put_member(b, "how", json_object_get(answer, "how"));
    put_member(b, "approved", json_object_get(answer, "approved"));
    buf_put_key(b, "timestamp");
    buf_put_json_time(b, (uint64_t)json_integer_value(json_object_get(answer, "timestamp")));
    put_member(b, "account", json_object_get(who, "account"));
    put_member(b, "user", json_object_get(who, "user"));
    put_member(b, "note", json_object_get(who, "note"));
    put_member(b, "corrections", json_object_get(answer, "corrections"));
    put_member(b, "before", json_object_get(answer, "before"));
    put_member(b, "comment", json_object_get(answer, "comment"));
    buf_put_char(b, '}');
}

/* Whose approval came last, of the people of one account the one who gave it; NULL: no person has
 * approved. */
static const json_t *approver_of(const json_t *answers)
{
    const json_t *answer, *found = NULL;
    size_t i;
    json_array_foreach(answers, i, answer)
    {
        const json_t *who = json_object_get(answer, "who");
        const json_t *user = json_object_get(who, "user");
        if (json_is_true(json_object_get(answer, "approved")) && json_is_object(who))
            found = json_str(user).n > 0 ? user : json_object_get(who, "account");
    }
    return found;
}

static void put_answers(struct buf *b, struct str text, struct str status)
{
    char reason[200];
    json_t *answers = NULL;
    const json_t *answer;
    size_t i;
    if (!json_parse(text, reason, sizeof reason, &answers))
        answers = json_array();
    bool was_asked = json_array_size(answers) > 0 || str_eq(status, STR("waiting"));
    buf_printf(b, ",\"hitl_triggered\":%s", was_asked ? "true" : "false");
    put_member(b, "hitl_approved_by", approver_of(answers));
    buf_put_key(b, "answers");
    buf_put_char(b, '[');
    json_array_foreach(answers, i, answer)
    {
        if (i > 0)
            buf_put_char(b, ',');
        put_answer(b, answer);
    }
    buf_put_char(b, ']');
    json_decref(answers);
}

static bool put_run(struct buf *b, struct request *r, struct lines *lines)
{
    (void)r;
    lines_next(lines); /* the session, as a digest */
    lines_next(lines); /* the run's number in it */
    buf_lit(b, "{\"request_id\":");
    buf_put_json_of_name(b, lines_next(lines));
    buf_put_key(b, "session_id");
    buf_put_json_of_name(b, lines_next(lines));
    lines_next(lines); /* the account: the caller's */
    struct str verb = lines_next(lines);
    lines_next(lines); /* the version of its file */
    struct str status = lines_next(lines);
    buf_put_key(b, "timestamp");
    buf_put_u64(b, lines_next_u64(lines));
    lines_next(lines); /* when it changed */
    buf_put_key(b, "verb");
    buf_put_json_of_name(b, verb);
    buf_put_key(b, "steps");
    buf_put(b, lines_next(lines));
    put_answers(b, lines_next(lines), status);
    buf_put_key(b, "final_status");
    buf_put_json(b, status);
    buf_put_char(b, '}');
    return true;
}

/* --- the list --------------------------------------------------------------------------------- */

static void on_pages(struct request *r, enum err error, const struct gather *all)
{
    const struct history *history = r->state;
    shard_list_respond(r, error, all,
                       &(struct shard_list){"runs", history->limit, LIST_MAX_BYTES, put_run});
}

/* "<session>.<run>" */
static bool is_run(struct str id)
{
    uint64_t n;
    return str_cut(&id, '.').n == WORKFLOW_SID_BYTES && str_parse_u64(id, &n);
}

static bool read_filters(struct request *r, struct history *history)
{
    struct str session_id = request_param(r, "session_id");
    struct str request_id = request_param(r, "request_id");
    char *sid = request_alloc(r, WORKFLOW_SID_BYTES + 1);
    struct buf name = {
        .at = request_alloc(r, NAME_MAX_BYTES), .cap = NAME_MAX_BYTES, .max = NAME_MAX_BYTES};
    if (session_id.n > WORKFLOW_ID_MAX_BYTES || request_id.n > WORKFLOW_ID_MAX_BYTES)
        return explain_param(r, session_id.n > WORKFLOW_ID_MAX_BYTES ? "session_id" : "request_id",
                             "at most 128 bytes");
    history->status = request_param(r, "status");
    if (history->status.n > 0 &&
        !str_is_listed(STR("running,waiting,approved,done,rejected,expired,failed"),
                       history->status))
        return explain_param(r, "status",
                             "running, waiting, approved, done, rejected, expired or failed");
    if (session_id.n > 0) {
        workflow_sid(history->who.account, history->who.user_name, session_id, sid);
        history->session = (struct str){sid, WORKFLOW_SID_BYTES};
    }
    if (request_id.n > 0) {
        buf_put_name(&name, request_id);
        history->request_id = buf_str(&name);
    }
    return shard_list_cursor(r, is_run, &history->after) &&
           request_param_u64(r, "limit", 1, PAGE_RUNS, PAGE_RUNS, &history->limit);
}

void workflow_history(struct request *r)
{
    struct history *history = request_alloc(r, sizeof *history);
    *history = (struct history){.limit = 0};
    if (!workflow_who_of(r, request_param(r, "OnBehalfOf"), &history->who) ||
        !read_filters(r, history))
        return;
    r->state = history;
    struct gather *all = gather_begin(r, on_pages);
    for (unsigned i = 0; i < all->n; i++)
        call_workflow_history(gather_call(r, i), .user = history->who.user_name,
                              .account = history->who.account, .session = history->session,
                              .request_id = history->request_id, .final_status = history->status,
                              .limit = history->limit, .after = history->after);
}
