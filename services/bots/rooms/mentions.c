/* SPDX-License-Identifier: MIT
 * mentions.c - see mentions.h. */
#include "services/bots/rooms/mentions.h"

#include "shared/text/text.h"

enum { NAME_MAX = 128, NON_JOINER = 0x200c, JOINER = 0x200d, INDENT_MAX = 3, FENCE_MIN = 3 };

/* Joiners stand inside words of some scripts. */
static bool is_letter(uint32_t code)
{
    return text_is_word_char(code) || code == NON_JOINER || code == JOINER;
}

static bool is_inside(uint32_t code)
{
    return code == '-' || code == '_' || code == '.';
}

static struct str skip(struct str text, size_t n)
{
    return (struct str){text.at + n, text.n - n};
}

/* --- lines ------------------------------------------------------------------------------------ */

enum line { LINE_PLAIN, LINE_BLANK, LINE_QUOTE, LINE_FENCE };

static size_t count_run(struct str text, char c)
{
    size_t n = 0;
    while (n < text.n && text.at[n] == c)
        n++;
    return n;
}

/* Where the line after this one begins. */
static size_t next_line(struct str text, size_t at)
{
    const char *end = memchr(text.at + at, '\n', text.n - at);
    return end == NULL ? text.n : (size_t)(end - text.at) + 1;
}

static struct str line_at(struct str text, size_t at)
{
    return str_trim((struct str){text.at + at, next_line(text, at) - at});
}

/* A fence opens with three or more of its character; what follows backticks has no others. */
static bool is_fence(struct str line)
{
    char c = line.at[0];
    size_t n = c == '`' || c == '~' ? count_run(line, c) : 0;
    return n >= FENCE_MIN && (c == '~' || memchr(line.at + n, '`', line.n - n) == NULL);
}

static enum line kind_of(struct str text, size_t at)
{
    struct str line = line_at(text, at);
    if (line.n == 0)
        return LINE_BLANK;
    if (count_run(skip(text, at), ' ') > INDENT_MAX)
        return LINE_PLAIN;
    return line.at[0] == '>' ? LINE_QUOTE : is_fence(line) ? LINE_FENCE : LINE_PLAIN;
}

/* The end of the block that the fence at `at` opens: after a line of nothing but as many of its
 * character, or the end of the text. */
static size_t skip_fenced(struct str text, size_t at)
{
    struct str opening = line_at(text, at);
    char c = opening.at[0];
    size_t n = count_run(opening, c);
    while ((at = next_line(text, at)) < text.n) {
        struct str line = line_at(text, at);
        if (line.n >= n && count_run(line, c) == line.n &&
            count_run(skip(text, at), ' ') <= INDENT_MAX)
            return next_line(text, at);
    }
    return text.n;
}

static void note_ticks(struct mentions *m)
{
    for (size_t at = m->at, n; at<m->end; at += n> 0 ? n : 1) {
        n = count_run((struct str){m->text.at + at, m->end - at}, '`');
        if (n > 0 && n <= MENTIONS_TICKS_MAX)
            m->last_ticks[n] = at;
    }
}

/* Goes to the next paragraph. False at the end. */
static bool begin_paragraph(struct mentions *m)
{
    struct str text = m->text;
    while (m->at < text.n) {
        enum line kind = kind_of(text, m->at);
        if (kind == LINE_PLAIN) {
            m->end = m->at;
            while (m->end < text.n && kind_of(text, m->end) == LINE_PLAIN)
                m->end = next_line(text, m->end);
            m->is_within = false;
            note_ticks(m);
            return true;
        }
        m->at = kind == LINE_FENCE ? skip_fenced(text, m->at) : next_line(text, m->at);
    }
    return false;
}

/* --- within a paragraph ----------------------------------------------------------------------- */

/* Passes over the code span that begins here. Backticks that nothing closes are text. */
static void skip_ticks(struct mentions *m)
{
    size_t n = count_run((struct str){m->text.at + m->at, m->end - m->at}, '`');
    bool is_span = n <= MENTIONS_TICKS_MAX && m->last_ticks[n] > m->at;
    m->at += n;
    m->is_within = false;
    while (is_span && m->at < m->end) {
        size_t ticks = count_run((struct str){m->text.at + m->at, m->end - m->at}, '`');
        m->at += ticks > 0 ? ticks : 1;
        is_span = ticks != n;
    }
}

/* Takes the name at the start of `*text` with the marks that follow it: such a mark is part of the
 * name only if a letter comes later. */
static struct str take_name(struct str *text)
{
    struct str name = {text->at, 0};
    size_t at = 0;
    uint32_t code;
    for (size_t n; (n = text_char(skip(*text, at), &code)) > 0; at += n) {
        if (is_letter(code))
            name.n = at + n;
        else if (!is_inside(code) || name.n == 0)
            break;
    }
    /* In @a@b.c the second one follows a letter. */
    if (name.n > 0 && at == name.n && code == '@' && at < text->n)
        at++;
    *text = skip(*text, at);
    return name;
}

/* Passes over one character, and what it begins. Returns a name, or nothing. */
static struct str step(struct mentions *m)
{
    struct str rest = {m->text.at + m->at, m->end - m->at}, name = {NULL, 0};
    bool was_within = m->is_within;
    uint32_t code;
    if (rest.at[0] == '`') {
        skip_ticks(m);
        return name;
    }
    if (rest.at[0] == '\\' && rest.n > 1 && rest.at[1] == '`')
        rest = skip(rest, 1);
    rest = skip(rest, text_char(rest, &code));
    m->is_within = is_letter(code) || is_inside(code);
    if (code == '@' && !was_within)
        name = take_name(&rest);
    m->at = m->end - rest.n;
    return name;
}

void mentions_begin(struct mentions *m, struct str text)
{
    *m = (struct mentions){.text = text};
}

bool mentions_next(struct mentions *m, struct str *ret_name)
{
    while (m->at < m->end || begin_paragraph(m)) {
        *ret_name = step(m);
        if (ret_name->n > 0)
            return true;
    }
    return false;
}

size_t mentions_find(struct str text, struct str *names, size_t most)
{
    size_t n = 0;
    struct mentions mentions;
    struct str name;
    mentions_begin(&mentions, text);
    while (n < most && mentions_next(&mentions, &name)) {
        size_t i = 0;
        while (i < n && !str_eq(names[i], name))
            i++;
        if (i == n && name.n <= NAME_MAX)
            names[n++] = name;
    }
    return n;
}
