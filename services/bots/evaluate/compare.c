/* SPDX-License-Identifier: MIT
 * compare.c - the distance of a bot's answer from the nearest of a turn's originals (see
 * evaluation.h).
 *
 *   the answer is embedded --> the 1st original is --> ... --> the last one --> the turn is stored
 *         |                           |
 *         +---- no vector: once more a second later, then the turn has failed
 *
 * A vector of the answer that is not sound fails the turn. An original whose vector is not sound (a
 * lone emoji has no word for the built-in embedder) cannot be near: it is passed over, unless none
 * is left. A server that gives no vector for one of them fails the turn, because the distance would
 * be one to an original other than the nearest. */
#include "services/bots/evaluate/evaluation.h"

#include "shared/base/mem.h"
#include "shared/text/text.h"

#include <math.h>
#include <stdio.h>

enum {
    /* Servers are sent no more of a text (shared/embed); the built-in embedder takes as much. */
    EMBED_MAX_BYTES = 8192,
    TRIES = 2,
    PAUSE_MS = 1000,
};

static void embed(struct evaluation *e);

static struct embedder *embedder_of(const struct evaluation *e)
{
    return e->all->bots->settings->embedder;
}

static unsigned originals_of(const struct evaluation *e)
{
    return e->talk.turns[e->at].original_n;
}

void evaluation_stop_comparing(struct evaluation *e)
{
    embed_cancel(embedder_of(e), e->embedding);
    e->embedding = NULL;
    loop_cancel_deadline(e->all->bots->server->loop, &e->rest);
    free(e->vector);
    e->vector = NULL;
}

static void finish(struct evaluation *e)
{
    evaluation_stop_comparing(e);
    e->on_compared(e);
}

static void fail(struct evaluation *e, const char *what, const char *why)
{
    snprintf(e->error, sizeof e->error, "%s%s%s", what, why[0] == 0 ? "" : ": ", why);
    finish(e);
}

/* Keeps the answer's vector, compares those of the originals. Returns false once the turn is over.
 */
static bool take(struct evaluation *e, const float *vector, uint32_t dimension)
{
    double distance;
    bool is_last = e->embedding_at == originals_of(e);
    e->embedding_tries = 0;
    if (e->embedding_at == 0) {
        if (!measure_is_sound(vector, dimension)) {
            fail(e, "the embedding of the answer is zero or not finite", "");
            return false;
        }
        e->vector = mem_alloc(dimension * sizeof *vector);
        memcpy(e->vector, vector, dimension * sizeof *vector);
        e->dimension = dimension;
    } else if (dimension != e->dimension) {
        fail(e, "the embedding server returned vectors of two dimensions", "");
        return false;
    } else if (measure_distance(e->measure, e->vector, vector, dimension, &distance) &&
               (e->nearest == 0 || distance < e->distance)) {
        e->distance = distance;
        e->nearest = e->embedding_at;
    }
    if (is_last && e->nearest == 0) {
        fail(e, "the embeddings of the originals are zero or not finite", "");
        return false;
    }
    if (is_last) {
        finish(e);
        return false;
    }
    e->embedding_at++;
    return true;
}

static void on_rested(struct deadline *deadline)
{
    embed(container_of(deadline, struct evaluation, rest));
}

static void on_embedded(void *context, const float *vector, uint32_t dimension, const char *reason)
{
    struct evaluation *e = context;
    e->embedding = NULL;
    if (vector != NULL) {
        if (take(e, vector, dimension))
            embed(e);
    } else if (++e->embedding_tries < TRIES) {
        e->rest.on_expire = on_rested;
        loop_set_deadline(e->all->bots->server->loop, &e->rest, PAUSE_MS);
    } else {
        fail(e,
             e->embedding_at == 0 ? "the answer could not be embedded"
                                  : "an original could not be embedded",
             reason);
    }
}

/* The text that is next, in `plain`. */
static struct str next_text(const struct evaluation *e, struct buf *plain)
{
    const struct conversation_turn *turn = &e->talk.turns[e->at];
    if (e->embedding_at == 0)
        buf_put(plain, str_of(e->answer));
    else
        buf_put_span_text(plain, &e->talk.messages[turn->message + e->embedding_at].text);
    struct str text = buf_str(plain);
    text.n = text_floor(text, text.n < EMBED_MAX_BYTES ? text.n : EMBED_MAX_BYTES);
    return text;
}

static bool embed_quickly(struct evaluation *e)
{
    struct buf plain;
    float *vector = NULL;
    uint32_t dimension;
    buf_init(&plain, CONVERSATION_TEXT_MAX_BYTES);
    struct str text = next_text(e, &plain);
    bool is_embedded = embed_texts(embedder_of(e), &text, 1, NULL, &vector, &dimension, NULL);
    buf_fini(&plain);
    if (!is_embedded) {
        fail(e, "a text could not be embedded", "");
        return false;
    }
    bool goes_on = take(e, vector, dimension);
    free(vector);
    return goes_on;
}

static void embed(struct evaluation *e)
{
    struct buf plain;
    buf_init(&plain, CONVERSATION_TEXT_MAX_BYTES);
    e->embedding =
        embed_start(embedder_of(e), e->all->client, next_text(e, &plain), on_embedded, e);
    buf_fini(&plain);
}

void evaluation_compare(struct evaluation *e, void (*on_compared)(struct evaluation *e))
{
    e->on_compared = on_compared;
    e->embedding_at = e->embedding_tries = 0;
    e->nearest = 0;
    e->distance = 0;
    if (!embedder_of(e)->is_quick) {
        embed(e);
        return;
    }
    while (embed_quickly(e))
        ;
}
