/* SPDX-License-Identifier: MIT
 * text.c - see text.h. Folding covers Latin, Greek and Cyrillic by rule; other scripts are compared
 * as written, which is right for those without case. */
#include "shared/text/text.h"

#include "shared/base/hash.h"

#include <endian.h>
#include <stdlib.h>

static bool is_tail(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

size_t text_char_any(struct str s, uint32_t *ret_code)
{
    const unsigned char *p = (const unsigned char *)s.at;
    if (s.n == 0)
        return 0;
    *ret_code = p[0];
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf && s.n >= 2 && is_tail(p[1])) {
        *ret_code = (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
        return 2;
    }
    if ((p[0] & 0xf0) == 0xe0 && s.n >= 3 && is_tail(p[1]) && is_tail(p[2])) {
        *ret_code = (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
        return 3;
    }
    if (p[0] >= 0xf0 && p[0] <= 0xf4 && s.n >= 4 && is_tail(p[1]) && is_tail(p[2]) &&
        is_tail(p[3])) {
        *ret_code =
            (p[0] & 0x07u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
        return 4;
    }
    *ret_code = 0xfffd;
    return 1;
}

size_t text_length(struct str s)
{
    uint32_t code;
    size_t n = 0;
    for (size_t step; (step = text_char(s, &code)) != 0; n++) {
        s.at += step;
        s.n -= step;
    }
    return n;
}

size_t text_floor(struct str s, size_t n)
{
    if (n >= s.n)
        return s.n;
    while (n > 0 && is_tail((unsigned char)s.at[n]))
        n--;
    return n;
}

/* ---- characters ---- */

static bool is_space(uint32_t c)
{
    return c == ' ' || (c >= 9 && c <= 13) || c == 0xa0 || (c >= 0x2000 && c <= 0x200b) ||
           c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x3000 || c == 0xfeff;
}

bool text_is_word_char(uint32_t c)
{
    if (c < 0x80)
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return c >= 0xaa && c != 0xab && c != 0xac && c != 0xad && c != 0xbb && c != 0xbf &&
           c != 0xd7 && c != 0xf7 && !(c >= 0x2000 && c <= 0x206f) &&
           !(c >= 0x2190 && c <= 0x2bff) && !(c >= 0x3000 && c <= 0x303f) &&
           !(c >= 0xff00 && c <= 0xff0f) && !(c >= 0xff1a && c <= 0xff20) && c != 0xfeff &&
           c != 0xfffd;
}

/* Scripts that are written without spaces: each character is a word. */
static bool is_ideograph(uint32_t c)
{
    return (c >= 0x3040 && c <= 0x30ff) || (c >= 0x3400 && c <= 0x9fff) ||
           (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0x20000 && c <= 0x3ffff);
}

static uint32_t fold(uint32_t c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    if ((c >= 0xc0 && c <= 0xde && c != 0xd7) || (c >= 0x391 && c <= 0x3a9) ||
        (c >= 0x410 && c <= 0x42f))
        return c + 32;
    if (c >= 0x400 && c <= 0x40f)
        return c + 80;
    if ((c >= 0x100 && c <= 0x137) || (c >= 0x14a && c <= 0x177) || (c >= 0x460 && c <= 0x481) ||
        (c >= 0x48a && c <= 0x4bf) || (c >= 0x1e00 && c <= 0x1eff))
        return c | 1;
    if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e))
        return c & 1 ? c + 1 : c;
    return c == 0x3c2 ? 0x3c3 : c; /* final sigma */
}

size_t text_put_char(char *at, uint32_t c)
{
    if (c < 0x80) {
        at[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        at[0] = (char)(0xc0 | c >> 6);
        at[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        at[0] = (char)(0xe0 | c >> 12);
        at[1] = (char)(0x80 | (c >> 6 & 0x3f));
        at[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    at[0] = (char)(0xf0 | c >> 18);
    at[1] = (char)(0x80 | (c >> 12 & 0x3f));
    at[2] = (char)(0x80 | (c >> 6 & 0x3f));
    at[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* ---- words ---- */

/* Eight bytes as a number whose order is that of the texts. */
static uint64_t order_of(const char *bytes)
{
    uint64_t number;
    memcpy(&number, bytes, sizeof number);
    return be64toh(number);
}

/* `word` is followed by NULs up to eight bytes, if it is shorter. */
static bool is_stop_word(const char *word, size_t n)
{
    /* Sorted: it is searched by halves. */
    static const char words[][8] = {
        "a",   "about", "after", "all",    "also",   "am",    "an",    "and",   "any",   "are",
        "as",  "at",    "be",    "been",   "before", "but",   "by",    "can",   "could", "did",
        "do",  "does",  "each",  "for",    "from",   "get",   "give",  "had",   "has",   "have",
        "he",  "her",   "here",  "his",    "how",    "i",     "if",    "in",    "into",  "is",
        "it",  "its",   "just",  "may",    "me",     "more",  "most",  "much",  "my",    "no",
        "not", "of",    "on",    "one",    "only",   "or",    "other", "our",   "out",   "please",
        "say", "shall", "she",   "should", "so",     "some",  "such",  "tell",  "than",  "that",
        "the", "their", "them",  "then",   "there",  "these", "they",  "this",  "those", "to",
        "up",  "us",    "was",   "we",     "were",   "what",  "when",  "where", "which", "who",
        "why", "will",  "with",  "would",  "you",    "your"};
    size_t low = 0, high = sizeof words / sizeof *words;
    uint64_t wanted = n >= sizeof *words ? 0 : order_of(word);
    while (low < high) {
        size_t middle = (low + high) / 2;
        uint64_t here = order_of(words[middle]);
        if (here == wanted)
            return true;
        if (here < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static bool ends_with(const char *at, size_t n, const char *ending)
{
    size_t k = strlen(ending);
    return n >= k && memcmp(at + n - k, ending, k) == 0;
}

/* Cuts the commonest English endings, so that "accrues", "accrued" and "accrue" meet. It is no
 * stemmer of a grammar book: it must only do the same to questions and to passages. */
static size_t cut_ending(char *at, size_t n)
{
    if (n > 4 && ends_with(at, n, "ies")) {
        at[n - 3] = 'y';
        return n - 2;
    }
    if (n > 4 && (ends_with(at, n, "sses") || ends_with(at, n, "shes") ||
                  ends_with(at, n, "ches") || ends_with(at, n, "xes")))
        return n - 2;
    if (n > 3 && at[n - 1] == 's' && !ends_with(at, n, "ss") && !ends_with(at, n, "us") &&
        !ends_with(at, n, "is"))
        n--;
    if (n > 5 && ends_with(at, n, "ly"))
        n -= 2;
    if (n > 5 && ends_with(at, n, "ing"))
        n -= 3;
    else if (n > 4 && ends_with(at, n, "ed"))
        n -= 2;
    else if (n > 4 && at[n - 1] == 'e')
        n -= 1;
    /* "stopped" and "stopping" leave "stopp". */
    if (n > 3 && at[n - 1] == at[n - 2] && at[n - 1] != 'l' && at[n - 1] != 's' &&
        at[n - 1] > 'a' && at[n - 1] <= 'z')
        n--;
    return n;
}

bool text_next_word(struct str *rest, struct text_word *ret_word)
{
    uint32_t c;
    size_t step;
    while ((step = text_char(*rest, &c)) != 0 && !text_is_word_char(c)) {
        rest->at += step;
        rest->n -= step;
    }
    ret_word->n = 0;
    ret_word->here = (struct str){rest->at, 0};
    bool is_ascii = true, is_single = false;
    while (!is_single && (step = text_char(*rest, &c)) != 0) {
        /* "engine's" is one word, "don't" too: the apostrophe and a final s are removed. */
        bool is_apostrophe = (c == '\'' || c == 0x2019) && ret_word->n > 0;
        uint32_t next = 0;
        if (is_apostrophe)
            (void)text_char((struct str){rest->at + step, rest->n - step}, &next);
        if (is_apostrophe ? !text_is_word_char(next) : !text_is_word_char(c))
            break;
        is_single = is_ideograph(c);
        if (is_single && ret_word->n > 0)
            break;
        rest->at += step;
        rest->n -= step;
        is_ascii = is_ascii && (c < 0x80 || is_apostrophe);
        if (!is_apostrophe && ret_word->n + 4 < TEXT_WORD_MAX_BYTES)
            ret_word->n += text_put_char(ret_word->at + ret_word->n, fold(c));
    }
    if (ret_word->n == 0)
        return false;
    ret_word->here.n = (size_t)(rest->at - ret_word->here.at);
    memset(ret_word->at + ret_word->n, 0, ret_word->n < 8 ? 8 - ret_word->n : 1);
    ret_word->is_stop = is_stop_word(ret_word->at, ret_word->n);
    if (is_ascii && !ret_word->is_stop)
        ret_word->n = cut_ending(ret_word->at, ret_word->n);
    ret_word->at[ret_word->n] = 0;
    return true;
}

/* FNV-1a, then the last mixing step of MurmurHash3 so that every bit of it can be used. */
uint64_t text_hash(struct str s, uint64_t seed)
{
    uint64_t h = hash_fnv64(s, seed);
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdu;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

/* ---- sentences ---- */

/* Returns whether the line at `s` opens something of its own: a heading, a list item, a table row.
 */
static bool opens_block(struct str s)
{
    while (s.n > 0 && (*s.at == ' ' || *s.at == '\t')) {
        s.at++;
        s.n--;
    }
    if (s.n == 0 || *s.at == '\n' || *s.at == '\r' || *s.at == '#' || *s.at == '|' || *s.at == '>')
        return true;
    if (s.n > 1 && (*s.at == '-' || *s.at == '*' || *s.at == '+') && s.at[1] == ' ')
        return true;
    size_t digits = 0;
    while (digits < s.n && digits < 4 && s.at[digits] >= '0' && s.at[digits] <= '9')
        digits++;
    return digits > 0 && s.n > digits + 1 && (s.at[digits] == '.' || s.at[digits] == ')') &&
           s.at[digits + 1] == ' ';
}

static bool is_heading(struct str line)
{
    line = str_trim(line);
    return line.n > 0 && *line.at == '#';
}

/* "e.g. this" and "Dr. Who" continue: a single letter or a known short form is before the dot. */
static bool is_short_form(struct str before)
{
    static const char *const forms[] = {"e.g", "i.e", "dr", "mr", "mrs", "ms",
                                        "vs",  "etc", "no", "st", "cf",  "fig"};
    size_t start = before.n;
    while (start > 0 && before.at[start - 1] != ' ' && before.at[start - 1] != '\n' &&
           before.at[start - 1] != '(')
        start--;
    struct str word = {before.at + start, before.n - start};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (str_eq_nocase(word, str_of(forms[i])))
            return true;
    return word.n == 1 && *word.at >= 'A' && *word.at <= 'Z';
}

/* How many bytes of `s` make its first sentence. */
static size_t sentence_bytes(struct str s)
{
    uint32_t c, next;
    size_t line_start = 0;
    for (size_t i = 0, step; (step = text_char((struct str){s.at + i, s.n - i}, &c)) != 0;
         i += step) {
        struct str behind = {s.at + i + step, s.n - i - step};
        if (c == 0x3002 || c == 0xff01 || c == 0xff1f)
            return i + step;
        if (c == '\n') {
            if (opens_block(behind) || is_heading((struct str){s.at + line_start, i - line_start}))
                return i + step;
            line_start = i + step;
            continue;
        }
        if (c != '.' && c != '!' && c != '?')
            continue;
        /* Closing quotes and brackets belong to the sentence. */
        size_t closing = 0;
        while (closing < behind.n && strchr("\"')]*_", behind.at[closing]) != NULL &&
               behind.at[closing] != 0)
            closing++;
        struct str after = {behind.at + closing, behind.n - closing};
        if (text_char(after, &next) != 0 && !is_space(next))
            continue;
        if (c == '.' && is_short_form((struct str){s.at, i}))
            continue;
        return i + step + closing;
    }
    return s.n;
}

struct str text_next_sentence(struct str *rest)
{
    struct str sentence = {NULL, 0};
    while (rest->n > 0 && sentence.n == 0) {
        size_t n = sentence_bytes(*rest);
        sentence = str_trim((struct str){rest->at, n});
        rest->at += n;
        rest->n -= n;
    }
    return sentence;
}

void text_put_normal(struct buf *b, struct str s)
{
    uint32_t c;
    bool is_gap = false, is_first = true;
    for (size_t step; (step = text_char(s, &c)) != 0; s.at += step, s.n -= step) {
        if (is_space(c)) {
            is_gap = true;
            continue;
        }
        char bytes[4];
        if (is_gap && !is_first)
            buf_put_char(b, ' ');
        buf_put(b, (struct str){bytes, text_put_char(bytes, fold(c))});
        is_gap = is_first = false;
    }
}
