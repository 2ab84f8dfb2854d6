/* SPDX-License-Identifier: MIT
 * command.c - carries out what clients send on their sockets (see socket.h).
 *
 *   request --> BEGINNING --> the run is this node's (runs.h)
 *   request that continues where a person was asked --> ECHOING --> FINDING --> ANSWERING
 *   response with hitl_response ------------------------------> FINDING --> ANSWERING
 *   resume ---------------------------------------------------> FINDING --> frames (follow.c)
 *
 * Of a request that continues, only raw_text is taken: what else its messageBody says, the run has
 * itself, and what was rejected there stays rejected. For the same reason a new request brings no
 * SQL, no rows and no corrections. */
#include "services/workflow/run/socket.h"

#include "generated/verbs.h"
#include "services/workflow/agents/agent.h"
#include "services/workflow/run/runs.h"
#include "services/workflow/trees/trees.h"
#include "shared/base/nearest.h"
#include "shared/base/shown.h"
#include "shared/queue/lines.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_MAX_BYTES = 512, DETAIL_BYTES = 400 };

#define GENERIC STR("GENERIC")

static struct shards *shards_of(const struct socket *socket)
{
    return socket->all->workflow->server->shards;
}

static void refuse(struct socket *socket, const char *reason)
{
    socket_refuse(socket, str_of(reason));
}

static void refuse_error(struct socket *socket, enum err error)
{
    refuse(socket, err_info(error)->text);
}

static void refuse_with(struct socket *socket, struct buf *reason)
{
    socket_refuse(socket, buf_str(reason));
    buf_fini(reason);
}

/* A text of the client as a name, in the caller's room. */
static struct str name_of(char room[NAME_MAX_BYTES], struct str text)
{
    struct buf b = {.at = room, .cap = NAME_MAX_BYTES, .max = NAME_MAX_BYTES};
    buf_put_name(&b, text);
    return buf_str(&b);
}

static void find_session(struct socket *socket, struct str session_id)
{
    workflow_sid(socket->who.account, socket->who.user_name, session_id, socket->session);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void on_answered(void *context, const struct answer_end *end)
{
    struct socket *socket = context;
    socket->answering = NULL;
    if (end->error != ERR_OK) {
        refuse(socket, end->detail != NULL ? end->detail : err_info(end->error)->text);
        return;
    }
    socket_finish(socket);
}

static void answer(struct socket *socket)
{
    const struct envelope *e = &socket->envelope;
    struct answer a = {.way = socket->is_echo ? ANSWER_BY_ECHO : ANSWER_BY_SOCKET,
                       .who = &socket->who,
                       .question = {str_of(socket->session), socket->run, socket->step},
                       .is_approved = e->is_approved,
                       .corrections = e->corrections,
                       .comment = e->comment,
                       .note = e->approved_by};
    json_t *corrections = NULL;
    if (socket->is_echo) {
        struct str text = json_member_str(e->body, "raw_text");
        enum echo echo = echo_read(text);
        a.is_approved = echo != ECHO_NO;
        if (echo == ECHO_CORRECTION)
            corrections = json_pack("{s:s%}", "raw_text", text.at, text.n);
        a.corrections = corrections;
    }
    socket_move(socket, SOCKET_ANSWERING);
    socket->answering = answer_start(socket->all->workflow, &a, on_answered, socket);
    json_decref(corrections);
}

/* --- runs that exist -------------------------------------------------------------------------- */

static void resume(struct socket *socket, uint64_t run, uint64_t seq)
{
    char name[NAME_MAX_BYTES];
    uint64_t since = socket->envelope.since < seq ? socket->envelope.since : seq;
    if (!follower_start(socket, str_of(socket->session), run,
                        name_of(name, socket->envelope.request_id), since, true))
        refuse(socket, "This socket follows too many runs: open another one.");
    else
        socket_finish(socket);
}

static void on_found(struct call *call, enum err error, struct str reply)
{
    struct socket *socket = container_of(call, struct socket, call);
    struct lines lines = lines_of(reply);
    char name[NAME_MAX_BYTES];
    if (error != ERR_OK) {
        refuse_error(socket, error);
        return;
    }
    if (!str_eq(lines_next(&lines), STR("ok"))) {
        struct buf b;
        buf_init(&b, DETAIL_BYTES);
        buf_lit(&b, "There is no run ");
        buf_put_quoted(&b, socket->envelope.request_id);
        buf_lit(&b, " in this session: check session_id and request_id.");
        refuse_with(socket, &b);
        return;
    }
    uint64_t run = lines_next_u64(&lines);
    lines_next(&lines); /* its status: the question says whether it is open */
    uint64_t seq = lines_next_u64(&lines), step = lines_next_u64(&lines);
    if (socket->envelope.type == ENVELOPE_RESUME) {
        resume(socket, run, seq);
        return;
    }
    if (step == 0) {
        refuse(socket, "This run has not asked anybody.");
        return;
    }
    if (!socket->is_echo)
        socket->step = step;
    socket->run = run;
    if (follower_find(socket, str_of(socket->session), run) == NULL &&
        !follower_start(socket, str_of(socket->session), run,
                        name_of(name, socket->envelope.request_id), seq, true))
        refuse(socket, "This socket follows too many runs: open another one.");
    else
        answer(socket);
}

static void find(struct socket *socket)
{
    char name[NAME_MAX_BYTES];
    socket_move(socket, SOCKET_FINDING);
    call_workflow_find(shards_call(shards_of(socket), &socket->call, on_found),
                       .session = str_of(socket->session),
                       .request_id = name_of(name, socket->envelope.request_id));
}

/* Its socket knows the session of a request that it follows. */
static void find_answered(struct socket *socket)
{
    char name[NAME_MAX_BYTES];
    const struct envelope *e = &socket->envelope;
    if (e->session_id.at != NULL) {
        find_session(socket, e->session_id);
    } else {
        const struct follower *f = follower_find_request(socket, name_of(name, e->request_id));
        if (f == NULL) {
            refuse(socket, "session_id is missing, and this socket does not follow that request.");
            return;
        }
        memcpy(socket->session, f->watched->session, sizeof socket->session);
    }
    find(socket);
}

/* --- the deployed chat ------------------------------------------------------------------------ */

static void on_echoed(struct call *call, enum err error, struct str reply)
{
    struct socket *socket = container_of(call, struct socket, call);
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    if (error != ERR_OK) {
        refuse_error(socket, error);
    } else if (str_eq(tag, STR("none"))) {
        refuse(socket, "No question of this session is open.");
    } else if (str_eq(tag, STR("known"))) {
        refuse(socket, "This request_id has a run already, which asks nobody: send a new one.");
    } else if (!str_eq(tag, STR("ok"))) {
        refuse(socket, "This run has been continued under too many request ids.");
    } else {
        socket->run = lines_next_u64(&lines);
        socket->step = lines_next_u64(&lines);
        find(socket);
    }
}

static void echo(struct socket *socket)
{
    char name[NAME_MAX_BYTES];
    struct str text = str_trim(json_member_str(socket->envelope.body, "raw_text"));
    if (text.n == 0) {
        refuse(socket, "messageBody.raw_text is missing: it is the answer to the question.");
        return;
    }
    socket->is_echo = true;
    socket_move(socket, SOCKET_ECHOING);
    call_workflow_echo(shards_call(shards_of(socket), &socket->call, on_echoed),
                       .session = str_of(socket->session),
                       .request_id = name_of(name, socket->envelope.request_id));
}

/* --- new runs --------------------------------------------------------------------------------- */

static void begin(struct socket *socket);

static void start(struct socket *socket, struct lines *lines)
{
    char name[NAME_MAX_BYTES];
    uint64_t run = lines_next_u64(lines);
    struct run_start s = {.session = str_of(socket->session),
                          .run = run,
                          .fence = lines_next_u64(lines),
                          .account = socket->who.account,
                          .user_name = socket->who.user_name,
                          .session_id = socket->envelope.session_id,
                          .request_id = socket->envelope.request_id,
                          .verb = socket->verb,
                          .traceparent = socket->traceparent,
                          .trees = socket->trees,
                          .body = socket->body};
    socket->trees = NULL;
    bool is_followed = follower_start(socket, str_of(socket->session), run,
                                      name_of(name, socket->envelope.request_id), 0, false);
    (void)is_followed; /* it was looked at before the run began, and messages come one by one */
    runs_start(socket->all->workflow->runs, &s);
    socket_finish(socket);
}

static void refuse_full(struct socket *socket, struct str reason)
{
    if (str_eq(reason, STR("session")))
        refuse(socket, "This session has had 1,000 runs: use another session_id.");
    else
        refuse(socket, "100 runs of this user are not finished: finish or reject some first.");
}

static void on_begun(struct call *call, enum err error, struct str reply)
{
    struct socket *socket = container_of(call, struct socket, call);
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    if (error != ERR_OK) {
        refuse_error(socket, error);
    } else if (str_eq(tag, STR("begun"))) {
        start(socket, &lines);
    } else if (str_eq(tag, STR("version")) && !socket->has_sent_file) {
        socket->has_sent_file = true;
        begin(socket);
    } else if (str_eq(tag, STR("known"))) {
        refuse(socket, "This request_id has a run already: send a resume to follow it.");
    } else if (str_eq(tag, STR("full"))) {
        refuse_full(socket, lines_next(&lines));
    } else {
        refuse(socket, "This account has used up its room: max_stored.");
    }
}

static void begin(struct socket *socket)
{
    char session_id[NAME_MAX_BYTES], request_id[NAME_MAX_BYTES], verb[NAME_MAX_BYTES],
        agent[NAME_MAX_BYTES];
    const struct tree *tree = trees_tree(socket->trees, socket->verb);
    const struct agent_entry *first =
        tree == NULL ? trees_router(socket->trees) : tree_root(tree)->agent;
    struct buf body;
    if (socket->state != SOCKET_BEGINNING)
        socket_move(socket, SOCKET_BEGINNING);
    buf_init(&body, ENVELOPE_BODY_MAX_BYTES);
    buf_put_json_value(&body, socket->body);
    if (body.is_over)
        refuse(socket, "messageBody is larger than 192 KiB.");
    else
        call_workflow_begin(
            shards_call(shards_of(socket), &socket->call, on_begun),
            .session = str_of(socket->session), .account = socket->who.account,
            .user = socket->who.user_name,
            .session_id = name_of(session_id, socket->envelope.session_id),
            .request_id = name_of(request_id, socket->envelope.request_id),
            .verb_name = name_of(verb, socket->verb), .version = trees_version(socket->trees),
            .file = socket->has_sent_file ? trees_text(socket->trees) : STR(""),
            .agent = name_of(agent, first->name), .body = buf_str(&body),
            .max_stored = socket->max_stored, .max_stored_per_user = socket->max_stored_per_user);
    buf_fini(&body);
}

/* The body of a new run: without what only its agents may say. */
static json_t *body_of(const struct envelope *e)
{
    static const char *const results[] = {"sql_query", "columns",        "rows",
                                          "rowcount",  BODY_CORRECTIONS, NULL};
    json_t *body = e->body == NULL ? json_object() : json_copy((json_t *)(uintptr_t)e->body);
    if (body == NULL)
        abort();
    for (const char *const *name = results; *name != NULL; name++)
        json_object_del(body, *name);
    return body;
}

static bool begins_with_word(struct str text, struct str word)
{
    return text.n > word.n && str_eq_nocase((struct str){text.at, word.n}, word) &&
           (text.at[word.n] == ' ' || text.at[word.n] == '\t' || text.at[word.n] == '\n');
}

/* The first word of a request may name its tree; otherwise the router finds it. */
static struct str route(const struct trees *trees, struct str raw_text)
{
    struct str verb = begins_with_word(raw_text, STR("run"))       ? STR("RULE")
                      : begins_with_word(raw_text, STR("extract")) ? STR("CONTENT")
                                                                   : GENERIC;
    return trees_tree(trees, verb) != NULL ? verb : GENERIC;
}

static bool is_root(const struct trees *trees, struct str agent)
{
    for (size_t i = 0; i < trees_count(trees); i++)
        if (str_eq(tree_root(trees_at(trees, i))->agent->name, agent))
            return true;
    return false;
}

/* With the nearest verb, and all of them as far as there is room. */
static void refuse_verb(struct socket *socket)
{
    struct str verb = socket->envelope.verb;
    struct nearest nearest = nearest_begin(verb);
    struct buf b;
    buf_init(&b, DETAIL_BYTES);
    buf_lit(&b, "There is no verb ");
    buf_put_quoted(&b, verb);
    for (size_t i = 0; i < trees_count(socket->trees); i++)
        nearest_try(&nearest, tree_verb(trees_at(socket->trees, i)));
    buf_put_nearest(&b, "", nearest_end(&nearest));
    buf_put(&b, nearest_end(&nearest).at == NULL ? STR(". ") : STR(" "));
    buf_printf(&b, "This node has %.*s", STR_ARG(GENERIC));
    for (size_t i = 0; i < trees_count(socket->trees); i++) {
        struct str other = tree_verb(trees_at(socket->trees, i));
        if (!str_eq(other, GENERIC) && b.n + other.n + sizeof ", ..." < b.max)
            buf_printf(&b, ", %.*s", STR_ARG(other));
    }
    buf_put_char(&b, '.');
    refuse_with(socket, &b);
}

static void refuse_agent(struct socket *socket)
{
    struct str next = socket->envelope.next_agent;
    bool is_known = trees_agent(socket->trees, next) != NULL;
    struct buf b;
    buf_init(&b, DETAIL_BYTES);
    buf_put(&b, is_known ? STR("A request cannot begin at ") : STR("There is no agent "));
    buf_put_quoted(&b, next);
    buf_put(&b, is_known ? STR(": leave nextAgent out.")
                         : STR(": leave nextAgent out, or see GET /api/workflows."));
    refuse_with(socket, &b);
}

/* Which verb a new run begins with; false: refused. */
static bool choose_verb(struct socket *socket)
{
    const struct envelope *e = &socket->envelope;
    const struct trees *trees = socket->trees;
    struct str router = trees_router(trees)->name, next = e->next_agent;
    struct str raw_text = str_trim(json_member_str(e->body, "raw_text"));
    const struct tree *tree = trees_tree(trees, e->verb.n > 0 ? e->verb : STR(""));
    bool is_routed = str_eq(next, router) || e->verb.n == 0 || str_eq(e->verb, GENERIC);
    if (!is_routed && tree == NULL) {
        refuse_verb(socket);
        return false;
    }
    bool is_start = next.n == 0 || str_eq(next, router) ||
                    (is_routed ? is_root(trees, next) : str_eq(tree_root(tree)->agent->name, next));
    if (!is_start) {
        refuse_agent(socket);
        return false;
    }
    if (is_routed && raw_text.n == 0) {
        refuse(socket, e->verb.n == 0 ? "verb is missing, and messageBody.raw_text."
                                      : "messageBody.raw_text is missing.");
        return false;
    }
    socket->verb = is_routed ? route(trees, raw_text) : tree_verb(tree);
    return true;
}

static bool is_chat(const struct trees *trees, struct str agent)
{
    const struct agent_entry *entry = agent.n == 0 ? NULL : trees_agent(trees, agent);
    return entry != NULL && entry->type == AGENT_CHAT;
}

static void request(struct socket *socket)
{
    struct workflow *workflow = socket->all->workflow;
    find_session(socket, socket->envelope.session_id);
    socket->trees = trees_file_current(workflow->settings->trees);
    if (is_chat(socket->trees, socket->envelope.next_agent)) {
        echo(socket);
        return;
    }
    if (!choose_verb(socket))
        return;
    if (workflow->server->is_draining)
        refuse(socket, "This node is shutting down: connect again.");
    else if (socket->follower_n >= SOCKET_FOLLOWS_MAX)
        refuse(socket, "This socket follows too many runs: open another one.");
    else {
        socket->body = body_of(&socket->envelope);
        begin(socket);
    }
}

/* --- all of them ------------------------------------------------------------------------------ */

void socket_drop_command(struct socket *socket)
{
    call_detach(&socket->call);
    answer_leave(socket->answering);
    socket->answering = NULL;
    trees_unref(socket->trees);
    socket->trees = NULL;
    json_decref(socket->body);
    socket->body = NULL;
    envelope_fini(&socket->envelope);
    socket->is_echo = socket->has_sent_file = false;
}

void socket_handle(struct socket *socket, struct str text)
{
    char reason[ENVELOPE_FAULT_BYTES];
    if (!envelope_read(text, &socket->envelope, reason)) {
        refuse(socket, reason);
        return;
    }
    switch (socket->envelope.type) {
    case ENVELOPE_ANSWER: find_answered(socket); break;
    case ENVELOPE_RESUME:
        find_session(socket, socket->envelope.session_id);
        find(socket);
        break;
    default: request(socket); break;
    }
}
