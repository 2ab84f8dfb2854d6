/* SPDX-License-Identifier: MIT
 * statements.c - see statements.h.
 *
 * Whether a line break means something: it does where the next word would have fitted on the line,
 * the longest line of the text being the measure. A break that was only made because a line was
 * full is white space. */
#include "shared/text/statements.h"

#include "shared/text/code_blocks.h"
#include "shared/text/lines.h"
#include "shared/text/list_marks.h"
#include "shared/text/ordinals.h"

enum {
    HEADING_MAX_BYTES = 100,
    HEADING_MAX_WORDS = 12,
    NEXT_MAX_BYTES = 200, /* of the line after one */
    SHORT_HEADING_WORDS = 4,
    NUMBERS_MAX = 8,
    LINE_MAX_BYTES = 120, /* of a line that is a statement as a whole */
};

static struct str skip(struct str s, size_t n)
{
    return (struct str){s.at + n, s.n - n};
}

static struct str first_line(struct str text)
{
    const char *end = text.n == 0 ? NULL : memchr(text.at, '\n', text.n);
    return (struct str){text.at, end == NULL ? text.n : (size_t)(end - text.at)};
}

struct str statement_plain(struct str text)
{
    for (;;) {
        text = str_trim(text);
        size_t n = list_mark(text);
        if (n == 0 && text.n > 1 && *text.at == '|')
            n = 1;
        if (n == 0)
            return text;
        text = skip(text, n);
    }
}

/* --- headings --------------------------------------------------------------------------------- */

static struct str heading_of(struct str line)
{
    line = str_trim(line);
    while (line.n > 0 && *line.at == '#')
        line = skip(line, 1);
    while (line.n > 0 && line.at[line.n - 1] == '#')
        line.n--;
    return str_trim(line);
}

static bool is_lower(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 0xdf && c <= 0xff && c != 0xf7) ||
           (c >= 0x3b1 && c <= 0x3c9) || (c >= 0x430 && c <= 0x44f);
}

static bool is_stop_sign(char c)
{
    return c != 0 && strchr(".!?:;,-", c) != NULL;
}

/* Returns the line after the one that ends where `after` begins, as far as is looked at;
 * empty where that line continues. */
static struct str next_line(struct str after)
{
    struct str near = {after.at, text_floor(after, NEXT_MAX_BYTES)};
    while (near.n > 0 && (*near.at == ' ' || *near.at == '\r'))
        near = skip(near, 1);
    return near.n > 0 && *near.at == '\n' ? first_line(str_trim(near)) : (struct str){near.at, 0};
}

/* Returns whether an empty line, or nothing, is before the line: the lines of a paragraph and of a
 * list of parts follow each other. After a heading another one may come if it is short, or has an
 * empty line after it. */
static bool stands_apart(const struct statements *s, struct str line, struct str after)
{
    struct str near = {after.at, text_floor(after, NEXT_MAX_BYTES)}, words = line;
    struct text_word word;
    const char *at = line.at;
    unsigned breaks = 0, word_n = 0;
    for (; at > s->from && strchr(" \t\n", at[-1]) != NULL && at[-1] != 0 && breaks < 2; at--)
        breaks += at[-1] == '\n';
    if (at == s->from || breaks > 1)
        return true;
    if (s->heading.n == 0 || s->heading.at + s->heading.n != at)
        return false;
    while (text_next_word(&words, &word))
        word_n++;
    (void)str_cut(&near, '\n');
    return (word_n <= SHORT_HEADING_WORDS && !str_holds(line, STR("  "))) ||
           str_trim(first_line(near)).n == 0;
}

/* Is the line a heading of what comes after it? */
static bool is_heading_line(const struct statements *s, struct str line, struct str after)
{
    uint32_t c = 0;
    struct text_word word;
    if (line.n == 0 || line.n > HEADING_MAX_BYTES || is_stop_sign(line.at[line.n - 1]) ||
        memchr(line.at, '|', line.n) != NULL || list_mark(line) > 0 ||
        !stands_apart(s, line, after))
        return false;
    struct str next = next_line(after), words = line;
    size_t word_n = 0, word_bytes = 0;
    if (text_char(next, &c) == 0 || is_lower(c))
        return false;
    while (word_bytes < next.n && next.at[word_bytes] != ' ')
        word_bytes++;
    if (line.n + 1 + word_bytes > s->width)
        return false; /* the line was full */
    while (text_next_word(&words, &word))
        word_n++;
    (void)text_char(line, &c);
    return word_n > 0 && word_n <= HEADING_MAX_WORDS && !is_lower(c);
}

/* --- lists ------------------------------------------------------------------------------------ */

/* A row of a table: cells between bars. */
static bool is_row(struct str line)
{
    return line.n > 2 && (*line.at == '|' || str_holds(line, STR(" | ")));
}

/* The items at the front of `rest`, as one run of lines that ends before an empty line which no
 * item follows. */
static struct str items_of(struct str rest)
{
    struct str all = rest;
    size_t n = 0;
    while (rest.n > 0) {
        struct str line = first_line(rest), trimmed = str_trim(line);
        bool is_item = list_mark(trimmed) > 0;
        bool goes_on = n > 0 && trimmed.n > 0 && (*line.at == ' ' || *line.at == '\t');
        if (trimmed.n > 0 && !is_item && !goes_on)
            break;
        rest = skip(rest, line.n < rest.n ? line.n + 1 : line.n);
        if (trimmed.n > 0)
            n = (size_t)(rest.at - all.at);
        if (n > STATEMENT_LIST_MAX_BYTES)
            break;
    }
    return (struct str){all.at, n};
}

/* A list as one statement: its lead and as many items as there is room for. */
static struct str join_list(struct str lead, struct str items)
{
    size_t n = (size_t)(items.at + items.n - lead.at);
    if (n > STATEMENT_LIST_MAX_BYTES) {
        n = STATEMENT_LIST_MAX_BYTES;
        while (n > lead.n && lead.at[n] != '\n')
            n--;
    }
    return str_trim((struct str){lead.at, n});
}

/* --- code ------------------------------------------------------------------------------------- */

/* Takes the block of code from `s->rest`; empty if there is none. */
static struct str take_code(struct statements *s)
{
    struct str code = code_block_at(s->rest);
    if (code.n > 0)
        s->rest =
            (struct str){code.at + code.n, (size_t)(s->rest.at + s->rest.n - code.at) - code.n};
    return code;
}

/* --- statements ------------------------------------------------------------------------------- */

void statements_start(struct statements *statements, struct str text)
{
    *statements = (struct statements){.rest = skip(text, code_block_begun(text)), .from = text.at};
    for (struct str rest = text; rest.n > 0;) {
        struct str line = first_line(rest);
        statements->width = line.n > statements->width ? line.n : statements->width;
        rest = skip(rest, line.n < rest.n ? line.n + 1 : line.n);
    }
}

static bool is_within(struct str part, struct str whole)
{
    return whole.n > 0 && part.at >= whole.at && part.at < whole.at + whole.n;
}

static struct str with_number(struct statements *s, struct str text)
{
    for (unsigned i = 0; i < NUMBERS_MAX && ordinal_ends(text, s->rest); i++) {
        if (s->rest.n == 0 || *s->rest.at != ' ')
            return text;
        struct str next = text_next_sentence(&s->rest);
        if (next.n > 0)
            text.n = (size_t)(next.at + next.n - text.at);
    }
    return text;
}

/* Returns whether there are several items in a list. */
static bool is_several(struct str items)
{
    unsigned n = 0;
    while (items.n > 0)
        n += list_mark(str_trim(str_cut(&items, '\n'))) > 0;
    return n > 1;
}

/* The list that begins there, which no words lead to: it stands for itself, then its items do. */
static bool begins_list(struct statements *s, struct str text, struct statement *statement)
{
    struct str from = {text.at, (size_t)(s->rest.at + s->rest.n - text.at)};
    struct str items = items_of(from);
    if (!is_several(items))
        return false;
    s->items = items;
    s->lead = (struct str){NULL, 0};
    s->rest = from;
    statement->kind = STATEMENT_LIST;
    statement->text = join_list((struct str){items.at, 0}, items);
    return true;
}

/* Takes what the text says next: a record or a line where lines are apart, else a sentence. */
static struct str take_text(struct statements *s, bool *ret_is_record)
{
    while (s->rest.n > 0 && strchr(" \t\r\n", *s->rest.at) != NULL && *s->rest.at != 0)
        s->rest = skip(s->rest, 1);
    if (s->rest.n == 0)
        return (struct str){s->rest.at, 0};
    if (s->rest.at >= s->block_end) {
        struct str block = lines_block(s->rest);
        s->block = block.at;
        s->block_end = block.at + block.n;
        s->is_apart = lines_are_apart(block);
    }
    if (s->rest.at >= s->block_end)
        return text_next_sentence(&s->rest);
    struct str record = lines_record((struct str){s->rest.at, (size_t)(s->block_end - s->rest.at)});
    *ret_is_record = record.n > 0;
    if (record.n == 0 && !s->is_apart)
        return text_next_sentence(&s->rest);
    struct str text = record.n > 0 ? record : first_line(s->rest), line = text;
    if (record.n == 0 && line.n > LINE_MAX_BYTES) /* several sentences */
        text = text_next_sentence(&line);
    s->rest = skip(s->rest, (size_t)(text.at + text.n - s->rest.at));
    return str_trim(text);
}

/* The sentence before this one, if both are of one paragraph. */
static struct str before_of(struct statements *s, struct str text)
{
    struct str before = s->before;
    s->before = text;
    if (before.n == 0)
        return before;
    for (const char *at = before.at + before.n; at + 1 < text.at; at++)
        if (*at == '\n' && at[1] == '\n')
            return (struct str){NULL, 0};
    return before;
}

/* Returns whether a line may be a heading by where it is: lines of a log are none. */
static bool is_place_of_heading(const struct statements *s, struct str line)
{
    if (!s->is_apart || line.at >= s->block_end)
        return true;
    for (size_t i = 0; i < line.n; i++)
        if (line.at[i] >= '0' && line.at[i] <= '9')
            return false;
    return line.at == s->block;
}

static struct str rest_after(const struct statements *s, struct str line)
{
    return (struct str){line.at + line.n, (size_t)(s->rest.at + s->rest.n - line.at) - line.n};
}

/* Begins the section of a heading that is marked with "#". */
static void set_section(struct statements *s, struct str line)
{
    s->heading = heading_of(line);
    s->anchor = str_has_prefix(line, STR("##")) ? s->heading : (struct str){NULL, 0};
    s->lead = s->items = s->before = (struct str){NULL, 0};
}

static void take_row(struct statements *s, struct str line, struct statement *statement)
{
    bool is_first = s->header.n == 0;
    s->rest = rest_after(s, line);
    s->before.n = 0;
    if (is_first)
        s->header = line;
    statement->kind = STATEMENT_ROW;
    statement->text = line;
    statement->lead = is_first ? STR("") : s->header;
}

static void take_heading(struct statements *s, struct str line, struct statement *statement)
{
    statement->kind = STATEMENT_HEADING;
    statement->text = line;
    s->rest = rest_after(s, line);
    s->heading = line;
    s->before.n = 0;
}

/* Takes the list or the code that a sentence with a colon leads to. */
static void take_led(struct statements *s, struct str text, struct statement *statement)
{
    struct str items = items_of(s->rest);
    if (items.n == 0) {
        statement->code = take_code(s);
        return;
    }
    s->lead = text;
    s->items = items;
    statement->kind = STATEMENT_LIST;
    statement->text = join_list(text, items);
}

/* Sets what kind of statement a text is that is no row. */
static void set_kind(struct statements *s, struct str text, struct statement *statement)
{
    struct str line = str_trim(first_line(text));
    bool is_item = list_mark(text) > 0, is_record = statement->kind == STATEMENT_RECORD;
    s->header.n = 0;
    if (s->items.n > 0 && !is_within(text, s->items))
        s->lead = s->items = (struct str){NULL, 0};
    if (!is_item && !is_record && is_place_of_heading(s, line) &&
        is_heading_line(s, line, rest_after(s, line))) {
        take_heading(s, line, statement);
        return;
    }
    if (is_item && s->items.n == 0 && begins_list(s, text, statement))
        return;
    if (is_item || s->items.n > 0) {
        statement->kind = STATEMENT_ITEM;
        statement->lead = s->lead;
    } else if (text.at[text.n - 1] == ':') {
        take_led(s, text, statement);
    }
    if (statement->kind == STATEMENT_SENTENCE)
        statement->before = before_of(s, text);
    else
        s->before.n = 0;
}

bool statements_next(struct statements *s, struct statement *ret_statement)
{
    bool is_record = false;
    struct str code, text;
    for (;;) {
        code = take_code(s);
        text = code.n > 0 ? code : take_text(s, &is_record);
        if (code.n > 0 || text.n == 0 || *text.at != '#')
            break;
        set_section(s, text);
    }
    if (text.n == 0)
        return false;
    if (code.n == 0)
        text = with_number(s, text);
    struct str line = str_trim(first_line(text));
    *ret_statement = (struct statement){.text = text, .heading = s->heading, .anchor = s->anchor};
    if (code.n > 0) {
        ret_statement->kind = STATEMENT_CODE;
    } else if (is_row(line)) {
        take_row(s, line, ret_statement);
    } else {
        ret_statement->kind = is_record ? STATEMENT_RECORD : STATEMENT_SENTENCE;
        set_kind(s, text, ret_statement);
    }
    return true;
}
