/* SPDX-License-Identifier: MIT
 * flow.c - see flow.h. Bytes are passed on as they are: white space is that of ASCII, and the
 * no-break space. */
#include "shared/extract/flow.h"

enum { TAB_SPACES = 4, BARS_MAX = 64, INDENT_MAX = 64 };

/* Continues a line after a term. */
static void join(struct flow *flow)
{
    char last = flow->out->n > 0 ? flow->out->at[flow->out->n - 1] : ' ';
    buf_put(flow->out, last == ':' || last == '?' ? STR(" ") : STR(": "));
    flow->newlines = flow->spaces = 0;
}

/* Puts what was kept back. */
static void begin_piece(struct flow *flow)
{
    if (flow->is_joined && flow->has_begun && flow->prefix.n == 0)
        join(flow);
    flow->is_joined = false;
    if (flow->has_begun) {
        for (unsigned i = 0; i < flow->newlines; i++)
            buf_put_char(flow->out, '\n');
    }
    if (flow->bars > 0) {
        for (unsigned i = 0; i < flow->bars; i++)
            buf_put(flow->out, i == 0 ? STR(" | ") : STR("| "));
    } else if (flow->has_begun || flow->is_literal) {
        for (unsigned i = 0; i < flow->spaces; i++)
            buf_put_char(flow->out, ' ');
    }
    if (flow->prefix.n > 0)
        buf_put(flow->out, flow->prefix);
    flow->prefix.n = 0;
    flow->has_begun = true;
    flow->newlines = flow->spaces = flow->bars = 0;
}

static void put_space(struct flow *flow)
{
    if (flow->newlines == 0)
        flow->spaces = 1;
}

static void put_blank(struct flow *flow, char c)
{
    if (!flow->is_literal || flow->cell_depth > 0) {
        put_space(flow);
    } else if (c == '\n') {
        flow->newlines += flow->newlines < 2;
        flow->spaces = 0;
    } else if (c != '\r' && flow->spaces < INDENT_MAX) {
        flow->spaces += c == '\t' ? TAB_SPACES : 1;
    }
}

/* Length of the white space at the front of `s`. */
static size_t blank_length(struct str s)
{
    if (*s.at == ' ' || (*s.at >= '\t' && *s.at <= '\r'))
        return 1;
    return s.n >= 2 && s.at[0] == '\xc2' && s.at[1] == '\xa0' ? 2 : 0;
}

void flow_put(struct flow *flow, struct str s)
{
    while (s.n > 0) {
        size_t n = blank_length(s);
        if (n > 0) {
            put_blank(flow, n == 2 ? ' ' : *s.at);
        } else {
            for (n = 1; n < s.n && blank_length((struct str){s.at + n, s.n - n}) == 0;)
                n++;
            begin_piece(flow);
            buf_put(flow->out, (struct str){s.at, n});
        }
        s = (struct str){s.at + n, s.n - n};
    }
}

void flow_put_line(struct flow *flow, struct str line)
{
    flow_break(flow, 1);
    begin_piece(flow);
    buf_put(flow->out, line);
    flow_break(flow, 1);
}

void flow_break(struct flow *flow, unsigned newlines)
{
    if (newlines == 0)
        return;
    if (flow->cell_depth > 0) {
        put_space(flow);
        return;
    }
    if (flow->newlines < newlines)
        flow->newlines = newlines;
    flow->spaces = flow->bars = 0;
}

void flow_mark(struct flow *flow, struct str mark)
{
    if (flow->cell_depth == 0)
        flow->prefix = mark;
}

void flow_join(struct flow *flow)
{
    flow->is_joined = true;
}

void flow_row(struct flow *flow)
{
    if (flow->cell_depth == 0)
        flow->is_row_begun = false;
    flow_break(flow, 1);
}

void flow_cell(struct flow *flow)
{
    if (flow->cell_depth > 0)
        put_space(flow);
    else if (flow->is_row_begun && flow->bars < BARS_MAX)
        flow->bars++;
    flow->is_row_begun = true;
    flow->cell_depth++;
}

void flow_cell_end(struct flow *flow)
{
    if (flow->cell_depth > 0)
        flow->cell_depth--;
}
