/* SPDX-License-Identifier: MIT
 * text.c - see text.h. */
#include "shared/text/text.h"

#include "shared/base/hash.h"
#include "shared/text/fold.h"
#include "shared/text/list_marks.h"

#include <endian.h>
#include <stdlib.h>

/* ---- characters ---- */

static bool is_space(uint32_t c)
{
    return c == ' ' || (c >= 9 && c <= 13) || c == 0xa0 || (c >= 0x2000 && c <= 0x200b) ||
           c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x3000 || c == 0xfeff;
}

/* Scripts that are written without spaces: each character is a word. */
static bool is_ideograph(uint32_t c)
{
    return (c >= 0x3005 && c <= 0x3007) || (c >= 0x3040 && c <= 0x30ff) ||
           (c >= 0x3400 && c <= 0x9fff) || (c >= 0xac00 && c <= 0xd7a3) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x20000 && c <= 0x3ffff);
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

/* "engine's" is one word, "don't" too: the apostrophe is left out, and a final s goes with the
 * ending. */
static bool is_apostrophe(const struct folded *c, struct str after)
{
    struct folded next;
    return (c->first == '\'' || c->first == 0x2019) && fold_next(after, &next) != 0 &&
           next.kind == FOLD_WORD;
}

/* A space without width ends a word where no other space does: in Thai and its neighbours. */
static bool is_break(const struct folded *c, uint32_t before)
{
    return c->first == 0x200b &&
           ((before >= 0xe00 && before <= 0xeff) || (before >= 0x1000 && before <= 0x109f) ||
            (before >= 0x1780 && before <= 0x17ff));
}

static bool put_folded(struct text_word *word, const struct folded *c)
{
    for (unsigned i = 0; i < c->n; i++) {
        word->is_ascii = word->is_ascii && c->at[i] < 0x80;
        if (word->n + 4 < TEXT_WORD_MAX_BYTES)
            word->n += text_put_char(word->at + word->n, c->at[i]);
    }
    return is_ideograph(c->at[0]);
}

/* Sets the word, which is followed by NULs, to its stem, if it is English or looks like it. */
static void end_word(struct text_word *word)
{
    word->is_stop = is_stop_word(word->at, word->n);
    if (word->is_ascii && !word->is_stop)
        word->n = cut_ending(word->at, word->n);
    word->at[word->n] = 0;
}

static struct str skip_bytes(struct str s, size_t n)
{
    return (struct str){s.at + n, s.n - n};
}

bool text_next_word(struct str *rest, struct text_word *word)
{
    struct folded c;
    size_t step;
    while ((step = fold_next(*rest, &c)) != 0 && c.kind != FOLD_WORD && c.kind != FOLD_WORD_HIGH)
        *rest = skip_bytes(*rest, step);
    *word = (struct text_word){.here = {rest->at, 0}, .is_ascii = true};
    if (step == 0)
        return false;
    enum fold_kind kind = c.kind;
    bool is_single = put_folded(word, &c);
    uint32_t before = c.at[0];
    *rest = skip_bytes(*rest, step);
    word->here.n = step;
    while (!is_single && (step = fold_next(*rest, &c)) != 0) {
        struct str after = skip_bytes(*rest, step);
        if (c.kind == kind && is_ideograph(c.at[0]))
            break;
        if (c.kind == kind)
            (void)put_folded(word, &c);
        else if (c.kind == FOLD_NOTHING ? is_break(&c, before) : !is_apostrophe(&c, after))
            break;
        *rest = after;
        if (c.kind == kind) {
            before = c.at[0];
            word->here.n = (size_t)(rest->at - word->here.at);
        }
    }
    end_word(word);
    return true;
}

void text_word_bare(struct text_word *word)
{
    struct text_word bare = {.here = word->here, .is_ascii = true};
    struct str chars = {word->at, word->n};
    uint32_t c;
    if (word->is_ascii)
        return;
    for (size_t step; (step = text_char(chars, &c)) != 0; chars = skip_bytes(chars, step)) {
        c = fold_bare(c);
        bare.is_ascii = bare.is_ascii && c < 0x80;
        bare.n += c == 0 ? 0 : text_put_char(bare.at + bare.n, c);
    }
    if (bare.n == 0)
        return;
    end_word(&bare);
    bare.is_stop = word->is_stop;
    *word = bare;
}

uint64_t text_word_key(const struct text_word *word)
{
    struct text_word bare = *word;
    text_word_bare(&bare);
    return text_hash((struct str){bare.at, bare.n}, 0);
}

/* ---- compounds ---- */

static bool is_hyphen(struct str s)
{
    return str_eq(s, STR("-")) || str_eq(s, STR("_")) || str_eq(s, STR("\xe2\x80\x90")) ||
           str_eq(s, STR("\xe2\x80\x91")) || str_eq(s, STR("\xef\xbc\x8d"));
}

static bool is_number(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] < '0' || s.at[i] > '9')
            return false;
    return true;
}

static bool join(const struct text_compound *compound, struct text_word *ret_joined)
{
    char joined[TEXT_COMPOUND_MAX_BYTES];
    struct str s = {joined, 0};
    bool has_letters = false;
    for (unsigned i = 0; i < compound->n; i++) {
        struct str part = compound->parts[i];
        if (s.n + part.n > sizeof joined)
            return false;
        memcpy(joined + s.n, part.at, part.n);
        s.n += part.n;
        has_letters = has_letters || !is_number(part);
    }
    return has_letters && text_next_word(&s, ret_joined) && s.n == 0;
}

bool text_compound_next(struct text_compound *compound, struct str here,
                        struct text_word *ret_joined)
{
    struct str last = compound->n > 0 ? compound->parts[compound->n - 1] : here;
    const char *end = last.at + last.n;
    bool is_part =
        compound->n > 0 && end < here.at && is_hyphen((struct str){end, (size_t)(here.at - end)});
    if (!is_part || compound->n == TEXT_PARTS_MAX)
        compound->n = 0;
    compound->parts[compound->n++] = here;
    if (compound->n < 2 || !join(compound, ret_joined))
        return false;
    ret_joined->here =
        (struct str){compound->parts[0].at, (size_t)(here.at + here.n - compound->parts[0].at)};
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
    if (s.n == 0 || *s.at == '\n' || *s.at == '\r' || *s.at == '#' || *s.at == '|' ||
        *s.at == '>' || str_has_prefix(s, STR("```")) || str_has_prefix(s, STR("~~~")))
        return true;
    return list_mark(s) > 0;
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
    size_t line_start = 0, i = 0;
    while (i < s.n && (unsigned char)s.at[i] < 0x80 && is_space((unsigned char)s.at[i]))
        i++;
    if (i < s.n && s.at[i] == '#') { /* a heading is a line: "# 4. Deposit" */
        const char *end = memchr(s.at + i, '\n', s.n - i);
        return end == NULL ? s.n : (size_t)(end - s.at) + 1;
    }
    i += list_mark(skip_bytes(s, i)); /* its full stop ends no sentence */
    for (size_t step; (step = text_char((struct str){s.at + i, s.n - i}, &c)) != 0; i += step) {
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
    struct folded c;
    bool is_gap = false, is_first = true;
    for (size_t step; (step = fold_next(s, &c)) != 0; s = skip_bytes(s, step)) {
        for (unsigned i = 0; i < c.n; i++) {
            char bytes[4];
            if (is_space(c.at[i])) {
                is_gap = true;
                continue;
            }
            if (is_gap && !is_first)
                buf_put_char(b, ' ');
            buf_put(b, (struct str){bytes, text_put_char(bytes, c.at[i])});
            is_gap = is_first = false;
        }
    }
}
