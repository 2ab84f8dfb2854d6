/* SPDX-License-Identifier: MIT
 * questions.c - GET /api/workflows/questions: what waits for an account, newest first, with its
 * links; POST /api/workflows/questions/{id}: its answer.
 *
 * Each shard has a list. One page of each is merged (shard_list.h). */
#include "services/workflow/approvals/approvals.h"

#include "generated/verbs.h"
#include "shared/ask/shard_list.h"
#include "shared/base/json_fault.h"
#include "shared/http/access/gate.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/respond.h"

enum { PAGE_QUESTIONS = 100, AFTER_MAX_BYTES = 600, LIST_MAX_BYTES = 64 << 20 };

/* The user that a request acts for: an account that may act for others and names nobody acts for
 * itself. */
static bool read_who(struct request *r, struct workflow_who *ret_who)
{
    const struct account *account = r->account;
    struct str given = request_param(r, "OnBehalfOf");
    if (account->role == ROLE_USER || (account->role == ROLE_FRONTEND && given.at != NULL))
        return workflow_who_of(r, given, ret_who);
    if (given.at != NULL && !str_eq(given, account->name)) {
        explain(r, ERR_FORBIDDEN,
                "This account has the role %.*s and acts for itself only, not for %s: omit "
                "OnBehalfOf.",
                STR_ARG(role_name(account->role)), explain_quoted(r, given));
        return false;
    }
    *ret_who = (struct workflow_who){.account = account->name_token,
                                     .user = account->name,
                                     .user_name = account->user_token,
                                     .role = role_name(account->role)};
    return true;
}

bool approvals_key(struct request *r, struct link_key *ret_key)
{
    if (!r->server->gate->has_token_key) {
        respond_error(r, ERR_REDIS_LOST, NULL);
        return false;
    }
    link_key_derive(&r->server->gate->token_key, ret_key);
    return true;
}

/* --- the list --------------------------------------------------------------------------------- */

struct listing {
    struct workflow_who who;
    struct link_key key;
    enum verb_workflow_questions_which which;
    uint64_t limit;
    struct str after;
};

static void put_time(struct buf *b, const char *key, uint64_t ms)
{
    buf_put_key(b, key);
    if (ms == 0)
        buf_lit(b, "null");
    else
        buf_put_json_time(b, ms);
}

static void put_name(struct buf *b, const char *key, struct str name)
{
    buf_put_key(b, key);
    buf_put_json_of_name(b, name);
}

/* A user of an OpenID provider has none: nobody here would notice that the provider has removed it.
 */
static void put_link(struct buf *b, struct request *r, const struct listing *listing,
                     const struct asked *question)
{
    bool is_theirs = question->is_self_allowed || !asked_is_own(question, &listing->who);
    buf_put_key(b, "link");
    if (!asked_is_open(question) || !is_theirs || r->identity != NULL) {
        buf_lit(b, "null");
        return;
    }
    buf_put_char(b, '"');
    buf_put(b, str_of(workflow_of(r)->settings->public_url));
    buf_lit(b, "/api/workflows/links/");
    link_put(b, &listing->key, r->account, listing->who.user, &question->id);
    buf_put_char(b, '"');
}

static void put_question(struct buf *b, struct request *r, const struct listing *listing,
                         const struct asked *question)
{
    buf_lit(b, "{\"id\":\"");
    question_id_put(b, &question->id);
    buf_put_char(b, '"');
    put_name(b, "request_id", question->request_id);
    put_name(b, "session_id", question->session_id);
    put_name(b, "verb", question->verb);
    put_name(b, "agent", question->agent);
    buf_put_key(b, "reason");
    buf_put_json(b, question->reason);
    buf_put_key(b, "messageBody");
    buf_put_json_value(b, question->body);
    buf_put_key(b, "form");
    if (question->form == NULL)
        buf_lit(b, "null");
    else
        buf_put_json_value(b, question->form);
    put_time(b, "asked", question->asked_ms);
    put_time(b, "deadline", question->deadline_ms);
    buf_put_key(b, "approvals");
    buf_put_u64(b, question->approvals);
    buf_put_key(b, "quorum");
    buf_put_u64(b, question->quorum);
    buf_put_key(b, "status");
    buf_put_json(b, question->status);
    put_time(b, "answered", question->closed_ms);
    put_link(b, r, listing, question);
    buf_put_char(b, '}');
}

static bool put_next(struct buf *b, struct request *r, struct lines *lines)
{
    struct asked question;
    if (!asked_read(lines, &question))
        return false;
    put_question(b, r, r->state, &question);
    asked_fini(&question);
    return true;
}

static void on_pages(struct request *r, enum err error, const struct gather *all)
{
    const struct listing *listing = r->state;
    shard_list_respond(r, error, all,
                       &(struct shard_list){"questions", listing->limit, LIST_MAX_BYTES, put_next});
}

static bool is_question(struct str text)
{
    struct question_id id;
    return question_id_parse(text, &id);
}

static bool read_status(struct request *r, enum verb_workflow_questions_which *ret_which)
{
    struct str status = request_param(r, "status");
    if (status.n == 0 || str_eq(status, STR("open")))
        *ret_which = WORKFLOW_QUESTIONS_OPEN;
    else if (str_eq(status, STR("answered")))
        *ret_which = WORKFLOW_QUESTIONS_ANSWERED;
    else if (str_eq(status, STR("all")))
        *ret_which = WORKFLOW_QUESTIONS_ALL;
    else {
        return explain_param(r, "status", "open, answered or all");
    }
    return true;
}

void approvals_list(struct request *r)
{
    struct listing *listing = request_alloc(r, sizeof *listing);
    struct identities identities;
    *listing = (struct listing){.limit = 0};
    if (!read_who(r, &listing->who) || !read_status(r, &listing->which) ||
        !request_param_u64(r, "limit", 1, PAGE_QUESTIONS, PAGE_QUESTIONS, &listing->limit) ||
        !shard_list_cursor(r, is_question, &listing->after) || !approvals_key(r, &listing->key))
        return;
    r->state = listing;
    identities_of(&listing->who, &identities);
    struct gather *all = gather_begin(r, on_pages);
    for (unsigned i = 0; i < all->n; i++) {
        struct verb_writer verb =
            begin_workflow_questions(gather_call(r, i), .which = listing->which,
                                     .limit = listing->limit, .after = listing->after);
        for (int k = 0; k < IDENTITY_N; k++)
            if (identities.of[k].n > 0)
                put_workflow_questions_identity(&verb, .who = identities.of[k]);
        end_verb(&verb);
    }
}

/* --- an answer -------------------------------------------------------------------------------- */

struct posted {
    struct answering *answering; /* NULL: it has ended */
    struct answer answer;
};

bool approvals_read_body(struct request *r, struct answer *ret_answer, json_t **ret_corrections)
{
    char reason[160];
    json_t *value = NULL;
    struct str comment;
    bool is_approved;
    if (!request_body(r))
        return false;
    const struct json_span *approved = request_member(r, "approved");
    const struct json_span *corrections = request_member(r, "corrections");
    if (approved == NULL || approved->kind != JSON_SPAN_BOOL)
        return explain_member(r, "approved", "true or false");
    if (!request_optional_bool(r, "approved", false, &is_approved) ||
        !request_optional_text(r, "comment", ANSWER_COMMENT_MAX_BYTES, &comment))
        return false;
    bool is_misspelt = json_find_alike(r->members, r->member_n, STR("corrections")) != NULL;
    if (is_misspelt || (corrections != NULL && corrections->kind != JSON_SPAN_OBJECT) ||
        (corrections != NULL && !json_parse(corrections->raw, reason, sizeof reason, &value)))
        return explain_member(r, "corrections", "an object, or absent");
    ret_answer->is_approved = is_approved;
    ret_answer->comment = comment.at == NULL ? STR("") : comment;
    ret_answer->corrections = value;
    *ret_corrections = value;
    return true;
}

void approvals_put_answered(struct buf *b, const struct question_id *id,
                            const struct answer *answer, const struct answer_end *end)
{
    buf_lit(b, "{\"id\":\"");
    question_id_put(b, id);
    buf_printf(b, "\",\"status\":\"%s\",\"approved\":%s",
               !end->is_decided      ? "open"
               : answer->is_approved ? "approved"
                                     : "rejected",
               answer->is_approved ? "true" : "false");
    if (!end->is_decided)
        buf_printf(b, ",\"approvals\":%llu,\"quorum\":%llu", (unsigned long long)end->approvals,
                   (unsigned long long)end->quorum);
    buf_put_char(b, '}');
}

static void refuse_missing(struct request *r)
{
    (void)explain_missing(r, "question", request_path_param(r, "id"),
                          "GET /api/workflows/questions lists those that it may answer.");
}

static void on_answered(void *context, const struct answer_end *end)
{
    struct request *r = context;
    struct posted *posted = r->state;
    struct buf *b = &r->server->scratch;
    posted->answering = NULL;
    if (end->error == ERR_NOT_FOUND) {
        refuse_missing(r);
        return;
    }
    if (end->error != ERR_OK) {
        respond_error(r, end->error, end->detail);
        return;
    }
    buf_clear(b);
    approvals_put_answered(b, &posted->answer.question, &posted->answer, end);
    respond_json(r, 200, b);
}

static void on_gone(struct request *r)
{
    struct posted *posted = r->state;
    answer_leave(posted->answering);
}

void approvals_answer(struct request *r)
{
    struct workflow_who *who = request_alloc(r, sizeof *who);
    struct posted *posted = request_alloc(r, sizeof *posted);
    json_t *corrections = NULL;
    if (r->nonce.is_set) { /* before anything is answered */
        request_handle_after_nonce(r);
        return;
    }
    *posted = (struct posted){.answer = {.way = ANSWER_BY_HTTP, .who = who}};
    if (!read_who(r, who) || !approvals_read_body(r, &posted->answer, &corrections))
        return;
    if (!question_id_parse(request_path_param(r, "id"), &posted->answer.question)) {
        json_decref(corrections);
        refuse_missing(r);
        return;
    }
    posted->answering = answer_start(workflow_of(r), &posted->answer, on_answered, r);
    json_decref(corrections);
    r->state = posted;
    r->on_gone = on_gone;
}
