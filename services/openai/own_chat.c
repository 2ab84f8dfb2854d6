/* SPDX-License-Identifier: MIT
 * own_chat.c - see own_chat.h.
 *
 *   ask --an engine's model is named--> is it there? --no--> 404, 503
 *    |                                   |
 *    +-----------------------------------+
 *    v
 *   the model is asked --on_refused, on_text--> answered
 *    |
 *    v
 *   on_asked: the job follows that query; job_answer.c passes its text through the model */
#include "services/openai/own_chat.h"

#include "generated/verbs.h"
#include "services/openai/input.h"
#include "services/openai/known_models.h"
#include "shared/ask/reply.h"
#include "shared/http/request/explain.h"
#include "shared/text/chars.h"

enum { TOKENS_MAX = 1000000, THERE_MS = 30000 /* as lua/queue/idle.lua */ };

/* --- the question ----------------------------------------------------------------------------- */

/* The text of a message's content: its parts, each on lines of its own. `ret_other`: the type of a
 * part that is none. */
static struct str text_of(struct request *r, const struct json_span *content, struct str *ret_other)
{
    struct members part;
    struct json_span item;
    struct buf b;
    if (content->kind == JSON_SPAN_TEXT)
        return input_text(r, content);
    buf_init(&b, OPENAI_BODY_BYTES);
    for (struct str rest = json_list_inside(content); json_next_item(&rest, &item);) {
        const struct json_span *type =
            members_read(&part, item.raw) ? members_get_kind(&part, "type", JSON_SPAN_TEXT) : NULL;
        const struct json_span *text = members_get_kind(&part, "text", JSON_SPAN_TEXT);
        if (text == NULL) {
            *ret_other = type == NULL ? STR("unknown") : type->raw;
            continue;
        }
        if (b.n > 0)
            buf_put_char(&b, '\n');
        buf_put_span_text(&b, text);
    }
    struct str text = request_copy(r, buf_str(&b));
    buf_fini(&b);
    return text;
}

/* The contents of the last messages of the user, in a ring. Returns how many messages there are. */
static size_t list_contents(const struct json_span *messages, struct json_span ring[OWN_TEXTS_MAX])
{
    struct members message;
    struct json_span item;
    size_t n = 0;
    for (struct str rest = json_list_inside(messages); json_next_item(&rest, &item);) {
        if (!members_read(&message, item.raw))
            continue;
        const struct json_span *role = members_get_kind(&message, "role", JSON_SPAN_TEXT),
                               *content = members_get(&message, "content");
        bool is_user = role != NULL && str_eq(role->raw, STR("user")) && content != NULL;
        if (is_user && (content->kind == JSON_SPAN_TEXT || content->kind == JSON_SPAN_LIST))
            ring[n++ % OWN_TEXTS_MAX] = *content;
    }
    return n;
}

static bool is_question(struct str text)
{
    return str_trim(text).n > 0 && text.n <= 4 * OWN_QUESTION_CHARS &&
           text_length(text) <= OWN_QUESTION_CHARS;
}

static bool read_texts(struct request *r, const struct job_settings *settings,
                       const struct json_span *messages, struct own_question *question)
{
    struct json_span ring[OWN_TEXTS_MAX];
    struct str other = {NULL, 0};
    size_t n = list_contents(messages, ring);
    const char *model = explain_quoted(r, settings->model);
    struct str last = n == 0 ? STR("") : text_of(r, &ring[(n - 1) % OWN_TEXTS_MAX], &other);
    if (other.at != NULL) {
        explain(r, ERR_BAD_REQUEST,
                "The model %s reads text only: the last message of role user has a part of type "
                "%s.",
                model, explain_quoted(r, other));
        return false;
    }
    if (!is_question(last)) {
        explain(r, ERR_BAD_REQUEST,
                "The model %s takes the last of the messages with role user as its question: it "
                "must have 1 to %d characters of text.",
                model, OWN_QUESTION_CHARS);
        return false;
    }
    question->texts[question->text_n++] = last;
    for (size_t back = 2; back <= n && back <= OWN_TEXTS_MAX; back++) {
        struct str text = text_of(r, &ring[(n - back) % OWN_TEXTS_MAX], &other);
        if (is_question(text))
            question->texts[question->text_n++] = text;
    }
    return true;
}

static bool read_temperature(struct request *r, struct own_question *question)
{
    const struct json_span *given = request_member(r, "temperature");
    question->temperature = -1;
    if (given == NULL)
        return true;
    if (given->kind != JSON_SPAN_NUMBER || !str_parse_double(given->raw, &question->temperature) ||
        !(question->temperature >= 0 && question->temperature <= 2))
        return explain_member(r, "temperature", "a number from 0 to 2");
    return true;
}

static bool read_max_tokens(struct request *r, struct own_question *question)
{
    static const char *const names[] = {"max_completion_tokens", "max_output_tokens", "max_tokens"};
    int64_t n = 0;
    size_t i = 0;
    while (i < 2 && request_member(r, names[i]) == NULL)
        i++;
    if (request_member(r, names[i]) != NULL && !request_number(r, names[i], 1, TOKENS_MAX, &n))
        return false;
    question->max_tokens = (unsigned)n;
    return true;
}

/* --- the answer ------------------------------------------------------------------------------- */

static void on_asked(void *context, struct str topic, bool is_new)
{
    struct job *job = context;
    if (job->is_over)
        return;
    job->r->about = (struct request_subject){topic, 1};
    if (is_new)
        budget_pass(&job->budget, job->r, true);
    follow_watch(&job->follow, topic, 1);
    job_wait(job);
}

static void on_text(void *context, struct str text)
{
    struct job *job = context;
    if (!job->is_over)
        job_answer_text(job, text);
}

static void on_refused(void *context, const struct refusal *refusal)
{
    struct job *job = context;
    if (!job->is_over)
        job_refuse(job, refusal);
}

static void start(struct job *job)
{
    static const struct own_answer_events events = {
        .on_asked = on_asked, .on_text = on_text, .on_refused = on_refused};
    struct own_question *question = job->settings.question;
    if (job->budget.is_counted)
        question->grant = job->budget.id;
    job->own = job->settings.own->start(job->r, question, &events, job);
}

static void on_models(struct request *r, enum err error, struct str reply)
{
    struct job *job = r->state;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    uint64_t age_ms;
    if (job->is_over)
        return;
    if (error != ERR_OK || !str_eq(tag, STR("ok"))) {
        job_finish(job);
        if (!reply_refuse(r, error, tag, &lines))
            respond_error(r, ERR_INTERNAL, NULL);
    } else if (!known_models_find_chat(reply, job->settings.question->engine_model, &age_ms)) {
        job_refuse_model(job);
    } else if (age_ms >= THERE_MS) {
        job_fail(job, ERR_NO_ENGINE, NULL);
    } else {
        start(job);
    }
}

/* Asks the job's model, after its budget has let it pass. */
static void ask(struct job *job)
{
    if (job->settings.question->engine_model.at != NULL)
        call_models(request_call(job->r, on_models));
    else
        start(job);
}

/* --- the request ------------------------------------------------------------------------------ */

bool own_chat_read(struct request *r, struct job_settings *settings,
                   const struct json_span *messages, struct str engine_model)
{
    int64_t n = 1;
    struct own_question *question = request_alloc(r, sizeof *question);
    *question = (struct own_question){.person = settings->person,
                                      .engine_model = engine_model,
                                      .deadline_ms = JOB_DEADLINE_S * 1000};
    if (settings->topic.at != NULL || settings->is_stored) {
        explain(r, ERR_BAD_REQUEST,
                "The model %s answers without keeping anything: leave out `store` and the topic.",
                explain_quoted(r, settings->model));
        return false;
    }
    settings->question = question;
    settings->ask = ask;
    return (request_member(r, "n") == NULL || request_number(r, "n", 1, 1, &n)) &&
           read_temperature(r, question) && read_max_tokens(r, question) &&
           read_texts(r, settings, messages, question);
}
