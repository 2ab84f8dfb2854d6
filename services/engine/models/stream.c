/* SPDX-License-Identifier: MIT
 * stream.c - see stream.h. It goes byte by byte and holds back only what it cannot judge yet: a few
 * bytes, so that people see text as soon as the model writes it. */
#include "services/engine/models/stream.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static void think_char(struct think_split *split, char c, struct buf *think, struct buf *answer)
{
    static const struct str open = {"<think>", 7}, close = {"</think>", 8};
    struct str tag = split->where == THINK_INSIDE ? close : open;
    struct buf *out = split->where == THINK_INSIDE ? think : answer;
    if (split->where == THINK_OVER) {
        buf_put_char(answer, c);
        return;
    }
    /* Blanks around the tag are dropped. */
    if (split->where != THINK_INSIDE && split->held_n == 0 && is_blank(c))
        return;
    if (split->where != THINK_BEHIND && c == tag.at[split->held_n]) {
        split->held[split->held_n++] = c;
        if (split->held_n == tag.n) {
            split->where = split->where == THINK_START ? THINK_INSIDE : THINK_BEHIND;
            split->held_n = 0;
        }
        return;
    }
    buf_put(out, (struct str){split->held, split->held_n});
    split->held_n = 0;
    if (split->where == THINK_INSIDE && c == tag.at[0]) {
        split->held[split->held_n++] = c;
        return;
    }
    buf_put_char(out, c);
    if (split->where != THINK_INSIDE)
        split->where = THINK_OVER;
}

void think_feed(struct think_split *split, struct str text, struct buf *think, struct buf *answer)
{
    for (size_t i = 0; i < text.n; i++)
        think_char(split, text.at[i], think, answer);
}

void think_finish(struct think_split *split, struct buf *think, struct buf *answer)
{
    buf_put(split->where == THINK_INSIDE ? think : answer,
            (struct str){split->held, split->held_n});
    split->held_n = 0;
}
