/* SPDX-License-Identifier: MIT
 * ask.c - see ask.h.
 *
 * A question of the tool `ask` is an ordinary query of the person's, in a topic that the client
 * names or in one of its own. Nobody withdraws such a query when a client leaves, so this does. */
#include "services/mcp/ask.h"

#include "generated/verbs.h"
#include "services/mcp/result.h"
#include "shared/ask/on_behalf.h"
#include "shared/base/json.h"
#include "shared/base/mem.h"

#include <openssl/rand.h>
#include <stdlib.h>

enum { TOPIC_RANDOM_BYTES = 9, TEXT_MAX_BYTES = (8 << 20) + 1024, NOTE_MAX_BYTES = 256 };

/* --- progress --------------------------------------------------------------------------------- */

static void note_queue(struct mcp_call *call, struct str data)
{
    char reason[160];
    json_t *tree = NULL;
    struct buf text;
    if (!json_parse(data, reason, sizeof reason, &tree))
        return;
    const json_t *eta = json_object_get(tree, "EtaSeconds");
    buf_init(&text, NOTE_MAX_BYTES);
    buf_printf(&text, "Place %lld in the queue",
               (long long)json_integer_value(json_object_get(tree, "Position")) + 1);
    if (json_is_integer(eta))
        buf_printf(&text, ", about %lld s", (long long)json_integer_value(eta));
    buf_put_char(&text, '.');
    call_note(call, buf_str(&text));
    buf_fini(&text);
    json_decref(tree);
}

static void note(struct mcp_call *call, const char *event, struct str data)
{
    bool is_text = strcmp(event, "token") == 0 || strcmp(event, "think") == 0;
    if (strcmp(event, "queue") == 0)
        note_queue(call, data);
    else if (strcmp(event, "sources") == 0)
        call_note(call, STR("Passages were found."));
    else if (strcmp(event, "restart") == 0)
        call_note(call, STR("The engine was lost: another one answers."));
    else if (is_text && !call->has_begun)
        call_note(call, STR("A model answers."));
    call->has_begun = is_text;
}

/* --- ask_documents ---------------------------------------------------------------------------- */

static void put_source(struct buf *b, size_t number, const json_t *citation)
{
    buf_printf(b, "\n[%zu] %.*s, passage %lld of document %.*s", number,
               STR_ARG(json_member_str(citation, "documentTitle")),
               (long long)json_integer_value(json_object_get(citation, "chunkIndex")),
               STR_ARG(json_member_str(citation, "docId")));
}

/* Its text has the names of its sources; their passages are in the structure. */
static void put_documents_answer(struct mcp_call *call, struct buf *b, struct str body)
{
    char reason[160];
    json_t *tree = NULL;
    struct buf text;
    if (!json_parse(body, reason, sizeof reason, &tree))
        abort();
    const json_t *citations = json_object_get(tree, "citations");
    buf_init(&text, TEXT_MAX_BYTES);
    buf_put(&text, json_member_str(tree, "answer"));
    if (json_array_size(citations) > 0)
        buf_lit(&text, "\n\nSources:");
    for (size_t i = 0; i < json_array_size(citations); i++)
        put_source(&text, i + 1, json_array_get(citations, i));
    result_put(b, &call->message, buf_str(&text), body);
    b->is_over |= text.is_over;
    buf_fini(&text);
    json_decref(tree);
}

const struct mcp_call_kind ask_documents_kind = {.put = put_documents_answer, .on_event = note};

/* --- ask -------------------------------------------------------------------------------------- */

struct asked {
    struct str topic, user; /* names; in the request's pool */
    uint64_t seq;           /* 0: it is not known yet; the first one of a topic of its own is 1 */
};

static struct str new_topic(struct request *r)
{
    unsigned char random[TOPIC_RANDOM_BYTES];
    char text[2 * TOPIC_RANDOM_BYTES + 1];
    struct buf b;
    if (RAND_bytes(random, sizeof random) != 1)
        abort();
    str_hex(random, sizeof random, text);
    buf_init(&b, sizeof text + 4);
    buf_printf(&b, "mcp-%s", text);
    struct str topic = request_copy(r, buf_str(&b));
    buf_fini(&b);
    return topic;
}

static void put_member(struct buf *b, const char *name, struct str text)
{
    if (text.at == NULL)
        return;
    buf_put_key(b, name);
    buf_put_json(b, text);
}

void ask_put_body(struct buf *b, const struct mcp_message *message, const json_t *args,
                  struct str user, void **ret_about)
{
    struct request *r = message->r;
    const struct account *account = r->account;
    struct asked *asked = request_alloc(r, sizeof *asked);
    struct str topic = json_member_str(args, "topic");
    bool is_own = topic.at == NULL;
    if (is_own)
        topic = new_topic(r);
    *asked = (struct asked){.seq = is_own,
                            .topic = on_behalf_name(r, account->namespace, topic),
                            .user = user.at == NULL ? account->user_token
                                                    : on_behalf_name(r, account->namespace, user)};
    buf_lit(b, "{\"Topic\":");
    buf_put_json(b, topic);
    put_member(b, "User", user.at == NULL ? account->name : user);
    put_member(b, "Query", json_member_str(args, "question"));
    put_member(b, "Model", json_member_str(args, "model"));
    buf_put_char(b, '}');
    *ret_about = asked;
}

static void on_event(struct mcp_call *call, const char *event, struct str data)
{
    struct asked *asked = call->about;
    char reason[160];
    json_t *tree = NULL;
    if (strcmp(event, "added") != 0) {
        note(call, event, data);
    } else if (json_parse(data, reason, sizeof reason, &tree)) {
        asked->seq = (uint64_t)json_integer_value(json_object_get(tree, "Seq"));
        json_decref(tree);
    }
}

/* Cancels a query whose client has left. A cancel may overtake the call that adds the query, and
 * finds none: it is sent once more then, and runs after that call. */
struct withdrawal {
    struct call call;
    struct turn *turn;
    struct str topic, user; /* in `names` */
    uint64_t seq;
    bool is_repeated;
    char names[];
};

static void on_cancelled(struct call *call, enum err error, struct str reply);

static void withdraw(struct withdrawal *w)
{
    call_cancel(turn_call(w->turn, &w->call, on_cancelled), .topic = w->topic, .seq = w->seq,
                .user = w->user, .reason = STR("\"The client that asked has left.\""));
}

static void on_cancelled(struct call *call, enum err error, struct str reply)
{
    struct withdrawal *w = container_of(call, struct withdrawal, call);
    if (error != ERR_OK || w->is_repeated || !str_eq(reply, STR("missing"))) {
        free(w);
        return;
    }
    w->is_repeated = true;
    withdraw(w);
}

static void cancel(struct mcp_call *call)
{
    const struct asked *asked = call->about;
    if (asked->seq == 0)
        return;
    struct withdrawal *w = mem_zeroed(sizeof *w + asked->topic.n + asked->user.n);
    w->turn = shards_turn(call->message.r->server->shards, asked->topic);
    w->seq = asked->seq;
    w->topic = (struct str){memcpy(w->names, asked->topic.at, asked->topic.n), asked->topic.n};
    w->user = (struct str){memcpy(w->names + asked->topic.n, asked->user.at, asked->user.n),
                           asked->user.n};
    withdraw(w);
}

static void put_structure(struct buf *b, const json_t *query, struct str answer)
{
    buf_lit(b, "{\"topic\":");
    buf_put_json_value(b, json_object_get(query, "Topic"));
    buf_put_key(b, "seq");
    buf_put_json_value(b, json_object_get(query, "Seq"));
    buf_put_key(b, "answer");
    buf_put_json(b, answer);
    put_member(b, "model", json_member_str(query, "Model"));
    buf_put_char(b, '}');
}

static void put_answer(struct mcp_call *call, struct buf *b, struct str body)
{
    char reason[160];
    json_t *query = NULL;
    struct buf text, structure;
    if (!json_parse(body, reason, sizeof reason, &query))
        abort();
    const json_t *answers = json_object_get(query, "Answer");
    buf_init(&text, TEXT_MAX_BYTES);
    buf_init(&structure, TEXT_MAX_BYTES);
    for (size_t i = 0; i < json_array_size(answers); i++) {
        if (i > 0)
            buf_put_char(&text, '\n');
        buf_put(&text, json_str(json_array_get(answers, i)));
    }
    put_structure(&structure, query, buf_str(&text));
    result_put(b, &call->message, buf_str(&text), buf_str(&structure));
    b->is_over |= text.is_over || structure.is_over;
    buf_fini(&text);
    buf_fini(&structure);
    json_decref(query);
}

const struct mcp_call_kind ask_kind = {
    .put = put_answer, .on_event = on_event, .on_abandoned = cancel};
