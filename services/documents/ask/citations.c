/* SPDX-License-Identifier: MIT
 * citations.c - see citations.h.
 *
 * The answer is copied byte by byte; at each closing bracket the end of what was copied so far is
 * looked at: if it is a mark (shared/text/marks.h), it is checked. Looking back over the
 * output, not the input, sees marks too that only came about when another was taken out between
 * their parts. What looks like a mark and names nothing that can be read ([-1], [1.5], [1 2]) is
 * taken out as well: readers, and programs that look for \[\s*\d, take it for one.
 *
 * One pass: a look back ends at the last closing bracket that was put, and what it saw is then
 * taken out or closed by a bracket itself, so no byte is looked at twice. */
#include "services/documents/ask/citations.h"

#include "shared/text/marks.h"

enum { TICKS_MAX = 32 };

struct check {
    struct buf *out;
    unsigned given_n;
    enum citations_numbers numbers;
    struct citations *found;
    size_t barrier;                    /* what was put before that is code */
    bool is_open_ended[TICKS_MAX + 1]; /* no such run of backticks closes what follows */
};

/* --- marks ------------------------------------------------------------------------------------ */

/* The number that a given one is shown as. */
static unsigned number_of(struct check *c, unsigned given)
{
    unsigned i = 0;
    while (i < c->found->used_n && c->found->used[i] != given)
        i++;
    if (i == c->found->used_n)
        c->found->used[c->found->used_n++] = given;
    return c->numbers == CITATIONS_BY_USE ? i + 1 : given;
}

/* Where the bracket is that a mark with the closing one at `end` would begin with. */
static bool find_bracket(const struct check *c, size_t end, size_t *ret_at)
{
    const struct buf *out = c->out;
    for (size_t at = end; at-- > c->barrier;) {
        struct str rest = {out->at + at, end - at};
        if (marks_closing(rest) > 0)
            return false;
        if (marks_opening(rest) > 0) {
            *ret_at = at;
            return true;
        }
    }
    return false;
}

static void drop_spaces(struct check *c, struct str rest)
{
    static const char closing[] = " \t\n\r.,;:!?)";
    if (rest.n > 0 && strchr(closing, *rest.at) == NULL)
        return;
    while (c->out->n > c->barrier && c->out->at[c->out->n - 1] == ' ')
        c->out->n--;
}

/* `closing` is a bracket, and `rest` comes after it. */
static void close_bracket(struct check *c, struct str closing, struct str rest)
{
    bool is_named[CITATIONS_MAX + 1] = {false}, is_kept = false;
    size_t at = 0, n = 0, end = c->out->n;
    buf_put(c->out, closing);
    if (!find_bracket(c, end, &at))
        return;
    struct str mark = {c->out->at + at, c->out->n - at};
    if (marks_fit(mark, &n) != MARKS_WHOLE)
        return;
    marks_name(mark, is_named, c->given_n);
    c->out->n = at;
    for (unsigned i = 1; i <= c->given_n; i++)
        if (is_named[i]) {
            buf_printf(c->out, "[%u]", number_of(c, i));
            is_kept = true;
        }
    if (!is_kept)
        drop_spaces(c, rest);
}

/* --- code ------------------------------------------------------------------------------------- */

static size_t run_of_ticks(struct str s)
{
    size_t n = 0;
    while (n < s.n && s.at[n] == '`')
        n++;
    return n;
}

/* Code that begins at `s` ends with as many backticks as it began with. Returns its bytes, 0 when
 * it never ends. */
static size_t measure_code(struct check *c, struct str s, size_t ticks)
{
    if (ticks > TICKS_MAX || c->is_open_ended[ticks])
        return 0;
    for (size_t i = ticks; i < s.n;) {
        const char *next = memchr(s.at + i, '`', s.n - i);
        if (next == NULL)
            break;
        i = (size_t)(next - s.at);
        size_t run = run_of_ticks((struct str){next, s.n - i});
        i += run;
        if (run == ticks)
            return i;
    }
    c->is_open_ended[ticks] = true;
    return 0;
}

/* The bytes of `s` before the next that is looked at; one at least. */
static size_t measure_plain(struct str s)
{
    size_t n = 1;
    while (n < s.n && s.at[n] != '`' && marks_closing((struct str){s.at + n, s.n - n}) == 0)
        n++;
    return n;
}

void citations_check(struct str answer, unsigned given_n, enum citations_numbers numbers,
                     struct buf *out, struct citations *ret_citations)
{
    struct check c = {.out = out, .numbers = numbers, .found = ret_citations, .barrier = out->n};
    c.given_n = given_n < CITATIONS_MAX ? given_n : CITATIONS_MAX;
    ret_citations->used_n = 0;
    for (size_t i = 0; i < answer.n;) {
        struct str rest = {answer.at + i, answer.n - i};
        size_t n = marks_closing(rest);
        if (n > 0) {
            close_bracket(&c, (struct str){rest.at, n}, (struct str){rest.at + n, rest.n - n});
        } else if (*rest.at == '`') {
            size_t ticks = run_of_ticks(rest), code = measure_code(&c, rest, ticks);
            n = code > 0 ? code : ticks;
            buf_put(out, (struct str){rest.at, n});
            if (code > 0)
                c.barrier = out->n;
        } else {
            n = measure_plain(rest);
            buf_put(out, (struct str){rest.at, n});
        }
        i += n;
    }
}

bool citations_says_nothing(struct str answer)
{
    struct str said = str_trim(answer);
    return str_has_prefix(said, STR(CITATIONS_NOTHING)) &&
           str_trim(
               (struct str){said.at + STR(CITATIONS_NOTHING).n, said.n - STR(CITATIONS_NOTHING).n})
                   .n == 0;
}
