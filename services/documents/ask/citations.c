/* SPDX-License-Identifier: MIT
 * citations.c - see citations.h.
 *
 * The answer is copied byte by byte; at each `]` the end of what was copied so far is looked at: if
 * it is an opening bracket with nothing but numbers after it, it was a mark. Looking back over the
 * output, not the input, sees marks too that only came about when another was taken out between
 * their parts. What looks like a mark and names nothing that can be read ([-1], [1.5], [1 2]) is
 * taken out as well: readers, and programs that look for \[\s*\d, take it for one.
 *
 * One pass: a look back ends at the last `]` that was put, and what it saw is then taken out or
 * closed by a `]` itself, so no byte is looked at twice. */
#include "services/documents/ask/citations.h"

enum { TICKS_MAX = 32, DIGITS_MAX = 9 };

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

static bool take(struct str *s, struct str what)
{
    if (!str_has_prefix(*s, what))
        return false;
    s->at += what.n;
    s->n -= what.n;
    return true;
}

static bool take_any(struct str *s, const char *const *words)
{
    for (; *words != NULL; words++)
        if (take(s, str_of(*words)))
            return true;
    return false;
}

static bool take_space(struct str *s)
{
    static const char *const spaces[] = {" ", "\t", "\n", "\r", "\xc2\xa0", NULL};
    return take_any(s, spaces);
}

/* ASCII and full-width. */
static bool take_digit(struct str *s, unsigned *ret_digit)
{
    if (s->n > 0 && *s->at >= '0' && *s->at <= '9') {
        *ret_digit = (unsigned)(*s->at - '0');
        s->at++;
        s->n--;
        return true;
    }
    if (s->n < 3 || memcmp(s->at, "\xef\xbc", 2) != 0)
        return false;
    unsigned char last = (unsigned char)s->at[2];
    if (last < 0x90 || last > 0x99)
        return false;
    *ret_digit = last - 0x90u;
    s->at += 3;
    s->n -= 3;
    return true;
}

/* Hyphens, dashes and the minus sign. */
static bool take_dash(struct str *s)
{
    static const char *const dashes[] = {"-",
                                         "\xe2\x80\x90",
                                         "\xe2\x80\x91",
                                         "\xe2\x80\x93",
                                         "\xe2\x80\x94",
                                         "\xe2\x88\x92",
                                         "\xef\xbc\x8d",
                                         NULL};
    return take_any(s, dashes);
}

static bool take_separator(struct str *s)
{
    static const char *const separators[] = {",", ";", "\xef\xbc\x8c", NULL};
    return take_any(s, separators);
}

static bool next_number(struct str *s, unsigned *ret_number)
{
    unsigned number = 0, digit;
    size_t digits = 0;
    while (take_space(s))
        continue;
    for (; take_digit(s, &digit); digits++)
        if (digits < DIGITS_MAX)
            number = number * 10 + digit;
    *ret_number = digits > DIGITS_MAX ? 1000000000u : number;
    while (take_space(s))
        continue;
    return digits > 0;
}

/* Does that stand between brackets as a mark would: numbers, and what connects them? */
static bool looks_like_mark(struct str inside)
{
    static const char *const signs[] = {"+", ".", "\xef\xbc\x8b", "\xef\xbc\x8e", NULL};
    unsigned digit;
    bool has_digit = false;
    while (inside.n > 0) {
        if (take_digit(&inside, &digit))
            has_digit = true;
        else if (!take_space(&inside) && !take_dash(&inside) && !take_separator(&inside) &&
                 !take_any(&inside, signs))
            return false;
    }
    return has_digit;
}

/* Reads the inside of brackets. False when it names nothing that can be read. */
static bool read_mark(struct str inside, bool *is_named, unsigned given_n)
{
    for (;;) {
        unsigned from, to;
        if (!next_number(&inside, &from))
            return false;
        to = from;
        if (take_dash(&inside) && !next_number(&inside, &to))
            return false;
        if (to < from) {
            unsigned swap = from;
            from = to;
            to = swap;
        }
        for (unsigned i = from < 1 ? 1 : from; i <= to && i <= given_n; i++)
            is_named[i] = true;
        if (inside.n == 0)
            return true;
        if (!take_separator(&inside))
            return false;
    }
}

/* Where the bracket stands that a mark which ends here would begin with. */
static bool find_bracket(const struct check *c, size_t *ret_at)
{
    const struct buf *out = c->out;
    for (size_t back = 1; back + c->barrier <= out->n; back++) {
        char byte = out->at[out->n - back];
        if (byte == '[') {
            *ret_at = out->n - back;
            return true;
        }
        /* Of what is not ASCII looks_like_mark says whether it belongs to one. */
        if (strchr("0123456789 \t\n\r,;-+.", byte) == NULL && (unsigned char)byte < 0x80)
            return false;
        if (byte == 0)
            return false;
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

/* A `]` comes next, and `rest` after it. */
static void close_bracket(struct check *c, struct str rest)
{
    bool is_named[CITATIONS_MAX + 1] = {false}, is_kept = false;
    size_t at = 0;
    struct str inside = STR("");
    if (find_bracket(c, &at))
        inside = (struct str){c->out->at + at + 1, c->out->n - at - 1};
    if (!looks_like_mark(inside)) {
        buf_put_char(c->out, ']');
        return;
    }
    if (!read_mark(inside, is_named, c->given_n))
        memset(is_named, 0, sizeof is_named);
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

void citations_check(struct str answer, unsigned given_n, enum citations_numbers numbers,
                     struct buf *out, struct citations *ret_citations)
{
    struct check c = {.out = out, .numbers = numbers, .found = ret_citations, .barrier = out->n};
    c.given_n = given_n < CITATIONS_MAX ? given_n : CITATIONS_MAX;
    ret_citations->used_n = 0;
    for (size_t i = 0; i < answer.n;) {
        struct str rest = {answer.at + i, answer.n - i};
        size_t n = 1;
        if (*rest.at == ']') {
            close_bracket(&c, (struct str){rest.at + 1, rest.n - 1});
        } else if (*rest.at == '`') {
            size_t ticks = run_of_ticks(rest), code = measure_code(&c, rest, ticks);
            n = code > 0 ? code : ticks;
            buf_put(out, (struct str){rest.at, n});
            if (code > 0)
                c.barrier = out->n;
        } else {
            const char *stop = rest.at;
            while (stop < answer.at + answer.n && *stop != ']' && *stop != '`')
                stop++;
            n = (size_t)(stop - rest.at);
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
