/* SPDX-License-Identifier: MIT
 * engine_drafts.c - see engine_drafts.h. */
#include "services/broker/socket/engine_drafts.h"

enum { DRAFTS_MAX = 256 /* of a socket; more go the way of their route */ };

static struct engine_draft *find(const struct engine_drafts *drafts, struct str lease, uint64_t seq)
{
    list_for_each (struct engine_draft, d, &drafts->list, link)
        if (d->seq == seq && str_eq(d->lease, lease))
            return d;
    return NULL;
}

/* Takes off what the node has already. Returns false if that ends within a character, which no
 * engine that sends the same text again can mean. */
static bool cut(struct str *text, uint64_t *skip)
{
    size_t n = *skip < text->n ? (size_t)*skip : text->n;
    *skip -= n;
    text->at += n;
    text->n -= n;
    return text->n == 0 || n == 0 || ((unsigned char)text->at[0] & 0xC0) != 0x80;
}

/* Returns whether its lease was renewed recently, or will be soon. */
static bool is_renewed(const struct engine_draft *d)
{
    return d->run_n > 0 || clock_mono_ms() < d->stored_at_ms + DRAFT_STORE_MS;
}

/* A piece that renews the lease is under way, and is not answered yet. */
static bool keep(struct engine_draft *d, const struct draft_frame *frame)
{
    size_t n = frame->think.n + frame->answer.n;
    if (n + frame->id.n == 0)
        return true;
    if (!d->keeps || d->topic == NULL || frame->offset != d->stored + d->text.n ||
        frame->offset + n > DRAFT_TEXT_MAX)
        return false;
    engine_draft_append(d, frame->think, frame->answer, frame->id);
    return true;
}

bool engine_drafts_take(struct engine_drafts *drafts, const struct draft_frame *frame)
{
    struct engine_draft *d = find(drafts, frame->lease, frame->seq);
    struct str think = frame->think, answer = frame->answer;
    if (d == NULL || !str_eq(str_of(d->topic_json), frame->topic_json))
        return false;
    if (d->priming_n > 0)
        return keep(d, frame);
    if (d->claim == 0)
        return false;
    uint64_t have = d->stored + d->text.n;
    uint64_t skip = have - frame->offset;
    if (frame->offset > have || frame->offset + think.n + answer.n > DRAFT_TEXT_MAX)
        return false;
    if (!cut(&think, &skip) || !cut(&answer, &skip))
        return false;
    if (think.n + answer.n == 0)
        return frame->id.n == 0 && is_renewed(d);
    engine_draft_append(d, think, answer, frame->id);
    return true;
}

bool engine_drafts_prime(struct engine_drafts *drafts, const struct draft_frame *frame)
{
    struct engine_draft *d = find(drafts, frame->lease, frame->seq);
    if (d == NULL && (drafts->n >= DRAFTS_MAX || frame->lease.n >= DRAFT_LEASE_BYTES))
        return false;
    if (d == NULL)
        d = engine_draft_create(drafts, frame);
    engine_draft_prime(d, frame);
    return true;
}

void engine_drafts_note_topic(struct engine_drafts *drafts, const struct draft_frame *frame,
                              struct str topic)
{
    struct engine_draft *d = find(drafts, frame->lease, frame->seq);
    if (d != NULL && d->topic == NULL && topic.n > 0)
        d->topic = str_copy(topic);
}

void engine_drafts_on_stored(struct engine_drafts *drafts, struct str lease, uint64_t seq,
                             uint64_t claim, uint64_t next, struct str nodes)
{
    struct engine_draft *d = find(drafts, lease, seq);
    if (d == NULL || d->priming_n == 0)
        return;
    d->priming_n--;
    /* It was refused, or somebody else has written more: what waited does not follow. */
    bool is_lost = d->keeps && (claim == 0 || (next != d->stored && d->text.n > 0));
    if (is_lost || (claim == 0 && d->priming_n == 0 && d->claim == 0)) {
        engine_draft_refuse(d, false);
        return;
    }
    if (claim == 0)
        return;
    d->stored = next;
    d->stored_at_ms = clock_mono_ms();
    engine_draft_set_nodes(d, nodes);
    if (d->priming_n == 0)
        engine_draft_open(d, claim);
}

void engine_drafts_end(struct engine_drafts *drafts, struct str lease, uint64_t seq, bool is_kept)
{
    struct list ended = {0};
    list_for_each (struct engine_draft, d, &drafts->list, link)
        if (str_eq(d->lease, lease) && (seq == 0 || d->seq == seq)) {
            list_remove(&d->link);
            list_append(&ended, &d->link);
        }
    list_for_each (struct engine_draft, d, &ended, link) {
        if (is_kept && d->topic != NULL)
            engine_draft_store_now(d);
        engine_draft_refuse(d, false);
    }
}

void engine_drafts_fini(struct engine_drafts *drafts)
{
    list_for_each (struct engine_draft, d, &drafts->list, link) {
        if (d->topic != NULL)
            engine_draft_store_now(d);
        engine_draft_drop(d);
    }
}
