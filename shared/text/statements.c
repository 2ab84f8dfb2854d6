/* SPDX-License-Identifier: MIT
 * statements.c - see statements.h.
 *
 * Whether a line break means something: it does where the next word would have fitted on the line,
 * the longest line of the text being the measure. A break that was only made because a line was
 * full is white space. */
#include "shared/text/statements.h"

enum {
    HEADING_MAX_BYTES = 100,
    HEADING_MAX_WORDS = 12,
    NEXT_MAX_BYTES = 200,
    SHORT_HEADING_WORDS = 4,
    NUMBERS_MAX = 8,
    MARK_MAX_DIGITS = 3, /* "2021. " at the start of a line is a year */
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

/* The bytes of a list mark and the white space after it; 0 where there is none. */
static size_t mark_of(struct str s)
{
    size_t digits = 0;
    if (s.n > 1 && strchr("-*+>", *s.at) != NULL && *s.at != 0 && s.at[1] == ' ')
        return 2;
    if (s.n > 4 && memcmp(s.at, "\xe2\x80\xa2", 3) == 0) /* a bullet */
        return 3;
    while (digits < s.n && digits < MARK_MAX_DIGITS && s.at[digits] >= '0' && s.at[digits] <= '9')
        digits++;
    bool is_number = digits > 0 && s.n > digits + 1 &&
                     (s.at[digits] == '.' || s.at[digits] == ')') && s.at[digits + 1] == ' ';
    return is_number ? digits + 2 : 0;
}

struct str statement_plain(struct str text)
{
    for (;;) {
        text = str_trim(text);
        size_t n = mark_of(text);
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
    return (word_n <= SHORT_HEADING_WORDS && memmem(line.at, line.n, "  ", 2) == NULL) ||
           str_trim(first_line(near)).n == 0;
}

/* Is the line a heading of what comes after it? */
static bool is_heading_line(const struct statements *s, struct str line, struct str after)
{
    uint32_t c = 0;
    struct text_word word;
    if (line.n == 0 || line.n > HEADING_MAX_BYTES || is_stop_sign(line.at[line.n - 1]) ||
        memchr(line.at, '|', line.n) != NULL || mark_of(line) > 0 || !stands_apart(s, line, after))
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
    return line.n > 2 && (*line.at == '|' || memmem(line.at, line.n, " | ", 3) != NULL);
}

/* The items at the front of `rest`, as one run of lines that ends before an empty line which no
 * item follows. */
static struct str items_of(struct str rest)
{
    struct str all = rest;
    size_t n = 0;
    while (rest.n > 0) {
        struct str line = first_line(rest), trimmed = str_trim(line);
        bool is_item = mark_of(trimmed) > 0;
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

static size_t fence_of(struct str line)
{
    line = str_trim(line);
    return str_has_prefix(line, STR("```")) || str_has_prefix(line, STR("~~~")) ? 3 : 0;
}

/* Returns how much of the text is the rest of a block of code that began before it: passages are
 * cut anywhere. Fences come in pairs, and only one that opens says a language. */
static size_t begun_code(struct str text)
{
    struct str rest = text;
    unsigned fences = 0;
    size_t end = 0;
    while (rest.at != NULL && rest.n > 0) {
        struct str line = str_trim(str_cut(&rest, '\n'));
        if (fence_of(line) > 0 && fences++ == 0 && line.n == 3)
            end = (size_t)(line.at + line.n - text.at);
    }
    return fences % 2 == 1 ? end : 0;
}

/* The block of code that `rest` begins with, after white space: from fence to fence. Empty if there
 * is none. One without an end goes to the end of the text. */
static struct str code_at(struct str rest)
{
    size_t from = 0;
    while (from < rest.n && strchr(" \r\n", rest.at[from]) != NULL && rest.at[from] != 0)
        from++;
    struct str code = skip(rest, from), left = code;
    if (fence_of(first_line(code)) == 0)
        return (struct str){code.at, 0};
    (void)str_cut(&left, '\n');
    while (left.n > 0 && fence_of(first_line(left)) == 0)
        (void)str_cut(&left, '\n');
    struct str end = first_line(left);
    return (struct str){code.at, left.n == 0 ? code.n : (size_t)(end.at + end.n - code.at)};
}

/* Takes the block of code from `s->rest`; empty if there is none. */
static struct str take_code(struct statements *s)
{
    struct str code = code_at(s->rest);
    if (code.n > 0)
        s->rest =
            (struct str){code.at + code.n, (size_t)(s->rest.at + s->rest.n - code.at) - code.n};
    return code;
}

/* --- statements ------------------------------------------------------------------------------- */

void statements_start(struct statements *statements, struct str text)
{
    *statements = (struct statements){.rest = skip(text, begun_code(text)), .from = text.at};
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

/* German writes ordinals so: after these words, or before a month. */
static bool is_before_ordinal(struct str word)
{
    static const char *const words[] = {"am",  "ab",  "bis", "das",  "dem",   "den",   "der",
                                        "des", "die", "im",  "jede", "jeden", "jeder", "seit",
                                        "und", "vom", "zum", "zur",  NULL};
    for (const char *const *w = words; *w != NULL; w++)
        if (str_eq_nocase(word, str_of(*w)))
            return true;
    return false;
}

static bool is_month(struct str word)
{
    static const char *const months[] = {
        "Januar", "J\xc3\xa4nner", "Februar",   "M\xc3\xa4rz", "April",    "Mai",      "Juni",
        "Juli",   "August",        "September", "Oktober",     "November", "Dezember", NULL};
    for (const char *const *m = months; *m != NULL; m++)
        if (str_eq(word, str_of(*m)))
            return true;
    return false;
}

/* Returns whether the number of n bytes before a text's last stop is an ordinal: at the front of a
 * line, or where German has one. */
static bool is_ordinal(struct str text, size_t n, struct str rest)
{
    struct str before = str_trim((struct str){text.at, n}),
               next = first_line((struct str){rest.at, text_floor(rest, NEXT_MAX_BYTES)});
    next = str_trim(next);
    size_t from = before.n, to = 0;
    while (from > 0 && strchr(" \n", before.at[from - 1]) == NULL)
        from--;
    while (to < next.n && strchr(" .,;:", next.at[to]) == NULL)
        to++;
    return before.n == 0 || is_month((struct str){next.at, to}) ||
           is_before_ordinal((struct str){before.at + from, before.n - from});
}

/* "2. Rinse" and "1. Januar": a number of one or two digits with a stop continues with what comes
 * after it on its line. */
static bool ends_in_number(struct str text, struct str rest)
{
    size_t n = text.n, digits = 0;
    if (n < 2 || text.at[n - 1] != '.')
        return false;
    for (n--; n > 0 && text.at[n - 1] >= '0' && text.at[n - 1] <= '9'; n--)
        digits++;
    return digits > 0 && digits <= 2 && (n == 0 || text.at[n - 1] == ' ') &&
           is_ordinal(text, n, rest);
}

static struct str with_number(struct statements *s, struct str text)
{
    for (unsigned i = 0; i < NUMBERS_MAX && ends_in_number(text, s->rest); i++) {
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
        n += mark_of(str_trim(str_cut(&items, '\n'))) > 0;
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

bool statements_next(struct statements *s, struct statement *ret_statement)
{
    for (;;) {
        struct str text = take_code(s);
        if (text.n > 0) {
            *ret_statement = (struct statement){
                .kind = STATEMENT_CODE, .text = text, .heading = s->heading, .anchor = s->anchor};
            return true;
        }
        if ((text = text_next_sentence(&s->rest)).n == 0)
            return false;
        if (*text.at == '#') {
            s->heading = heading_of(text);
            s->anchor = str_has_prefix(text, STR("##")) ? s->heading : (struct str){NULL, 0};
            s->lead = s->items = (struct str){NULL, 0};
            continue;
        }
        text = with_number(s, text);
        struct str line = str_trim(first_line(text));
        if (is_row(line)) {
            s->rest =
                (struct str){line.at + line.n, (size_t)(s->rest.at + s->rest.n - line.at) - line.n};
            bool is_first = s->header.n == 0;
            if (is_first)
                s->header = line;
            *ret_statement = (struct statement){.kind = STATEMENT_ROW,
                                                .text = line,
                                                .heading = s->heading,
                                                .anchor = s->anchor,
                                                .lead = is_first ? STR("") : s->header};
            return true;
        }
        s->header.n = 0;
        bool is_item = mark_of(text) > 0;
        if (s->items.n > 0 && !is_within(text, s->items))
            s->lead = s->items = (struct str){NULL, 0};
        struct str after = {line.at + line.n, (size_t)(s->rest.at + s->rest.n - line.at) - line.n};
        *ret_statement =
            (struct statement){.text = text, .heading = s->heading, .anchor = s->anchor};
        if (!is_item && is_heading_line(s, line, after)) {
            ret_statement->kind = STATEMENT_HEADING;
            ret_statement->text = line;
            s->rest = after;
            s->heading = line;
            return true;
        }
        if (is_item && s->items.n == 0 && begins_list(s, text, ret_statement))
            return true;
        if (is_item || s->items.n > 0) {
            ret_statement->kind = STATEMENT_ITEM;
            ret_statement->lead = s->lead;
        } else if (text.at[text.n - 1] == ':') {
            struct str items = items_of(s->rest);
            if (items.n > 0) {
                s->lead = text;
                s->items = items;
                ret_statement->kind = STATEMENT_LIST;
                ret_statement->text = join_list(text, items);
            } else {
                ret_statement->code = take_code(s);
            }
        }
        return true;
    }
}
