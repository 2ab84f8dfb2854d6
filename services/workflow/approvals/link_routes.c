/* SPDX-License-Identifier: MIT
 * link_routes.c - GET /api/workflows/links/{link}: the question of a link as a page, which changes
 * nothing: mail programs and chats follow links by themselves. POST: the answer, as JSON or from
 * the page.
 *
 * The link is the credential: without others the request counts as the link's account. A request
 * that brings credentials as well must be that account's. Paths are not logged, only routes. */
#include "services/workflow/approvals/approvals.h"

#include "generated/verbs.h"
#include "services/workflow/approvals/link_page.h"
#include "services/workflow/trees/trees.h"
#include "shared/http/access/gate.h"
#include "shared/http/request/accept.h"
#include "shared/http/request/respond.h"

struct followed {
    struct workflow_who who;
    struct link link;
    bool is_form; /* posted by the page */
    struct form_post post;
    struct answer answer;
    struct answering *answering;
};

bool approvals_link_is_open(const struct request *r)
{
    return true;
}

/* --- pages ------------------------------------------------------------------------------------ */

static void send_page(struct request *r, int status, const struct buf *page)
{
    /* The address is a secret: links on the page, or a program that reads it, must not pass it on.
     */
    respond_header(r, "referrer-policy", STR("no-referrer"));
    respond_page(r, status, &link_frame, true, page);
}

/* Browsers name text/html. A page's form is a browser's, whatever it accepts. */
static bool wants_page(struct request *r, bool is_form)
{
    struct str accept = request_header(r, "accept");
    unsigned html = accept_quality(accept, STR("text/html"));
    unsigned json = accept_quality(accept, STR("application/json"));
    return html > json || (is_form && html == json);
}

static void refuse(struct request *r, bool is_form, enum err error, const char *detail)
{
    const struct err_info *info = err_info(error);
    struct buf *b = &r->server->scratch;
    if (info->status >= 500 || !wants_page(r, is_form)) {
        respond_error(r, error, detail);
        return;
    }
    buf_clear(b);
    link_page_put_notice(b,
                         info->status == 409   ? "This question is closed"
                         : info->status == 404 ? "This question does not exist any more"
                         : info->status == 403 ? "This link cannot be used"
                                               : "This answer was not accepted",
                         detail == NULL ? info->text : detail);
    send_page(r, info->status, b);
}

/* Says what the agent does in that tree, by the node's present file; n == 0: it does not say. */
static struct str description_of(const struct trees *trees, struct str verb, struct str agent)
{
    const struct tree *tree = trees_tree(trees, verb);
    const struct tree_node *node = tree == NULL ? NULL : tree_node(tree, agent);
    if (node == NULL)
        return STR("");
    return node->description.n > 0 ? node->description : node->agent->description;
}

static void put_question_page(struct buf *b, struct request *r, const struct asked *question,
                              const char *fault, const struct form_post *post)
{
    const struct followed *followed = r->state;
    struct trees *trees = trees_file_current(workflow_of(r)->settings->trees);
    struct buf verb, agent, account, user;
    buf_init(&verb, 1024);
    buf_init(&agent, 1024);
    buf_init(&account, 1024);
    buf_init(&user, 1024);
    (void)!buf_put_unnamed(&verb, question->verb);
    (void)!buf_put_unnamed(&agent, question->agent);
    (void)!buf_put_unnamed(&account, question->account);
    (void)!buf_put_unnamed(&user, lines_name_within(question->user_name));
    const struct link_question shown = {.verb = buf_str(&verb),
                                        .agent = buf_str(&agent),
                                        .description =
                                            description_of(trees, buf_str(&verb), buf_str(&agent)),
                                        .reason = question->reason,
                                        .account = buf_str(&account),
                                        .user = buf_str(&user),
                                        .form = question->form,
                                        .body = question->body,
                                        .deadline_ms = question->deadline_ms,
                                        .approvals = question->approvals,
                                        .quorum = question->quorum};
    link_page_put_question(b, &shown, followed->link.account->name, fault, post);
    trees_unref(trees);
    buf_fini(&verb);
    buf_fini(&agent);
    buf_fini(&account);
    buf_fini(&user);
}

static void send_question(struct request *r, int status, const struct asked *question,
                          const char *fault, const struct form_post *post)
{
    struct buf page;
    buf_init(&page, LINK_PAGE_MAX_BYTES);
    put_question_page(&page, r, question, fault, post);
    send_page(r, status, &page);
    buf_fini(&page);
}

/* --- following -------------------------------------------------------------------------------- */

static bool refuse_link(struct request *r, const char *detail)
{
    refuse(r, false, ERR_FORBIDDEN, detail);
    return false;
}

/* The link of the request, in its memory. Otherwise answers and returns false. */
static bool follow(struct request *r, struct followed **ret_followed)
{
    struct followed *followed = request_alloc(r, sizeof *followed);
    struct link *link = &followed->link;
    struct link_key key;
    memset(followed, 0, sizeof *followed);
    if (!approvals_key(r, &key))
        return false;
    switch (link_read(&key, gate_accounts(r->server->gate), request_path_param(r, "link"), link)) {
    case LINK_GOOD: break;
    case LINK_ENDED:
        return refuse_link(r, "The account of this link has changed or was removed: log in and "
                              "list the questions again.");
    default: return refuse_link(r, "This link is not valid: copy it again, whole.");
    }
    if (r->account != NULL && !str_eq(r->account->name, link->account->name))
        return refuse_link(r, "This link was made for another account: it counts as that account, "
                              "and you are logged in as this one.");
    followed->who =
        (struct workflow_who){.account = link->account->name_token,
                              .user = {link->user, link->user_n},
                              .user_name = on_behalf_name(r, link->account->namespace,
                                                          (struct str){link->user, link->user_n}),
                              .role = role_name(link->account->role)};
    *ret_followed = followed;
    return true;
}

static void show(struct request *r, struct str approvers, const struct asked *question)
{
    const struct followed *followed = r->state;
    struct identities identities;
    char detail[ANSWER_DETAIL_BYTES];
    struct buf b = {.at = detail, .cap = sizeof detail, .max = sizeof detail - 1};
    identities_of(&followed->who, &identities);
    if (!asked_may_answer(question, approvers, &followed->who, &identities)) {
        refuse(r, false, ERR_FORBIDDEN, QUESTION_FORBIDDEN);
    } else if (!asked_is_open(question)) {
        asked_put_closed(&b, question->who, question->closed_ms);
        detail[b.n] = 0;
        refuse(r, false, ERR_CONFLICT, detail);
    } else {
        send_question(r, 200, question, NULL, NULL);
    }
}

static void on_question(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct asked question;
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
        return;
    }
    if (!str_eq(lines_next(&lines), STR("ok"))) {
        refuse(r, false, ERR_NOT_FOUND, QUESTION_MISSING);
        return;
    }
    struct str approvers = lines_next(&lines);
    if (!asked_read(&lines, &question)) {
        respond_error(r, ERR_INTERNAL, NULL);
        return;
    }
    show(r, approvers, &question);
    asked_fini(&question);
}

void approvals_show_link(struct request *r)
{
    struct followed *followed;
    respond_header(r, "vary", STR("Accept"));
    if (!follow(r, &followed))
        return;
    r->state = followed;
    call_workflow_question(request_call(r, on_question), .session = followed->link.question.session,
                           .run = followed->link.question.run,
                           .step = followed->link.question.step);
}

/* --- answering -------------------------------------------------------------------------------- */

static void respond_answered(struct request *r, const struct followed *followed,
                             const struct answer_end *end)
{
    struct buf *b = &r->server->scratch;
    char text[200];
    buf_clear(b);
    if (!wants_page(r, followed->is_form)) {
        approvals_put_answered(b, &followed->link.question, &followed->answer, end);
        respond_json(r, 200, b);
        return;
    }
    if (end->is_decided)
        snprintf(text, sizeof text, "%s",
                 followed->answer.is_approved ? "The workflow continues."
                                              : "The workflow has ended.");
    else
        snprintf(text, sizeof text, "%llu of %llu %s been given.",
                 (unsigned long long)end->approvals,
                 COUNTED_AS(end->quorum, "approval has", "approvals have"));
    link_page_put_notice(b,
                         followed->answer.is_approved ? "Your approval is recorded"
                                                      : "Your rejection is recorded",
                         text);
    send_page(r, 200, b);
}

static void on_answered(void *context, const struct answer_end *end)
{
    struct request *r = context;
    struct followed *followed = r->state;
    followed->answering = NULL;
    if (end->error == ERR_OK)
        respond_answered(r, followed, end);
    else if (end->is_form && end->question != NULL && wants_page(r, followed->is_form))
        send_question(r, err_info(end->error)->status, end->question, end->detail,
                      followed->is_form ? &followed->post : NULL);
    else
        refuse(r, followed->is_form, end->error, end->detail);
}

static void on_gone(struct request *r)
{
    struct followed *followed = r->state;
    answer_leave(followed->answering);
    form_post_fini(&followed->post);
}

static bool is_form(struct request *r)
{
    struct str type = request_header(r, "content-type");
    return str_eq_nocase(str_trim(str_cut(&type, ';')), STR("application/x-www-form-urlencoded"));
}

static bool read_form(struct request *r, struct followed *followed)
{
    const char *reason;
    struct str body = request_entity(r);
    if (!form_post_read(body, &followed->post, &reason)) {
        refuse(r, true, ERR_BAD_REQUEST, reason);
        return false;
    }
    followed->answer.is_approved = followed->post.is_approved;
    followed->answer.comment = str_of(followed->post.comment);
    followed->answer.post = &followed->post;
    return true;
}

void approvals_answer_link(struct request *r)
{
    struct followed *followed;
    json_t *corrections = NULL;
    if (r->nonce.is_set) { /* before anything is answered */
        request_handle_after_nonce(r);
        return;
    }
    respond_header(r, "vary", STR("Accept"));
    if (!follow(r, &followed))
        return;
    followed->is_form = is_form(r);
    followed->answer = (struct answer){
        .way = ANSWER_BY_LINK, .who = &followed->who, .question = followed->link.question};
    r->state = followed;
    r->on_gone = on_gone;
    if (followed->is_form ? !read_form(r, followed)
                          : !approvals_read_body(r, &followed->answer, &corrections))
        return;
    followed->answering = answer_start(workflow_of(r), &followed->answer, on_answered, r);
    json_decref(corrections);
}
