/* SPDX-License-Identifier: MIT
 * paragraphs.c - see paragraphs.h. */
#include "services/bots/rooms/paragraphs.h"

enum { TAB = 4, CODE_INDENT = 4, FENCE_MIN = 3, RULE_MIN = 3, HASHES_MAX = 6, DIGITS_MAX = 9 };

#define COMMENT STR("<!--")
#define COMMENT_END STR("-->")

/* The kind of a line, after the marks of the items that it is in. */
enum kind {
    KIND_BLANK,
    KIND_CODE,
    KIND_QUOTE,
    KIND_FENCE,
    KIND_COMMENT,
    KIND_RULE, /* between blocks, or below a heading */
    KIND_HEADING,
    KIND_TEXT
};

/* A line as far as it was read. */
struct line {
    struct str rest; /* without white space at its end */
    size_t column;   /* at which that begins; a tab counts up to the next multiple of TAB */
    bool is_item;    /* an item begins on it */
};

static size_t count_run(struct str text, char c)
{
    size_t n = 0;
    while (n < text.n && text.at[n] == c)
        n++;
    return n;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_space(char c)
{
    return is_blank(c) || c == '\r' || c == '\n';
}

static void pass(struct line *line, size_t n)
{
    line->rest.at += n;
    line->rest.n -= n;
    line->column += n;
}

static void pass_blanks(struct line *line)
{
    while (line->rest.n > 0 && is_blank(line->rest.at[0])) {
        size_t tab = TAB - line->column % TAB;
        line->column += line->rest.at[0] == '\t' ? tab - 1 : 0;
        pass(line, 1);
    }
}

/* Where the line after this one begins. */
static size_t next_line(struct str text, size_t at)
{
    const char *end = memchr(text.at + at, '\n', text.n - at);
    return end == NULL ? text.n : (size_t)(end - text.at) + 1;
}

/* The line that begins at `at`, after its indentation. */
static struct line line_at(struct str text, size_t at)
{
    struct line line = {.rest = {text.at + at, next_line(text, at) - at}};
    while (line.rest.n > 0 && is_space(line.rest.at[line.rest.n - 1]))
        line.rest.n--;
    pass_blanks(&line);
    return line;
}

/* --- what a line begins ----------------------------------------------------------------------- */

/* A fence opens with three or more of its character; what follows backticks has no others. */
static bool is_fence(struct str rest)
{
    char c = rest.at[0];
    size_t n = c == '`' || c == '~' ? count_run(rest, c) : 0;
    return n >= FENCE_MIN && (c == '~' || memchr(rest.at + n, '`', rest.n - n) == NULL);
}

static bool is_heading(struct str rest)
{
    size_t n = count_run(rest, '#');
    return n > 0 && n <= HASHES_MAX && (n == rest.n || is_blank(rest.at[n]));
}

/* A line of one character of `-_*`, with blanks between them or not; below a line of text one of
 * `-` or `=`, which makes that a heading. */
static bool is_rule(struct str rest, bool is_below_text)
{
    char c = rest.at[0];
    size_t n = 0;
    if (is_below_text && (c == '-' || c == '=') && count_run(rest, c) == rest.n)
        return true;
    if (c != '-' && c != '_' && c != '*')
        return false;
    for (size_t i = 0; i < rest.n; i++) {
        if (rest.at[i] != c && !is_blank(rest.at[i]))
            return false;
        n += rest.at[i] == c;
    }
    return n >= RULE_MIN;
}

/* The bytes of the mark of an item that begins here, or 0. Within a paragraph only an item with
 * text is one, and of numbered ones only the first. */
static size_t item_mark(struct str rest, bool is_below_text)
{
    size_t n = 0;
    if (rest.at[0] == '-' || rest.at[0] == '+' || rest.at[0] == '*')
        n = 1;
    else {
        while (n < rest.n && n < DIGITS_MAX && rest.at[n] >= '0' && rest.at[n] <= '9')
            n++;
        if (n == 0 || n == rest.n || (rest.at[n] != '.' && rest.at[n] != ')') ||
            (is_below_text && !(n == 1 && rest.at[0] == '1')))
            return 0;
        n++;
    }
    if (n == rest.n)
        return is_below_text ? 0 : n;
    return is_blank(rest.at[n]) ? n : 0;
}

static enum kind kind_of(struct str rest, bool is_below_text)
{
    if (rest.at[0] == '>')
        return KIND_QUOTE;
    if (is_fence(rest))
        return KIND_FENCE;
    if (str_has_prefix(rest, COMMENT))
        return KIND_COMMENT;
    if (is_heading(rest))
        return KIND_HEADING;
    return is_rule(rest, is_below_text) ? KIND_RULE : KIND_TEXT;
}

/* --- lines within items ----------------------------------------------------------------------- */

static size_t base_of(const struct paragraphs *p)
{
    return p->items_n == 0 ? 0 : p->items[p->items_n - 1];
}

/* Passes over the mark of an item, and the blanks after it. More than CODE_INDENT of these are one
 * and code. */
static void begin_item(struct paragraphs *p, struct line *line, size_t mark)
{
    pass(line, mark);
    size_t column = line->column + 1;
    pass_blanks(line);
    bool is_code = line->column >= column + CODE_INDENT;
    p->items[p->items_n++] = line->rest.n == 0 || is_code ? column : line->column;
    p->is_empty = line->rest.n == 0;
    line->is_item = true;
}

/* An item may begin with one blank line, its own. */
static enum kind read_blank(struct paragraphs *p)
{
    if (p->is_empty)
        p->items_n--;
    p->is_empty = false;
    return KIND_BLANK;
}

/* Reads on to what the line is, past the items that begin on it. The items that it is not in are
 * closed, unless it continues a paragraph of theirs. */
static enum kind read_line(struct paragraphs *p, struct line *line)
{
    size_t were_open = p->items_n;
    if (line->rest.n == 0)
        return read_blank(p);
    p->is_empty = false;
    while (p->items_n > 0 && line->column < base_of(p))
        p->items_n--;
    for (;;) {
        bool is_below_text = p->is_open && !line->is_item;
        bool is_same = is_below_text && p->items_n == were_open;
        enum kind kind = KIND_TEXT;
        size_t mark = 0;
        if (line->rest.n == 0)
            return KIND_BLANK;
        if (line->column - base_of(p) < CODE_INDENT) {
            kind = kind_of(line->rest, is_same);
            mark = kind == KIND_TEXT ? item_mark(line->rest, is_same) : 0;
        } else if (!is_below_text)
            return KIND_CODE;
        if (mark > 0 && p->items_n < PARAGRAPHS_NESTED_MAX) {
            begin_item(p, line, mark);
            continue;
        }
        if (kind == KIND_TEXT && is_below_text)
            p->items_n = were_open;
        return kind;
    }
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* Has the item ended at this line in which a block with that base is? */
static bool is_outside(const struct line *line, size_t base)
{
    return line->rest.n > 0 && line->column < base;
}

/* The end of the block that a fence opens: after a line of nothing but as many of its character,
 * before the end of its item, or the end of the text. */
static size_t skip_fenced(struct str text, size_t at, struct str fence, size_t base)
{
    char c = fence.at[0];
    size_t n = count_run(fence, c);
    while ((at = next_line(text, at)) < text.n) {
        struct line line = line_at(text, at);
        if (is_outside(&line, base))
            return at;
        if (line.rest.n >= n && count_run(line.rest, c) == line.rest.n &&
            line.column - base < CODE_INDENT)
            return next_line(text, at);
    }
    return text.n;
}

/* The same of a comment. It begins with `at`; `<!-->` is a whole one. */
static size_t skip_comment(struct str text, size_t at, size_t base)
{
    size_t from = at + 2;
    while (from < text.n) {
        size_t next = next_line(text, from);
        const char *end = memmem(text.at + from, next - from, COMMENT_END.at, COMMENT_END.n);
        if (end != NULL)
            return (size_t)(end - text.at) + COMMENT_END.n;
        if (next == text.n)
            break;
        struct line line = line_at(text, next);
        if (is_outside(&line, base))
            return next;
        from = next;
    }
    return text.n;
}

/* Where the paragraph ends that the line before `at` belongs to. */
static size_t continue_paragraph(struct paragraphs *p, size_t at)
{
    while (at < p->text.n) {
        struct paragraphs after = *p;
        struct line line = line_at(p->text, at);
        if (read_line(&after, &line) != KIND_TEXT || line.is_item)
            break;
        *p = after;
        at = next_line(p->text, at);
    }
    return at;
}

void paragraphs_begin(struct paragraphs *paragraphs, struct str text)
{
    *paragraphs = (struct paragraphs){.text = text};
}

bool paragraphs_next(struct paragraphs *p, struct str *ret_paragraph)
{
    while (p->at < p->text.n) {
        struct line line = line_at(p->text, p->at);
        enum kind kind = read_line(p, &line);
        size_t from = (size_t)(line.rest.at - p->text.at), end = next_line(p->text, p->at);
        p->is_open = kind == KIND_TEXT;
        if (kind == KIND_FENCE)
            end = skip_fenced(p->text, p->at, line.rest, base_of(p));
        else if (kind == KIND_COMMENT) {
            from = skip_comment(p->text, from, base_of(p));
            end = from > 0 && p->text.at[from - 1] == '\n' ? from : next_line(p->text, from);
        } else if (kind == KIND_TEXT)
            end = continue_paragraph(p, end);
        p->at = end;
        if (kind >= KIND_HEADING || (kind == KIND_COMMENT && from < end)) {
            *ret_paragraph = (struct str){p->text.at + from, end - from};
            return true;
        }
    }
    return false;
}
