/* SPDX-License-Identifier: MIT
 * answer.c - see answer.h.
 *
 *   READING --the form fits--> DECIDING --the verb's word--> ENDED
 *      |
 *      +--unknown, not allowed, closed, a correction that does not fit--> ENDED
 *
 * READING only spares the verb what cannot count, and gives it what the corrections replace:
 * whether the question is still open, whether this account may answer it and has not done so, and
 * whether the deadline has passed is decided by the verb, in one atomic step. */
#include "services/workflow/approvals/answer.h"

#include "generated/verbs.h"
#include "services/workflow/approvals/form_post.h"
#include "services/workflow/run/runs.h"
#include "services/workflow/trees/form.h"
#include "shared/base/sm.h"

#include "shared/base/mem.h"

#include <stdio.h>

enum { TEXT_NR = 8, WHO_MAX_BYTES = 4096, BEFORE_MAX_BYTES = 200 << 10 };

enum answering_state { ANSWERING_READING, ANSWERING_DECIDING, ANSWERING_ENDED };

static const struct sm_state states[] = {
    [ANSWERING_READING] = {"READING", SM(ANSWERING_DECIDING) | SM(ANSWERING_ENDED)},
    [ANSWERING_DECIDING] = {"DECIDING", SM(ANSWERING_ENDED)},
    [ANSWERING_ENDED] = {"ENDED", 0},
};
static const struct sm sm = SM_OF("answer", states);

struct answering {
    struct workflow *workflow;
    struct call call;
    enum answering_state state;
    uint64_t number; /* in the log */
    enum answer_way way;
    struct workflow_who who; /* texts are ours */
    struct identities identities;
    struct question_id id;
    bool is_approved;
    json_t *corrections;   /* NULL: none */
    struct form_post post; /* of a browser; its fields may be NULL */
    struct str comment, note;
    answer_cb *on_end; /* NULL: nobody waits */
    void *context;
    char *texts[TEXT_NR]; /* what the members above point to */
    unsigned text_n;
};

static void move(struct answering *answering, enum answering_state to)
{
    answering->state = sm_move(&sm, answering->number, answering->state, to);
}

static void finish(struct answering *answering, const struct answer_end *end)
{
    move(answering, ANSWERING_ENDED);
    if (answering->on_end != NULL)
        answering->on_end(answering->context, end);
    for (unsigned i = 0; i < answering->text_n; i++)
        free(answering->texts[i]);
    json_decref(answering->corrections);
    form_post_fini(&answering->post);
    free(answering);
}

static void refuse(struct answering *answering, enum err error, const char *detail)
{
    finish(answering, &(struct answer_end){.error = error, .detail = detail});
}

/* --- the verb decides ------------------------------------------------------------------------- */

static void put_who(struct buf *b, const struct answering *answering)
{
    buf_lit(b, "{\"account\":");
    buf_put_json_of_name(b, answering->who.account);
    buf_lit(b, ",\"user\":");
    buf_put_json(b, answering->who.user);
    if (answering->note.n > 0) {
        buf_lit(b, ",\"note\":");
        buf_put_json(b, answering->note);
    }
    buf_put_char(b, '}');
}

static void refuse_closed(struct answering *answering, struct str who, uint64_t closed_ms)
{
    char detail[ANSWER_DETAIL_BYTES];
    struct buf b = {.at = detail, .cap = sizeof detail, .max = sizeof detail - 1};
    asked_put_closed(&b, who, closed_ms);
    detail[b.n] = 0;
    refuse(answering, ERR_CONFLICT, detail);
}

static void refuse_again(struct answering *answering, uint64_t at_ms)
{
    char detail[ANSWER_DETAIL_BYTES];
    struct buf b = {.at = detail, .cap = sizeof detail, .max = sizeof detail - 1};
    (void)!buf_put_unnamed(&b, answering->who.account);
    buf_lit(&b, " has already answered this question, at ");
    buf_put_timestamp(&b, at_ms / 1000);
    buf_lit(&b, "Z. It waits for others.");
    detail[b.n] = 0;
    refuse(answering, ERR_CONFLICT, detail);
}

static void on_decided(struct call *call, enum err error, struct str reply)
{
    struct answering *answering = container_of(call, struct answering, call);
    struct lines lines = lines_of(reply);
    struct str word = lines_next(&lines);
    if (error != ERR_OK) {
        refuse(answering, error, NULL);
    } else if (str_eq(word, STR("decided"))) {
        struct run_lease lease = {.session = answering->id.session,
                                  .run = answering->id.run,
                                  .fence = lines_next_u64(&lines)};
        lease.account = lines_next(&lines);
        lease.user_name = lines_next(&lines);
        runs_carry_on(answering->workflow->runs, &lease);
        finish(answering, &(struct answer_end){.is_decided = true});
    } else if (str_eq(word, STR("counted"))) {
        struct answer_end end = {.approvals = lines_next_u64(&lines)};
        end.quorum = lines_next_u64(&lines);
        finish(answering, &end);
    } else if (str_eq(word, STR("closed"))) {
        struct str who = lines_next(&lines);
        refuse_closed(answering, who, lines_next_u64(&lines));
    } else if (str_eq(word, STR("again"))) {
        refuse_again(answering, lines_next_u64(&lines));
    } else if (str_eq(word, STR("forbidden"))) {
        refuse(answering, ERR_FORBIDDEN, QUESTION_FORBIDDEN);
    } else if (str_eq(word, STR("full"))) {
        refuse(answering, ERR_BAD_REQUEST,
               "This run cannot store more text: answer without corrections and comment.");
    } else if (str_eq(word, STR("missing"))) {
        refuse(answering, ERR_NOT_FOUND, QUESTION_MISSING);
    } else {
        refuse(answering, ERR_INTERNAL, NULL);
    }
}

/* The members that the corrections replace, as they were. */
static void put_before(struct buf *b, const struct answering *answering,
                       const struct asked *question)
{
    const char *name;
    json_t *value, *before = json_object();
    if (before == NULL)
        abort();
    json_object_foreach(answering->corrections, name, value)
    {
        json_t *former = json_object_get(question->body, name);
        if (former != NULL)
            json_object_set(before, name, former);
    }
    buf_put_json_value(b, before);
    json_decref(before);
}

static void decide(struct answering *answering, const struct asked *question,
                   const struct buf *corrections)
{
    static const enum verb_workflow_answer_how ways[] = {
        [ANSWER_BY_SOCKET] = WORKFLOW_ANSWER_SOCKET,
        [ANSWER_BY_ECHO] = WORKFLOW_ANSWER_ECHO,
        [ANSWER_BY_HTTP] = WORKFLOW_ANSWER_HTTP,
        [ANSWER_BY_LINK] = WORKFLOW_ANSWER_LINK,
    };
    struct buf who, before, comment;
    buf_init(&who, WHO_MAX_BYTES);
    buf_init(&before, BEFORE_MAX_BYTES);
    buf_init(&comment, 6 * ANSWER_COMMENT_MAX_BYTES + 2);
    put_who(&who, answering);
    if (corrections->n > 0)
        put_before(&before, answering, question);
    if (answering->comment.n > 0)
        buf_put_json(&comment, answering->comment);
    move(answering, ANSWERING_DECIDING);
    struct verb_writer verb = begin_workflow_answer(
        shards_call(answering->workflow->server->shards, &answering->call, on_decided),
        .session = answering->id.session, .run = answering->id.run, .step = answering->id.step,
        .account = answering->who.account, .user = answering->who.user_name,
        .who_json = buf_str(&who), .how = ways[answering->way],
        .is_approved = answering->is_approved, .corrections = buf_str(corrections),
        .before = before.is_over ? STR("") : buf_str(&before), .comment = buf_str(&comment));
    for (int i = 0; i < IDENTITY_N; i++)
        if (answering->identities.of[i].n > 0)
            put_workflow_answer_identity(&verb, .who = answering->identities.of[i]);
    end_verb(&verb);
    buf_fini(&who);
    buf_fini(&before);
    buf_fini(&comment);
}

/* --- the question is read --------------------------------------------------------------------- */

static void refuse_form(struct answering *answering, const struct asked *question,
                        const char *detail)
{
    finish(answering,
           &(struct answer_end){
               .error = ERR_BAD_REQUEST, .detail = detail, .is_form = true, .question = question});
}

/* Puts the corrections as JSON, nothing without any. Otherwise answers and returns false. */
static bool check_form(struct answering *answering, const struct asked *question, struct buf *b)
{
    char why[FORM_WHY_MAX_BYTES + 1];
    struct buf fault = {.at = why, .cap = sizeof why, .max = FORM_WHY_MAX_BYTES};
    if (answering->comment.n > ANSWER_COMMENT_MAX_BYTES) {
        refuse_form(answering, question, "comment takes at most 4096 bytes.");
        return false;
    }
    if (answering->post.fields != NULL && answering->is_approved)
        answering->corrections =
            form_post_corrections(&answering->post, question->form, question->body);
    if (json_object_size(answering->corrections) == 0)
        return true;
    if (!form_check(question->form, answering->corrections, &fault)) {
        why[fault.n] = 0;
        refuse_form(answering, question, why);
        return false;
    }
    buf_put_json_value(b, answering->corrections);
    if (b->is_over) {
        refuse_form(answering, question, "corrections takes at most 65536 bytes as JSON.");
        return false;
    }
    return true;
}

static bool is_same_namespace(const struct answering *answering, const struct asked *question)
{
    enum role role;
    bool has_namespace =
        !role_parse(answering->who.role, &role) || role == ROLE_USER || role == ROLE_FRONTEND;
    return !has_namespace || str_eq(lines_namespace_of(answering->who.user_name),
                                    lines_namespace_of(question->user_name));
}

static void go_on(struct answering *answering, struct str approvers, const struct asked *question)
{
    struct buf corrections;
    if (!asked_may_answer(question, approvers, &answering->who, &answering->identities)) {
        bool is_known = is_same_namespace(answering, question);
        refuse(answering, is_known ? ERR_FORBIDDEN : ERR_NOT_FOUND,
               is_known ? QUESTION_FORBIDDEN : QUESTION_MISSING);
        return;
    }
    if (!asked_is_open(question)) {
        refuse_closed(answering, question->who, question->closed_ms);
        return;
    }
    buf_init(&corrections, ANSWER_CORRECTIONS_MAX_BYTES);
    if (check_form(answering, question, &corrections))
        decide(answering, question, &corrections);
    buf_fini(&corrections);
}

static void on_read(struct call *call, enum err error, struct str reply)
{
    struct answering *answering = container_of(call, struct answering, call);
    struct lines lines = lines_of(reply);
    struct asked question;
    if (error != ERR_OK) {
        refuse(answering, error, NULL);
        return;
    }
    if (!str_eq(lines_next(&lines), STR("ok"))) {
        refuse(answering, ERR_NOT_FOUND, QUESTION_MISSING);
        return;
    }
    struct str approvers = lines_next(&lines);
    if (!asked_read(&lines, &question)) {
        refuse(answering, ERR_INTERNAL, NULL);
        return;
    }
    go_on(answering, approvers, &question);
    asked_fini(&question);
}

/* --- start and end ---------------------------------------------------------------------------- */

static struct str own(struct answering *answering, struct str text)
{
    if (answering->text_n == TEXT_NR)
        abort();
    char *copy = str_copy(text);
    answering->texts[answering->text_n++] = copy;
    return (struct str){copy, text.n};
}

struct answering *answer_start(struct workflow *workflow, const struct answer *answer,
                               answer_cb *on_end, void *context)
{
    struct answering *answering = mem_zeroed(sizeof *answering);
    *answering = (struct answering){.workflow = workflow,
                                    .state = ANSWERING_READING,
                                    .number = sm_number(),
                                    .way = answer->way,
                                    .id = answer->question,
                                    .is_approved = answer->is_approved,
                                    .on_end = on_end,
                                    .context = context};
    answering->who.account = own(answering, answer->who->account);
    answering->who.user = own(answering, answer->who->user);
    answering->who.user_name = own(answering, answer->who->user_name);
    answering->who.role = own(answering, answer->who->role);
    answering->id.session = own(answering, answer->question.session);
    answering->comment = own(answering, answer->comment);
    answering->note = own(answering, answer->note);
    if (answering->note.n > ANSWER_NOTE_MAX_BYTES)
        answering->note = STR(""); /* it is what a client says of itself: worth no refusal */
    if (answer->is_approved && json_object_size(answer->corrections) > 0)
        answering->corrections = json_incref((json_t *)answer->corrections);
    if (answer->post != NULL)
        answering->post.fields = json_incref(answer->post->fields);
    identities_of(&answering->who, &answering->identities);
    call_workflow_question(shards_call(workflow->server->shards, &answering->call, on_read),
                           .session = answering->id.session, .run = answering->id.run,
                           .step = answering->id.step);
    return answering;
}

void answer_leave(struct answering *answering)
{
    if (answering != NULL)
        answering->on_end = NULL;
}

/* --- words ------------------------------------------------------------------------------------ */

enum echo echo_read(struct str raw_text)
{
    static const struct str yes[] = {STR("yes"), STR("ok"), STR("approve")},
                            no[] = {STR("no"), STR("reject"), STR("cancel")};
    struct str word = str_trim(raw_text);
    if (word.n > 0 && (word.at[word.n - 1] == '.' || word.at[word.n - 1] == '!'))
        word = str_trim((struct str){word.at, word.n - 1});
    for (size_t i = 0; i < 3; i++) {
        if (str_eq_nocase(word, yes[i]))
            return ECHO_YES;
        if (str_eq_nocase(word, no[i]))
            return ECHO_NO;
    }
    return ECHO_CORRECTION;
}
