/* SPDX-License-Identifier: MIT
 * lines.c - see lines.h. A line is full if the next line's first word had no room on it; the
 * longest line of the block is the measure. */
#include "shared/text/lines.h"

#include "shared/text/chars.h"
#include "shared/text/list_marks.h"

enum { APART_MIN = 3, NAME_MAX_BYTES = 32, NAMES_MAX = 32 };

static struct str line_at(struct str text)
{
    const char *end = text.n == 0 ? NULL : memchr(text.at, '\n', text.n);
    return (struct str){text.at, end == NULL ? text.n : (size_t)(end - text.at)};
}

static struct str after_line(struct str text, struct str line)
{
    size_t n = line.n < text.n ? line.n + 1 : line.n;
    return (struct str){text.at + n, text.n - n};
}

/* ---- blocks ---- */

static bool begins_else(struct str line)
{
    line = str_trim(line);
    return line.n == 0 || *line.at == '#' || *line.at == '|' || str_holds(line, STR(" | ")) ||
           str_has_prefix(line, STR("```")) || str_has_prefix(line, STR("~~~")) ||
           list_mark(line) > 0;
}

struct str lines_block(struct str text)
{
    struct str rest = text;
    while (rest.n > 0) {
        struct str line = line_at(rest);
        if (begins_else(line))
            break;
        rest = after_line(rest, line);
    }
    return (struct str){text.at, (size_t)(rest.at - text.at)};
}

/* ---- full lines ---- */

static size_t width_of(struct str block)
{
    size_t width = 0;
    while (block.n > 0) {
        struct str line = line_at(block);
        width = line.n > width ? line.n : width;
        block = after_line(block, line);
    }
    return width;
}

/* The name of a line "name: value"; empty if it is none. */
static struct str name_of(struct str line)
{
    line = str_trim(line);
    const char *end = memmem(line.at, text_floor(line, NAME_MAX_BYTES), ": ", 2);
    struct str name = {line.at, end == NULL ? 0 : (size_t)(end - line.at)};
    for (size_t i = 0; i < name.n; i++)
        if (strchr(".,;!?(\"", name.at[i]) != NULL)
            return (struct str){line.at, 0};
    return name;
}

/* Returns whether `next` continues a sentence of `line`: its first letter is a small one, it has no
 * name of its own, and no mark ends the line. */
static bool continues(struct str line, struct str next)
{
    char last = line.at[line.n - 1], first = *next.at;
    bool is_word = (last >= 'a' && last <= 'z') || last == ',' || (unsigned char)last >= 0x80;
    return is_word && first >= 'a' && first <= 'z' && name_of(next).n == 0 &&
           next.at[next.n - 1] != ':';
}

static bool is_full(struct str line, struct str next, size_t width)
{
    struct str rest = str_trim(next);
    struct str word = str_cut(&rest, ' ');
    return line.n + 1 + word.n > width;
}

/* Returns whether a line ends where a sentence or a part of code does. */
static bool is_ended(struct str line)
{
    return strchr(".!?;:{}()[]\"'", line.at[line.n - 1]) != NULL && line.at[line.n - 1] != 0;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

bool lines_are_apart(struct str block)
{
    size_t width = width_of(block), n = 1, ended_n = 0, apart_n = 0, joined_n = 0;
    for (;;) {
        struct str line = line_at(block);
        block = after_line(block, line);
        struct str next = line_at(block), words = str_trim(line), next_words = str_trim(next);
        if (words.n == 0 || next_words.n == 0)
            break;
        bool is_apart = !is_full(line, next, width) && !continues(words, next_words);
        n++;
        apart_n += is_apart;
        ended_n += is_apart && (is_ended(words) || !is_letter(*next_words.at));
        joined_n += !is_apart && !is_ended(words);
    }
    /* One break between two words may be chance. */
    return n >= APART_MIN && apart_n > joined_n && (ended_n > joined_n || apart_n > 1);
}

/* ---- records ---- */

struct str lines_record(struct str block)
{
    struct str names[NAMES_MAX], rest = block;
    size_t n = 0;
    while (rest.n > 0 && n < NAMES_MAX && (size_t)(rest.at - block.at) <= LINES_RECORD_MAX_BYTES) {
        struct str line = line_at(rest), name = name_of(line);
        bool was_there = false;
        if (name.n == 0)
            return (struct str){block.at, 0};
        for (size_t i = 0; i < n && !was_there; i++)
            was_there = str_eq(names[i], name);
        rest = was_there ? (struct str){rest.at, 0} : after_line(rest, line);
        if (was_there)
            break;
        names[n++] = name;
    }
    size_t bytes = (size_t)(rest.at - block.at);
    return (struct str){block.at, n > 1 && bytes <= LINES_RECORD_MAX_BYTES ? bytes : 0};
}
