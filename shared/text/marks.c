/* SPDX-License-Identifier: MIT
 * marks.c - see marks.h. */
#include "shared/text/marks.h"

#include "shared/text/text.h"

enum { DIGITS_MAX = 9 };

enum piece {
    PIECE_DIGIT,
    PIECE_SPACE,
    PIECE_NEWLINE,
    PIECE_DASH,
    PIECE_SEPARATOR,
    PIECE_SIGN, /* is in what only looks like a mark, or before a footnote's number */
    PIECE_COLON,
    PIECE_DAGGER,
    PIECE_OPENING,
    PIECE_CLOSING,
    PIECE_OTHER,
    PIECE_CONTROL, /* what no mark goes over */
    PIECE_CUT,     /* the text ends within a character */
    PIECE_END
};

static enum piece piece_of(uint32_t c)
{
    static const struct {
        uint32_t code;
        enum piece piece;
    } table[] = {
        {' ', PIECE_SPACE},        {'\t', PIECE_SPACE},       {'\n', PIECE_NEWLINE},
        {'\r', PIECE_NEWLINE},     {0xa0, PIECE_SPACE},       {0x3000, PIECE_SPACE},
        {'-', PIECE_DASH},         {0x2010, PIECE_DASH},      {0x2011, PIECE_DASH},
        {0x2013, PIECE_DASH},      {0x2014, PIECE_DASH},      {0x2212, PIECE_DASH},
        {0x301c, PIECE_DASH},      {0xff0d, PIECE_DASH},      {0xff5e, PIECE_DASH},
        {',', PIECE_SEPARATOR},    {';', PIECE_SEPARATOR},    {0x3001, PIECE_SEPARATOR},
        {0xff0c, PIECE_SEPARATOR}, {0xff1b, PIECE_SEPARATOR}, {'+', PIECE_SIGN},
        {'.', PIECE_SIGN},         {'^', PIECE_SIGN},         {0xff0b, PIECE_SIGN},
        {0xff0e, PIECE_SIGN},      {':', PIECE_COLON},        {0xff1a, PIECE_COLON},
        {0x2020, PIECE_DAGGER},    {'[', PIECE_OPENING},      {0x3010, PIECE_OPENING},
        {0xff3b, PIECE_OPENING},   {']', PIECE_CLOSING},      {0x3011, PIECE_CLOSING},
        {0xff3d, PIECE_CLOSING},   {'`', PIECE_CONTROL},      {0x7f, PIECE_CONTROL},
    };
    if ((c >= '0' && c <= '9') || (c >= 0xff10 && c <= 0xff19))
        return PIECE_DIGIT;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == c)
            return table[i].piece;
    return c < ' ' ? PIECE_CONTROL : PIECE_OTHER;
}

/* Returns whether `s` is the beginning of one character and not all of it. */
static bool is_cut(struct str s)
{
    unsigned char lead = (unsigned char)s.at[0];
    size_t whole = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1;
    for (size_t i = 1; i < s.n && i < whole; i++)
        if (((unsigned char)s.at[i] & 0xc0) != 0x80)
            return false;
    return s.n < whole;
}

/* Takes the next character. */
static enum piece next(struct str *rest, unsigned *ret_digit)
{
    uint32_t c;
    size_t n = text_char(*rest, &c);
    if (n == 0)
        return PIECE_END;
    if (c == 0xfffd && is_cut(*rest))
        return PIECE_CUT;
    rest->at += n;
    rest->n -= n;
    *ret_digit = c >= 0xff10 ? c - 0xff10 : c - '0';
    return piece_of(c);
}

/* Most of a text is not worth a closer look. */
static bool may_be_bracket(struct str s)
{
    return s.n > 0 && (*s.at == '[' || *s.at == ']' || *s.at == '\xe3' || *s.at == '\xef');
}

static size_t bracket(struct str s, enum piece piece)
{
    struct str rest = s;
    unsigned digit;
    return may_be_bracket(s) && next(&rest, &digit) == piece ? s.n - rest.n : 0;
}

size_t marks_opening(struct str s)
{
    return bracket(s, PIECE_OPENING);
}

size_t marks_closing(struct str s)
{
    return bracket(s, PIECE_CLOSING);
}

/* Only what may become an opening bracket. */
static bool is_opening_cut(struct str s)
{
    return str_has_prefix(STR("\u3010"), s) || str_has_prefix(STR("\uff3b"), s);
}

enum marks_fit marks_fit(struct str s, size_t *ret_bytes)
{
    struct str rest = s;
    unsigned digit;
    bool has_digit = false, has_colon = false, is_name = false;
    enum piece piece = may_be_bracket(s) ? next(&rest, &digit) : PIECE_OTHER;
    if (piece != PIECE_OPENING)
        return piece == PIECE_CUT && is_opening_cut(s) ? MARKS_BEGUN : MARKS_NONE;
    while (!is_name || s.n - rest.n < MARKS_MAX_BYTES) {
        piece = next(&rest, &digit);
        has_digit |= piece == PIECE_DIGIT;
        has_colon |= piece == PIECE_COLON;
        switch (piece) {
        case PIECE_END:
        case PIECE_CUT: return MARKS_BEGUN;
        case PIECE_CLOSING:
            if (!has_digit || (has_colon && !is_name)) /* 10:30 */
                return MARKS_NONE;
            if (ret_bytes != NULL)
                *ret_bytes = s.n - rest.n;
            return MARKS_WHOLE;
        case PIECE_OPENING:
        case PIECE_CONTROL: return MARKS_NONE;
        case PIECE_DAGGER:
            if (!has_digit)
                return MARKS_NONE;
            is_name = true;
            break;
        case PIECE_NEWLINE:
            if (is_name)
                return MARKS_NONE;
            break;
        case PIECE_OTHER:
            if (!is_name)
                return MARKS_NONE;
            break;
        default: break;
        }
    }
    return MARKS_NONE;
}

size_t marks_measure(struct str s)
{
    size_t n;
    if (s.n > MARKS_MAX_BYTES)
        s.n = MARKS_MAX_BYTES;
    return marks_fit(s, &n) == MARKS_WHOLE ? n : 0;
}

/* --- what it names ---------------------------------------------------------------------------- */

static void skip_spaces(struct str *rest)
{
    struct str after = *rest;
    unsigned digit;
    for (enum piece piece = next(&after, &digit); piece == PIECE_SPACE || piece == PIECE_NEWLINE;
         piece = next(&after, &digit))
        *rest = after;
}

static bool take(struct str *rest, enum piece piece)
{
    struct str after = *rest;
    unsigned digit;
    if (next(&after, &digit) != piece)
        return false;
    *rest = after;
    return true;
}

static bool take_number(struct str *rest, unsigned *ret_number)
{
    struct str after = *rest;
    unsigned number = 0, digit;
    size_t digits = 0;
    for (; next(&after, &digit) == PIECE_DIGIT; *rest = after, digits++)
        if (digits < DIGITS_MAX)
            number = number * 10 + digit;
    *ret_number = digits > DIGITS_MAX ? 1000000000u : number;
    skip_spaces(rest);
    return digits > 0;
}

/* "3" or "1-3", with the caret of a footnote. */
static bool take_range(struct str *rest, unsigned *ret_from, unsigned *ret_to)
{
    skip_spaces(rest);
    if (str_has_prefix(*rest, STR("^")))
        (void)take(rest, PIECE_SIGN);
    if (!take_number(rest, ret_from))
        return false;
    *ret_to = *ret_from;
    if (!take(rest, PIECE_DASH))
        return true;
    skip_spaces(rest);
    return take_number(rest, ret_to);
}

/* False when it names nothing that can be read. `is_named` may be NULL. */
static bool read_mark(struct str inside, bool *is_named, unsigned most)
{
    unsigned from, to;
    do {
        if (!take_range(&inside, &from, &to))
            return false;
        unsigned low = from < to ? from : to, high = from < to ? to : from;
        for (unsigned i = low < 1 ? 1 : low; is_named != NULL && i <= high && i <= most; i++)
            is_named[i] = true;
    } while (take(&inside, PIECE_SEPARATOR));
    return take(&inside, PIECE_CLOSING) || take(&inside, PIECE_DAGGER);
}

void marks_name(struct str mark, bool *is_named, unsigned most)
{
    size_t n = marks_opening(mark);
    struct str inside = {mark.at + n, mark.n - n};
    if (read_mark(inside, NULL, 0))
        (void)read_mark(inside, is_named, most);
}

/* --- quotations ------------------------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || (unsigned char)c >= 0x80;
}

/* Returns whether the word that ends at `n` is a name of a program rather than of a language: one
 * letter, or with a digit, a point or an underline. */
static bool is_name(struct str text, size_t n)
{
    size_t from = n;
    bool has_sign = false;
    for (; from > 0 && is_word_byte(text.at[from - 1]); from--)
        has_sign = has_sign || strchr("_.0123456789", text.at[from - 1]) != NULL;
    return n - from == 1 ? (unsigned char)text.at[from] < 0x80 && text.at[from] != '.'
                         : n > from && has_sign && text.at[n - 1] != '.';
}

static bool is_assigned(struct str after)
{
    after = str_trim((struct str){after.at, after.n < 3 ? after.n : 3});
    return after.n > 0 && *after.at == '=';
}

void marks_put_quoted(struct buf *b, struct str text)
{
    bool is_code = false; /* within backquotes, or the mark before was one of code */
    bool is_quoted = false;
    for (size_t i = 0; i < text.n;) {
        struct str rest = {text.at + i, text.n - i};
        size_t mark = marks_measure(rest), open = marks_opening(rest);
        if (mark == 0) {
            is_quoted = is_quoted != (*rest.at == '`');
            is_code = false;
            buf_put_char(b, *rest.at);
            i++;
            continue;
        }
        struct str after = {rest.at + mark, rest.n - mark};
        is_code = open == 1 && (is_quoted || is_code || is_name(text, i) || is_assigned(after));
        if (is_code) {
            buf_put(b, (struct str){rest.at, mark});
        } else {
            size_t close = rest.at[mark - 1] == ']' ? 1 : MARKS_BRACKET_BYTES;
            buf_put_char(b, '(');
            buf_put(b, (struct str){rest.at + open, mark - open - close});
            buf_put_char(b, ')');
        }
        i += mark;
    }
}

/* The text before its list of sources: "Sources:" and then a mark, or nothing more. */
static struct str without_sources(struct str text)
{
    static const char head[] = "Sources:";
    const size_t head_n = sizeof head - 1;
    if (text.n == 0) /* it may have no bytes to look at */
        return text;
    const char *at = text.at, *end = text.at + text.n;
    while ((at = memmem(at, (size_t)(end - at), head, head_n)) != NULL) {
        struct str rest = str_trim((struct str){at + head_n, (size_t)(end - at) - head_n});
        bool stands_alone = at == text.at || is_space(at[-1]);
        if (stands_alone && (rest.n == 0 || marks_measure(rest) > 0))
            return str_trim((struct str){text.at, (size_t)(at - text.at)});
        at += head_n;
    }
    return text;
}

void marks_put_without(struct buf *b, struct str text)
{
    size_t before = b->n;
    text = without_sources(str_trim(text));
    for (size_t i = 0; i < text.n;) {
        size_t mark = marks_measure((struct str){text.at + i, text.n - i});
        if (mark == 0) {
            buf_put_char(b, text.at[i++]);
            continue;
        }
        while (b->n > before && (b->at[b->n - 1] == ' ' || b->at[b->n - 1] == '\t'))
            b->n--;
        i += mark;
    }
    while (b->n > before && is_space(b->at[b->n - 1]))
        b->n--;
}
