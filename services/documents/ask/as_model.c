/* SPDX-License-Identifier: MIT
 * as_model.c - documents as a model, `parley/documents` (shared/ask/own_model.h): a person's
 * documents answer as they do at POST /api/rag/ask, with its limit.
 *
 *   start --search--> refused
 *            |
 *            +--nothing found--> on_text
 *            |
 *            +--question--> refused, or on_asked: the door follows the query, and gives its pieces
 *                           to put_text, which removes marks that name no passage
 *
 * A question without a word to search for ("And why?") is asked together with the last one of the
 * conversation that has some. */
#include "services/documents/ask/cited_question.h"

#include "services/documents/ask/ask_input.h"
#include "services/documents/ask/citations.h"
#include "services/documents/handlers.h"
#include "shared/ask/own_model.h"
#include "shared/base/mem.h"
#include "shared/http/client/endpoint.h"
#include "shared/text/cite.h"
#include "shared/text/terms.h"

static const double usual_temperature = 0.2;

enum { ANNOTATIONS_MAX = 1000 };

/* A mark in the text. */
struct place {
    unsigned number; /* of its passage, from 1 */
    size_t from, to; /* in characters of the text */
};

struct answer {
    struct own_answer base;
    struct request *r;
    const struct own_answer_events *events;
    void *context;
    struct own_question asked;
    struct str question; /* as it is searched for and put to an engine */
    struct owner owner;
    struct retrieval *retrieval;
    const struct retrieve_hit *hits[TOP_K_MAX];
    struct question *query;
    struct cite_filter filter;
    struct place *places;
    size_t place_n;
    size_t chars;   /* of the text up to `counted` */
    size_t counted; /* bytes of the buffer that text is put into */
};

static struct answer *answer_of(struct own_answer *base)
{
    return container_of(base, struct answer, base);
}

/* --- what is asked ---------------------------------------------------------------------------- */

static bool has_terms(struct str text)
{
    struct terms terms;
    terms_read(&terms, text, STR(""));
    for (size_t i = 0; i < terms.n; i++)
        if (!terms.at[i].is_weak)
            return true;
    return false;
}

static struct str question_of(struct request *r, const struct own_question *asked)
{
    struct str last = asked->texts[0];
    unsigned i = 1;
    if (has_terms(last))
        return last;
    while (i < asked->text_n && !has_terms(asked->texts[i]))
        i++;
    if (i == asked->text_n ||
        text_length(asked->texts[i]) + 1 + text_length(last) > QUESTION_MAX_CHARS)
        return last;
    struct buf both;
    buf_init(&both, asked->texts[i].n + 1 + last.n);
    buf_put(&both, asked->texts[i]);
    buf_put_char(&both, '\n');
    buf_put(&both, last);
    struct str question = request_copy(r, buf_str(&both));
    buf_fini(&both);
    return question;
}

/* --- what is shown ---------------------------------------------------------------------------- */

/* Counts the characters up to byte `at`. */
static void count_to(struct answer *a, const struct buf *out, size_t at)
{
    a->chars += text_length((struct str){out->at + a->counted, at - a->counted});
    a->counted = at;
}

static void on_mark(struct cite_filter *filter, unsigned number, const struct buf *out, size_t at)
{
    struct answer *a = container_of(filter, struct answer, filter);
    if (out->is_over || a->place_n == ANNOTATIONS_MAX)
        return;
    count_to(a, out, at);
    a->places = mem_grow(a->places, a->place_n, sizeof *a->places);
    struct place *place = &a->places[a->place_n++];
    *place = (struct place){.number = number, .from = a->chars};
    count_to(a, out, out->n);
    place->to = a->chars;
}

static void restart(struct own_answer *base)
{
    struct answer *a = answer_of(base);
    a->filter = (struct cite_filter){.source_n = a->retrieval->hit_n, .on_mark = on_mark};
    a->place_n = a->chars = 0;
}

static void put_text(struct own_answer *base, struct str piece, struct buf *out)
{
    struct answer *a = answer_of(base);
    a->counted = out->n;
    cite_feed(&a->filter, piece, out);
    count_to(a, out, out->n);
}

/* The page of a passage that has one, else the passage, as its account may read it. */
static void put_url(struct buf *b, const struct answer *a, const struct retrieve_hit *hit)
{
    if (hit->url_json.n > STR("\"\"").n) {
        buf_put(b, hit->url_json);
        return;
    }
    buf_put_char(b, '"');
    buf_put(b, http_base_url(str_of(documents_of(a->r)->settings->public_url)));
    buf_printf(b, "/api/docs/%.*s/chunks/%u", STR_ARG(hit->doc), hit->chunk);
    if (a->r->account->role == ROLE_FRONTEND) {
        buf_lit(b, "?OnBehalfOf=");
        buf_put_url_encoded(b, a->asked.person.user);
    }
    buf_put_char(b, '"');
}

static void put_end(struct own_answer *base, struct buf *out, struct buf *annotations)
{
    struct answer *a = answer_of(base);
    a->counted = out->n;
    cite_finish(&a->filter, out);
    for (size_t i = 0; i < a->place_n; i++) {
        const struct place *place = &a->places[i];
        const struct retrieve_hit *hit = a->hits[place->number - 1];
        buf_put(annotations, i == 0 ? STR("[") : STR(","));
        buf_printf(annotations,
                   "{\"type\":\"url_citation\",\"url_citation\":{\"start_index\":%zu,"
                   "\"end_index\":%zu,\"url\":",
                   place->from, place->to);
        put_url(annotations, a, hit);
        buf_lit(annotations, ",\"title\":");
        buf_put(annotations, hit->title_json);
        buf_lit(annotations, "}}");
    }
    if (a->place_n > 0)
        buf_put_char(annotations, ']');
}

/* --- the steps -------------------------------------------------------------------------------- */

static void on_asked(void *context, struct str topic, bool is_new)
{
    struct answer *a = context;
    restart(&a->base);
    a->events->on_asked(a->context, request_copy(a->r, topic), is_new);
}

static void on_end(void *context, const struct question_end *end)
{
    struct answer *a = context;
    struct refusal refusal;
    a->query = NULL;
    refusal_of(end, &refusal);
    a->events->on_refused(a->context, &refusal);
}

static void on_retrieved(struct retrieval *retrieval, void *context)
{
    static const struct question_events events = {.on_asked = on_asked, .on_end = on_end};
    struct answer *a = context;
    if (retrieval->error != ERR_OK) {
        struct refusal refusal;
        retrieve_refusal_of(a->r, retrieval, &refusal);
        a->events->on_refused(a->context, &refusal);
        return;
    }
    for (size_t i = 0; i < retrieval->hit_n; i++)
        a->hits[i] = &retrieval->hits[i];
    struct cited_question question = {
        .requester = owner_requester(a->r, &a->owner),
        .question = a->question,
        .hits = a->hits,
        .hit_n = (unsigned)retrieval->hit_n,
        .model = a->asked.engine_model,
        .grant = a->asked.grant,
        .temperature = a->asked.temperature < 0 ? usual_temperature : a->asked.temperature,
        .max_tokens = a->asked.max_tokens,
        .deadline_ms = a->asked.deadline_ms,
    };
    if (cited_question_is_void(&question))
        a->events->on_text(a->context, STR(CITATIONS_NOTHING));
    else
        a->query = cited_question_start(&question, true, &events, a);
}

/* --- life ------------------------------------------------------------------------------------- */

static struct own_answer *start(struct request *r, const struct own_question *asked,
                                const struct own_answer_events *events, void *context)
{
    struct answer *a = request_alloc(r, sizeof *a);
    *a = (struct answer){.base.model = &documents_model,
                         .r = r,
                         .events = events,
                         .context = context,
                         .asked = *asked,
                         .question = question_of(r, asked),
                         .owner = owner_of_person(r, &asked->person)};
    struct retrieve_settings settings = {.space = a->owner.space,
                                         .account = r->account->name_token,
                                         .user = asked->person.user_name,
                                         .question = a->question,
                                         .n = TOP_K_USUAL,
                                         .nonce = &r->nonce,
                                         .limits = ask_input_limits(r, asked->person.user_name)};
    a->retrieval = retrieve_start(documents_of(r), &settings, on_retrieved, a);
    return &a->base;
}

static void cancel(struct own_answer *base)
{
    if (base == NULL)
        return;
    struct answer *a = answer_of(base);
    question_cancel(a->query, a->r->server->is_draining ? QUESTION_KEEP_MS : 0);
    retrieve_free(a->retrieval);
    free(a->places);
}

const struct own_model documents_model = {.name = STR("parley/documents"),
                                          .start = start,
                                          .restart = restart,
                                          .put_text = put_text,
                                          .put_end = put_end,
                                          .cancel = cancel};
