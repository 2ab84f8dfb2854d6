/* SPDX-License-Identifier: MIT
 * rules_words.c - the words of a request, for the rules (rules_internal.h): words, numbers, what
 * is in quotation marks, and signs. */
#include "services/engine/models/rules_internal.h"

#include "shared/text/fold.h"

static bool is_digits(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] < '0' || s.at[i] > '9')
            return false;
    return s.n > 0;
}

static bool begins_word(struct str s)
{
    uint32_t c;
    return text_char(s, &c) != 0 && (c == '_' || fold_is_word(c));
}

/* How many bytes of `s` are one word: "O'Brien", "2024-05-01" and "happened_on" are. */
static size_t word_bytes(struct str s)
{
    size_t n = 0;
    uint32_t c;
    while (n < s.n) {
        struct str rest = {s.at + n, s.n - n};
        size_t step = text_char(rest, &c);
        bool joins = n > 0 && (c == '-' || c == '.' || c == '\'' || c == 0x2019) &&
                     begins_word((struct str){rest.at + step, rest.n - step});
        if (!joins && c != '_' && !fold_is_word(c))
            break;
        n += step;
    }
    return n;
}

/* Something in quotation marks at the start of `s`: its bytes with the marks, 0 if there is none.
 * An apostrophe closes only where no letter follows. */
static size_t quoted_bytes(struct str s, struct str *ret_text)
{
    static const struct {
        struct str open, close;
    } marks[] = {{STR("\""), STR("\"")},         {STR("'"), STR("'")},
                 {STR("`"), STR("`")},           {STR("\u201c"), STR("\u201d")},
                 {STR("\u201e"), STR("\u201c")}, {STR("\u201e"), STR("\u201d")},
                 {STR("\u2018"), STR("\u2019")}, {STR("\u201a"), STR("\u2018")},
                 {STR("\u00ab"), STR("\u00bb")}, {STR("\u00bb"), STR("\u00ab")},
                 {STR("\u300c"), STR("\u300d")}};
    for (size_t m = 0; m < sizeof marks / sizeof *marks; m++) {
        struct str open = marks[m].open, close = marks[m].close;
        if (!str_has_prefix(s, open))
            continue;
        struct str rest = {s.at + open.n, s.n - open.n};
        const char *end = rest.at;
        while ((end = memmem(end, (size_t)(rest.at + rest.n - end), close.at, close.n)) != NULL) {
            struct str after = {end + close.n, (size_t)(rest.at + rest.n - end) - close.n};
            if (open.at[0] != '\'' || !begins_word(after)) {
                *ret_text = (struct str){rest.at, (size_t)(end - rest.at)};
                return (size_t)(after.at - s.at);
            }
            end = after.at;
        }
    }
    return 0;
}

static void read_stem(struct rules_word *word)
{
    struct str rest = word->here;
    struct text_word stem;
    word->stem_n = 0;
    if (word->kind != RULES_WORD || !text_next_word(&rest, &stem) || stem.here.n != word->here.n)
        return;
    memcpy(word->stem, stem.at, stem.n);
    word->stem_n = stem.n;
}

void rules_read_words(struct rules_words *words, struct str text)
{
    words->n = 0;
    words->has_long_values = false;
    words->rest = (struct str){text.at, 0};
    while (text.n > 0) {
        struct rules_word *word = &words->at[words->n];
        uint32_t c;
        size_t n = text_char(text, &c);
        if (c <= ' ' || c == 0xa0 || c == 0x3000) {
            text = (struct str){text.at + n, text.n - n};
            continue;
        }
        if (words->n == RULES_WORDS_MAX) {
            words->rest = text;
            return;
        }
        size_t quoted = quoted_bytes(text, &word->text), plain = word_bytes(text);
        word->kind = quoted > 0 ? RULES_QUOTED : plain > 0 ? RULES_WORD : RULES_SIGN;
        n = quoted > 0 ? quoted : plain > 0 ? plain : n;
        word->here = (struct str){text.at, n};
        if (quoted == 0)
            word->text = word->here;
        if (plain > 0 && is_digits(word->here))
            word->kind = RULES_NUMBER;
        read_stem(word);
        words->n++;
        text = (struct str){text.at + n, text.n - n};
    }
}

bool rules_is(const struct rules_words *words, size_t i, const char *const *list)
{
    if (i >= words->n || words->at[i].kind != RULES_WORD)
        return false;
    for (; *list != NULL; list++)
        if (str_eq_nocase(words->at[i].here, str_of(*list)))
            return true;
    return false;
}

bool rules_is_sign(const struct rules_words *words, size_t i, char sign)
{
    return i < words->n && words->at[i].kind == RULES_SIGN && words->at[i].here.n == 1 &&
           words->at[i].here.at[0] == sign;
}

size_t rules_match(const struct rules_words *words, size_t i, struct str name)
{
    struct text_word part;
    size_t n = 0;
    if (i >= words->n || words->at[i].kind != RULES_WORD)
        return 0;
    if (str_eq_nocase(words->at[i].here, name))
        return 1;
    for (; text_next_word(&name, &part); n++) {
        if (i + n >= words->n)
            return 0;
        const struct rules_word *word = &words->at[i + n];
        if (!str_eq((struct str){word->stem, word->stem_n}, (struct str){part.at, part.n}))
            return 0;
    }
    return n;
}

bool rules_take_value(const struct rules_words *words, size_t *i, struct str *ret_value)
{
    static const char *const parting[] = {"and", "or", "but", "not", NULL};
    static const char *const next[] = {"sorted", "sort",   "ordered", "order", "limit",
                                       "with",   "where",  "whose",   "that",  "which",
                                       "by",     "newest", "oldest",  NULL};
    size_t first = *i, end = first;
    if (first >= words->n)
        return false;
    if (words->at[first].kind == RULES_QUOTED) {
        *ret_value = words->at[first].text;
        *i = first + 1;
        return true;
    }
    while (end < words->n &&
           (words->at[end].kind == RULES_NUMBER || words->at[end].kind == RULES_WORD) &&
           !rules_is(words, end, parting) &&
           (words->has_long_values || !rules_is(words, end, next)))
        end++;
    if (end == first)
        return false;
    const struct rules_word *last = &words->at[end - 1];
    ret_value->at = words->at[first].here.at;
    ret_value->n = (size_t)(last->here.at + last->here.n - ret_value->at);
    *i = end;
    return true;
}
