/* SPDX-License-Identifier: MIT
 * slot_work.c - see slot_work.h. The diagram is in slot.c.
 *
 * GENERATING has a completion, or the timer that ends a short rest of the back end, or a text that
 * is whole and of which slot_text still sends deltas. Each
 * attempt asks the model once: an answer that failed goes back to the queue, where another engine
 * may have it. */
#include "services/engine/slots/slot.h"

#include "services/engine/models/openai_judge.h"

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/text/text.h"

#include <stdio.h>
#include <stdlib.h>

enum { KEPT_MS = 20000, KEPT_JITTER_MS = 300 };

static void set_timer(struct slot *slot, uint64_t after_ms)
{
    timer_set(&slot->engine->timers, &slot->work.timer, after_ms);
}

/* ---- generating ---- */

static bool on_text(void *context, struct str think, struct str answer)
{
    return slot_text_add(context, think, answer);
}

static bool on_delta(void *context, struct str delta)
{
    return slot_text_add_delta(context, delta);
}

/* The model is busy or away. The claim is kept for a short rest, its lease renewed; for a long one
 * it goes back to the queue, where another engine may have it, and uses no attempt up. */
static void wait_for_model(struct slot *slot, const char *reason)
{
    struct slot_work *work = &slot->work;
    uint64_t now_ms = clock_mono_ms(), left_ms = rest_left_ms(&slot->engine->rest);
    if (work->kept_until_ms == 0)
        work->kept_until_ms = now_ms + KEPT_MS;
    if (slot->is_stopping || !draft_is_empty(&slot->text.draft) ||
        now_ms + left_ms > work->kept_until_ms) {
        slot_release_unused(slot, reason);
        return;
    }
    left_ms += arc4random_uniform(KEPT_JITTER_MS);
    log_write(LOG_DEBUG, "keeping a claim while the model rests",
              LOG_STR("topic", slot->hold.claim.topic), LOG_U("seq", work->query->seq),
              LOG_U("ms", left_ms), LOG_S("reason", reason), claim_log_id(work->query));
    slot_poll_say_rest(slot, left_ms);
    set_timer(slot, left_ms);
}

static void on_generated(void *context, const struct completion_end *end)
{
    struct slot *slot = context;
    enum completion_outcome outcome = end->outcome;
    const char *reason = end->reason;
    slot->work.completion = NULL;
    if (outcome != COMPLETION_DONE)
        slot_text_stop(slot);
    if (outcome == COMPLETION_DONE || outcome == COMPLETION_REFUSED)
        rest_end(&slot->engine->rest);
    switch (outcome) {
    case COMPLETION_DONE: slot_text_finish(slot, &end->facts); break;
    case COMPLETION_RETRY: slot_release_failed(slot, reason); break;
    case COMPLETION_AWAY:
        rest_begin(&slot->engine->rest, end->retry_after_s, reason);
        wait_for_model(slot, reason);
        break;
    case COMPLETION_REFUSED: slot_release_query(slot, reason, end->error); break;
    }
}

static void generate(struct slot *slot)
{
    static const struct completion_events events = {
        .on_text = on_text, .on_delta = on_delta, .on_done = on_generated};
    struct backend *backend = slot_backend(slot);
    slot_move(slot, SLOT_GENERATING);
    if (rest_left_ms(&slot->engine->rest) > 0) { /* claimed before it was known, or rests again */
        char reason[REST_REASON_MAX_BYTES + 1];
        snprintf(reason, sizeof reason, "%s", slot->engine->rest.reason);
        wait_for_model(slot, reason);
        return;
    }
    slot->work.completion = backend->ops->start(backend, &slot->work.prompt, &events, slot);
}

static void on_timer(void *context)
{
    generate(context);
}

/* ---- searching ---- */

/* Returns the complaint about a fragment that is neither kept nor replaced. */
static const char *complaint_of(const struct note *note)
{
    if (note->comment[0] != 0)
        return NULL;
    switch (note->kind) {
    case NOTE_IMPROVED: return "a user suggests an improvement";
    case NOTE_CLARIFIED: return "a user asks for a clearer phrasing";
    case NOTE_CORRECTED: return "a user says that it needs correction";
    default: return NULL;
    }
}

static struct str cut(const char *text, size_t bytes)
{
    struct str s = str_of(text);
    return (struct str){s.at, text_floor(s, s.n < bytes ? s.n : bytes)};
}

static void add_note(struct prompt *prompt, const struct note *note)
{
    struct buf text;
    buf_init(&text, SIZE_MAX / 2);
    note_put_text(&text, note);
    buf_terminate(&text);
    prompt_add_note(prompt,
                    &(struct prompt_note){.title = str_of(note_title(note->kind)),
                                          .question = cut(note->question, NOTE_TEXT_SHOWN_BYTES),
                                          .text = cut(text.at, NOTE_TEXT_SHOWN_BYTES),
                                          .fragment = cut(note->fragment, NOTE_TEXT_SHOWN_BYTES),
                                          .complaint = complaint_of(note),
                                          .is_correction = note->kind == NOTE_CORRECTED});
    buf_fini(&text);
}

static void on_found(void *context, const struct rag_index *index, const struct rag_query *query)
{
    struct slot *slot = context;
    struct prompt *prompt = &slot->work.prompt;
    struct rag_hit hits[PROMPT_SOURCES_MAX];
    uint64_t hashes[PROMPT_TERMS_MAX];
    double weights[PROMPT_TERMS_MAX];
    const struct note *notes[NOTE_SHOWN_MAX];
    slot->work.lookup = NULL;
    size_t note_n = notes_search(library_notes(slot->engine->library), query, notes);
    size_t room = PROMPT_SOURCES_MAX - note_n, top_k = slot->engine->top_k;
    size_t n = rag_index_search(index, query, top_k < room ? top_k : room, hits);
    for (size_t i = 0; i < n; i++) {
        struct buf name;
        buf_init(&name, SIZE_MAX / 2);
        library_put_name(&name, hits[i].document);
        prompt_add_source(prompt, buf_str(&name),
                          rag_document_passage(hits[i].document, hits[i].chunk));
        buf_fini(&name);
    }
    for (size_t i = 0; i < note_n; i++)
        add_note(prompt, notes[i]);
    prompt->term_n = rag_index_weigh(index, query->text, PROMPT_TERMS_MAX, hashes, weights);
    for (size_t i = 0; i < prompt->term_n; i++)
        prompt->terms[i] = (struct prompt_term){hashes[i], weights[i]};
    library_count(slot->engine->library, &prompt->searched_documents, &prompt->searched_passages);
    generate(slot);
}

/* ---- a query ---- */

/* The query is the request of a client of a door. */
static bool begin_door(struct slot *slot)
{
    struct prompt *prompt = &slot->work.prompt;
    if (prompt->api == API_NR || (slot->engine->apis & API_BIT(prompt->api)) == 0)
        return false;
    draft_begin_deltas(&slot->text.draft, prompt->offset);
    (void)!draft_add(&slot->text.draft, STR(""), prompt->continued);
    return slot_backend(slot)->ops->is_passing || prompt_read_request(prompt);
}

void slot_work_begin(struct slot *slot, struct claim_query *query)
{
    struct slot_work *work = &slot->work;
    work->query = query;
    work->started_ms = clock_mono_ms();
    work->kept_until_ms = 0;
    prompt_init(&work->prompt, &slot->hold.claim, query);
    /* A name that we did not offer means nothing to our model server. */
    if (!str_is_listed(str_of(slot->engine->models), work->prompt.model))
        work->prompt.model = (struct str){NULL, 0};
    if (work->prompt.api != API_NONE && !begin_door(slot)) {
        static const char why[] = "the engine cannot serve this request";
        json_t *error = openai_make_error(400, NULL, why);
        slot_move(slot, SLOT_GENERATING);
        slot_release_query(slot, why, error);
        json_decref(error);
        return;
    }
    bool is_passed = work->prompt.api != API_NONE && slot_backend(slot)->ops->is_passing;
    if (is_passed || !prompt_wants_sources(&work->prompt) ||
        library_is_empty(slot->engine->library)) {
        generate(slot);
        return;
    }
    slot_move(slot, SLOT_SEARCHING);
    work->lookup = library_start(slot->engine->library, work->prompt.question, on_found, slot);
}

void slot_work_end(struct slot *slot)
{
    struct slot_work *work = &slot->work;
    timer_stop(&work->timer);
    library_cancel(work->lookup);
    work->lookup = NULL;
    if (work->completion != NULL)
        slot_backend(slot)->ops->cancel(work->completion);
    work->completion = NULL;
    prompt_fini(&work->prompt);
    work->query = NULL;
}

void slot_work_init(struct slot *slot)
{
    slot->work.timer = (struct timer){.fire = on_timer, .context = slot};
}
