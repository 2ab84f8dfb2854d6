/* SPDX-License-Identifier: MIT
 * mentions.c - see mentions.h. */
#include "services/bots/rooms/mentions.h"

#include "shared/text/fold.h"
#include "shared/text/text.h"

enum { NAME_MAX = 128, SCHEME_MAX = 32, NON_JOINER = 0x200c, JOINER = 0x200d };

#define COMMENT STR("<!--")
#define COMMENT_END STR("-->")

/* Joiners are inside words of some scripts. */
static bool is_letter(uint32_t code)
{
    return fold_is_word(code) || code == NON_JOINER || code == JOINER;
}

static bool is_inside(uint32_t code)
{
    return code == '-' || code == '_' || code == '.';
}

static struct str skip(struct str text, size_t n)
{
    return (struct str){text.at + n, text.n - n};
}

static size_t count_ticks(const struct mentions *m, size_t at)
{
    size_t n = 0;
    while (at + n < m->end && m->text.at[at + n] == '`')
        n++;
    return n;
}

static void note_ends(struct mentions *m)
{
    for (size_t at = m->at, n; at<m->end; at += n> 0 ? n : 1) {
        n = count_ticks(m, at);
        if (n > 0 && n <= MENTIONS_TICKS_MAX)
            m->last_ticks[n] = at;
        if (str_has_prefix((struct str){m->text.at + at, m->end - at}, COMMENT_END))
            m->last_comment_end = at;
    }
}

/* False at the end. */
static bool begin_paragraph(struct mentions *m)
{
    struct str paragraph;
    if (!paragraphs_next(&m->paragraphs, &paragraph))
        return false;
    m->at = (size_t)(paragraph.at - m->text.at);
    m->end = m->at + paragraph.n;
    m->is_within = false;
    note_ends(m);
    return true;
}

/* --- within a paragraph ----------------------------------------------------------------------- */

/* Passes over the code span that begins here. Backticks that nothing closes are text. */
static void skip_ticks(struct mentions *m)
{
    size_t n = count_ticks(m, m->at);
    bool is_span = n <= MENTIONS_TICKS_MAX && m->last_ticks[n] > m->at;
    m->at += n;
    m->is_within = false;
    while (is_span && m->at < m->end) {
        size_t ticks = count_ticks(m, m->at);
        m->at += ticks > 0 ? ticks : 1;
        is_span = ticks != n;
    }
}

/* Passes over the comment that begins here. One that nothing closes is text. */
static void skip_comment(struct mentions *m)
{
    size_t end = m->at + 2; /* <!--> is a whole one */
    m->is_within = false;
    if (m->last_comment_end < end) {
        m->at++;
        return;
    }
    while (!str_has_prefix((struct str){m->text.at + end, m->end - end}, COMMENT_END))
        end++;
    m->at = end + COMMENT_END.n;
}

/* How long the `scheme://` or `www.` is with which the text begins; 0: it begins with neither. */
static size_t begins_address(struct str text)
{
    static const char scheme[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
    size_t n = 0;
    if (text.n >= 4 && str_eq_nocase((struct str){text.at, 4}, STR("www.")))
        return 4;
    while (n < text.n && n <= SCHEME_MAX && memchr(scheme, text.at[n], sizeof scheme - 1) != NULL)
        n++;
    return n > 0 && str_has_prefix(skip(text, n), STR("://")) ? n + 3 : 0;
}

/* Passes over the address of a page that begins here, of which `n` bytes are known. It ends at
 * white space, `<`, `>`, a backtick, and punctuation outside ASCII, after which people leave no
 * space. */
static void skip_address(struct mentions *m, size_t n)
{
    struct str rest = {m->text.at + m->at + n, m->end - m->at - n};
    uint32_t code;
    for (; rest.n > 0; rest = skip(rest, n)) {
        n = text_char(rest, &code);
        bool is_end = code <= ' ' || code == '<' || code == '>' || code == '`';
        if (is_end || (code > 127 && !is_letter(code)))
            break;
    }
    m->at = m->end - rest.n;
    m->is_within = false;
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
    if (str_has_prefix(rest, COMMENT)) {
        skip_comment(m);
        return name;
    }
    size_t address_n = was_within ? 0 : begins_address(rest);
    if (address_n > 0) {
        skip_address(m, address_n);
        return name;
    }
    if (rest.at[0] == '\\' && rest.n > 1 && (rest.at[1] == '`' || rest.at[1] == '<'))
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
    paragraphs_begin(&m->paragraphs, text);
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
