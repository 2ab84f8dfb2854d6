/* SPDX-License-Identifier: MIT
 * responses.c - POST /v1/responses and /v1/responses/input_tokens: reads the request, whose engine
 * gets it as one of a chat. One that continues a response begins with the messages that its engine
 * got, and its items.
 *
 *   read --item_reference--> the items --previous_response_id--> that response, and what its
 *     |                          |                                 engine got
 *     +--------------------------+---------------------------------+--> translated --> a job, or a
 *                                                                       count
 */
#include "services/openai/input.h"
#include "services/openai/metadata.h"
#include "services/openai/own_chat.h"
#include "services/openai/own_models.h"
#include "services/openai/responses/form.h"
#include "services/openai/responses/kept.h"
#include "services/openai/responses/references.h"
#include "services/openai/responses/translate.h"
#include "shared/http/request/explain.h"

struct asking {
    struct job_settings settings;
    struct response_settings of_form;
    struct completion_id previous;
    struct translate_before before;
    /* The request, with the items in the places of those that it only names. */
    const struct json_member *members;
    size_t member_n;
    struct str engine_model; /* of a model of this server, own_models_find */
    bool has_instructions;   /* the response that it continues has */
    bool is_count;           /* of its tokens */
};

/* --- starting --------------------------------------------------------------------------------- */

/* Nodes have no tokenizer: as usage.h estimates them. */
static void answer_count(struct request *r, size_t bytes)
{
    struct buf b;
    buf_init(&b, 128);
    buf_lit(&b, "{\"object\":\"response.input_tokens\",\"input_tokens\":");
    buf_put_u64(&b, usage_tokens_of(bytes));
    buf_put_char(&b, '}');
    respond_json(r, 200, &b);
    buf_fini(&b);
}

/* Makes the request that engines get, in the request's pool. */
static bool translate(struct request *r, const struct asking *asking, struct str *ret_request)
{
    struct translate_fault fault;
    struct buf b;
    buf_init(&b, OPENAI_BODY_BYTES);
    bool is_good =
        translate_request(asking->members, asking->member_n, &asking->before, &b, &fault);
    if (!is_good)
        explain_member(r, fault.member, fault.expected);
    else if (b.is_over)
        explain(r, ERR_TOO_LARGE, "As a request of a chat, this one has more than %d bytes.",
                OPENAI_BODY_BYTES);
    else
        *ret_request = request_copy(r, buf_str(&b));
    is_good = is_good && !b.is_over;
    buf_fini(&b);
    return is_good;
}

static void start(struct request *r, struct asking *asking)
{
    struct job_settings *settings = &asking->settings;
    if (!translate(r, asking, &settings->request))
        return;
    if (settings->own != NULL) {
        struct json_span messages = input_messages(settings->request);
        if (!own_chat_read(r, settings, &messages, asking->engine_model))
            return;
    }
    if (asking->is_count)
        answer_count(r, settings->request.n);
    else
        job_start(r, settings);
}

/* --- what it continues ------------------------------------------------------------------------ */

/* The messages of a chat request, without the first one if that is the instructions: they hold for
 * one response only. */
static struct str messages_of(struct str request, bool has_instructions)
{
    struct json_span first, messages = input_messages(request);
    struct str list = json_list_inside(&messages);
    if (has_instructions && json_next_item(&list, &first) && list.n > 0 && list.at[0] == ',')
        list = (struct str){list.at + 1, list.n - 1};
    return list;
}

static void on_sent(struct request *r, enum err error, struct str reply)
{
    struct asking *asking = r->state;
    struct kept kept;
    if (!kept_read(r, error, reply, request_member_text(r, "previous_response_id"), &kept))
        return;
    asking->before.messages = messages_of(kept.text, asking->has_instructions);
    start(r, asking);
}

static void on_previous(struct request *r, enum err error, struct str reply)
{
    struct asking *asking = r->state;
    struct kept kept;
    if (!kept_read(r, error, reply, request_member_text(r, "previous_response_id"), &kept))
        return;
    if (!str_eq(kept.outcome.status, STR("Done"))) {
        (void)!explain_member(r, "previous_response_id", "of a response that is completed");
        return;
    }
    asking->before.items = kept_items(r, &kept, STR(""));
    asking->has_instructions = kept_member(&kept, "instructions", JSON_SPAN_TEXT) != NULL;
    kept_show(r, &asking->settings.person, &asking->previous, RESPONSE_SHOW_SENT, on_sent);
}

/* Reads the id of the response that it continues, in whose topic it is unless it names another. */
static bool read_previous(struct request *r, struct asking *asking)
{
    struct job_settings *settings = &asking->settings;
    const struct json_span *member = request_member(r, "previous_response_id");
    struct str name = request_member_text(r, "previous_response_id");
    if (member == NULL)
        return true;
    if (name.at == NULL)
        return explain_member(r, "previous_response_id", "the id of a response");
    if (!completion_id_read(r, RESPONSE_PREFIX, name, &asking->previous)) {
        kept_explain_missing(r, name);
        return false;
    }
    if (settings->topic.at == NULL && settings->is_stored)
        settings->topic = request_copy(r, asking->previous.topic);
    return true;
}

/* --- the request ------------------------------------------------------------------------------ */

static struct str title_of(struct request *r)
{
    const struct json_span *input = request_member(r, "input");
    if (input == NULL)
        return STR("");
    return input->kind == JSON_SPAN_TEXT ? input_title(r, input)
                                         : input_title_of_messages(r, input);
}

/* Reads what becomes of the response: it is kept unless its client says otherwise, or it is of a
 * batch (input_read). Models of this server keep nothing, and answer while their client waits. */
static bool read_storing(struct request *r, struct asking *asking)
{
    struct job_settings *settings = &asking->settings;
    struct str lines;
    settings->metadata = (struct str){NULL, 0}; /* a response has its own */
    settings->own = own_models_find(r, settings->model, &asking->engine_model);
    if (!request_optional_bool(r, "store", settings->own == NULL && !r->is_behind,
                               &settings->is_stored) ||
        !request_optional_bool(r, "background", false, &settings->is_background) ||
        !metadata_read(r, &lines))
        return false;
    if (settings->is_background && settings->own != NULL)
        return explain_member(r, "background", "false, or absent, for a model of this server");
    if (settings->is_background && !settings->is_stored)
        return explain_member(r, "background",
                              "false with store: false, since nobody could read it");
    if (settings->is_stored)
        settings->response = request_entity(r);
    return true;
}

static bool read_request(struct request *r, struct asking *asking)
{
    struct job_settings *settings = &asking->settings;
    if (asking->is_count)
        return input_person(r, (struct str){NULL, 0}, &settings->person) &&
               read_previous(r, asking);
    return input_read(r, settings) && read_storing(r, asking) && read_previous(r, asking);
}

static void read_before(struct request *r, struct asking *asking)
{
    if (asking->previous.topic.n == 0)
        start(r, asking);
    else
        kept_show(r, &asking->settings.person, &asking->previous, RESPONSE_SHOW_ANSWER,
                  on_previous);
}

static void on_resolved(struct request *r, struct str body)
{
    struct asking *asking = r->state;
    struct json_member *members = request_alloc(r, (r->member_n + 1) * sizeof *members);
    const char *reason;
    size_t at;
    bool is_object;
    if (!json_scan_object(body, members, r->member_n + 1, &asking->member_n, &reason, &at,
                          &is_object))
        abort(); /* it is made of what was read */
    asking->members = members;
    if (asking->settings.is_stored)
        asking->settings.response = body;
    read_before(r, asking);
}

static void ask(struct request *r, bool is_count)
{
    struct asking *asking = request_alloc(r, sizeof *asking);
    if (!request_body(r))
        return;
    *asking = (struct asking){.settings = {.api = OPENAI_CHAT, .form = &response_form},
                              .before = {STR(""), STR("")},
                              .is_count = is_count};
    if (!read_request(r, asking))
        return;
    asking->members = r->members;
    asking->member_n = r->member_n;
    asking->of_form = (struct response_settings){r->members, r->member_n, -1};
    asking->settings.of_form = &asking->of_form;
    asking->settings.title = title_of(r);
    r->state = asking;
    if (references_are_there(r))
        references_resolve(r, &asking->settings.person, on_resolved);
    else
        read_before(r, asking);
}

void openai_respond(struct request *r)
{
    ask(r, false);
}

void openai_count_input_tokens(struct request *r)
{
    ask(r, true);
}
