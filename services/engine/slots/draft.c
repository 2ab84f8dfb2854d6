/* SPDX-License-Identifier: MIT
 * draft.c - see draft.h. */
#include "services/engine/slots/draft.h"

#include "shared/text/text.h"

#include "shared/base/mem.h"

void draft_init(struct draft *draft)
{
    *draft = (struct draft){0};
    buf_init(&draft->think, DRAFT_THINK_MAX_BYTES);
    buf_init(&draft->answer, DRAFT_ANSWER_MAX_BYTES);
    delta_log_init(&draft->deltas);
}

void draft_fini(struct draft *draft)
{
    buf_fini(&draft->think);
    buf_fini(&draft->answer);
    delta_log_fini(&draft->deltas);
    free(draft->runs);
    draft->runs = NULL;
}

void draft_clear(struct draft *draft)
{
    buf_clear(&draft->think);
    buf_clear(&draft->answer);
    draft->run_n = 0;
    draft->has_deltas = false;
    delta_log_clear(&draft->deltas, 0);
    draft->sent = 0;
}

void draft_begin_deltas(struct draft *draft, uint64_t base)
{
    draft->has_deltas = true;
    delta_log_clear(&draft->deltas, base);
    draft->sent = base;
}

static void put_run(struct draft *draft, bool is_answer, size_t bytes)
{
    if (bytes == 0)
        return;
    if (draft->run_n > 0 && draft->runs[draft->run_n - 1].is_answer == is_answer) {
        draft->runs[draft->run_n - 1].bytes += bytes;
        return;
    }
    draft->runs = mem_grow(draft->runs, draft->run_n, sizeof *draft->runs);
    draft->runs[draft->run_n++] = (struct draft_run){is_answer, bytes};
}

bool draft_add(struct draft *draft, struct str think, struct str answer)
{
    size_t think_n = draft->think.n, answer_n = draft->answer.n;
    buf_put(&draft->think, think);
    buf_put(&draft->answer, answer);
    put_run(draft, false, draft->think.n - think_n);
    put_run(draft, true, draft->answer.n - answer_n);
    return !draft->answer.is_over;
}

uint64_t draft_end(const struct draft *draft)
{
    return draft->has_deltas ? delta_log_end(&draft->deltas) : draft->think.n + draft->answer.n;
}

bool draft_is_empty(const struct draft *draft)
{
    return draft->has_deltas ? draft->deltas.n == 0 : draft->think.n == 0 && draft->answer.n == 0;
}

static struct str cut(const struct buf *text, size_t from, size_t bytes)
{
    struct str all = buf_str(text);
    size_t end = from + bytes;
    /* Down to a character's start; if that leaves nothing, the limit is not worth keeping. */
    if (text_floor(all, end) > from)
        end = text_floor(all, end);
    return (struct str){all.at + from, end - from};
}

static bool next_deltas(const struct draft *draft, struct draft_piece *ret_piece)
{
    struct delta_run run;
    if (!delta_log_next(&draft->deltas, draft->sent, DRAFT_PIECE_MAX_BYTES, &run))
        return false;
    *ret_piece = (struct draft_piece){.offset = run.offset, .bytes = run.bytes, .deltas = run};
    return true;
}

bool draft_next(const struct draft *draft, struct draft_piece *ret_piece)
{
    if (draft->has_deltas)
        return next_deltas(draft, ret_piece);
    size_t think_at = 0, answer_at = 0, i = 0;
    uint64_t skip = draft->sent;
    /* Over the runs that the node has whole. */
    for (; i < draft->run_n && skip >= draft->runs[i].bytes; i++) {
        skip -= draft->runs[i].bytes;
        *(draft->runs[i].is_answer ? &answer_at : &think_at) += draft->runs[i].bytes;
    }
    if (i == draft->run_n)
        return false;
    struct draft_piece piece = {.offset = draft->sent};
    size_t room = DRAFT_PIECE_MAX_BYTES, left = draft->runs[i].bytes - (size_t)skip;
    if (!draft->runs[i].is_answer) {
        piece.think = cut(&draft->think, think_at + (size_t)skip, left < room ? left : room);
        room -= piece.think.n < room ? piece.think.n : room;
        skip = 0;
        /* Answer text may follow in the same piece if all of this run is in it. */
        bool is_whole = piece.think.n == left;
        i++;
        left = is_whole && i < draft->run_n ? draft->runs[i].bytes : 0;
    }
    if (left > 0 && room > 4)
        piece.answer = cut(&draft->answer, answer_at + (size_t)skip, left < room ? left : room);
    piece.bytes = piece.think.n + piece.answer.n;
    *ret_piece = piece;
    return true;
}

void draft_set_sent(struct draft *draft, uint64_t offset)
{
    size_t think_at = 0, answer_at = 0;
    uint64_t skip = offset;
    if (draft->has_deltas) {
        draft->sent = delta_log_floor(&draft->deltas, offset);
        return;
    }
    if (offset >= draft_end(draft)) {
        draft->sent = draft_end(draft);
        return;
    }
    draft->sent = offset;
    for (size_t i = 0; i < draft->run_n; i++) {
        const struct draft_run *run = &draft->runs[i];
        size_t *at = run->is_answer ? &answer_at : &think_at;
        if (skip < run->bytes) {
            struct str all = buf_str(run->is_answer ? &draft->answer : &draft->think);
            draft->sent -= *at + skip - text_floor(all, *at + (size_t)skip);
            return;
        }
        skip -= run->bytes;
        *at += run->bytes;
    }
}
