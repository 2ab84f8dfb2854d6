/* SPDX-License-Identifier: MIT
 * pdf_hyphens.c - see pdf_hyphens.h. */
#include "shared/extract/pdf_hyphens.h"

#include "shared/base/mem.h"
#include "shared/extract/pdf_characters.h"
#include "shared/text/fold.h"
#include "shared/text/text.h"

/* Shorter halves of a parted word are words by chance. */
enum { KNOWN_MIN = 64, WORD_MAX_BYTES = 200, HALF_MIN_BYTES = 4 };

static bool is_hyphen(uint32_t c)
{
    return c == '-' || c == 0xad || c == 0x2010;
}

/* Without the signs around it. */
static struct str core_of(struct str word)
{
    uint32_t c;
    size_t step;
    while ((step = text_char(word, &c)) > 0 && !fold_is_word(c))
        word = (struct str){word.at + step, word.n - step};
    while (word.n > 0 && !fold_is_word(pdf_last_character(word)))
        word.n = text_floor(word, word.n - 1);
    return word;
}

static uint64_t hash_of(struct str word)
{
    uint64_t hash = text_hash(word, 0);
    return hash == 0 ? 1 : hash;
}

static bool is_known(const struct pdf_hyphens *hyphens, struct str word)
{
    uint64_t hash = hash_of(word);
    for (uint64_t at = hash & hyphens->mask; hyphens->known[at] != 0; at = (at + 1) & hyphens->mask)
        if (hyphens->known[at] == hash)
            return true;
    return false;
}

static void put(struct pdf_hyphens *hyphens, struct str word)
{
    uint64_t hash = hash_of(word), at = hash & hyphens->mask;
    while (hyphens->known[at] != 0 && hyphens->known[at] != hash)
        at = (at + 1) & hyphens->mask;
    hyphens->known[at] = hash;
}

/* Does a line end with a hyphen? */
static bool is_parted(const struct pdf_words *words, uint32_t line)
{
    return is_hyphen(pdf_last_character(pdf_last(words, &words->lines[line])->text));
}

/* Puts the words of a line without halves of words. */
static void put_line(struct pdf_hyphens *hyphens, const struct pdf_words *words,
                     const struct pdf_line *line, bool begins_with_half)
{
    for (uint32_t i = begins_with_half; i < line->word_n; i++) {
        struct str text = words->words[line->word + i].text, word = core_of(text);
        bool is_half = i + 1 == line->word_n && is_hyphen(pdf_last_character(text));
        if (word.n > 0 && !is_half)
            put(hyphens, word);
    }
}

void pdf_hyphens_init(struct pdf_hyphens *hyphens, const struct pdf_words *words)
{
    uint64_t room = KNOWN_MIN;
    while (room < (uint64_t)words->word_n * 2)
        room *= 2;
    *hyphens =
        (struct pdf_hyphens){.known = mem_zeroed_n(room, sizeof *hyphens->known), .mask = room - 1};
    for (uint32_t i = 0; i < words->line_n; i++)
        put_line(hyphens, words, &words->lines[i], i > 0 && is_parted(words, i - 1));
}

void pdf_hyphens_fini(struct pdf_hyphens *hyphens)
{
    free(hyphens->known);
    *hyphens = (struct pdf_hyphens){0};
}

static bool is_one_of(struct str word, const char *const *words)
{
    for (; *words != NULL; words++)
        if (str_eq_nocase(word, str_of(*words)))
            return true;
    return false;
}

/* "Ein- und Ausgang": the hyphen stands for the rest of the word that comes after it. */
static bool is_and(struct str word)
{
    static const char *const words[] = {"und", "oder", "bzw.", "and", "or", "to", "et",
                                        "ou",  "y",    "e",    "en",  "of", NULL};
    return is_one_of(word, words);
}

/* "wellness" and "selfishness" are no compounds. */
static bool is_suffix(struct str end)
{
    static const char *const starts[] = {"ness", "less", "ish", "ing", "hood", "fold", NULL};
    for (const char *const *start = starts; *start != NULL; start++)
        if (str_has_prefix(end, str_of(*start)))
            return true;
    return end.n < HALF_MIN_BYTES;
}

/* English writes hyphens after these words and before those: they hardly ever begin, or end, a word
 * that is written as one. */
static bool is_english_compound(struct str start, struct str end)
{
    static const char *const starts[] = {"well", "self", "half", "two", "three", "double", NULL},
                             *const ends[] = {
                                 "approved",    "aware",  "based",    "compatible", "defined",
                                 "dimensional", "driven", "free",     "friendly",   "headed",
                                 "independent", "known",  "level",    "minded",     "order",
                                 "oriented",    "owned",  "purpose",  "quality",    "related",
                                 "sensitive",   "shaped", "specific", "supervised", "term",
                                 "tuned",       "valued", NULL};
    return (is_one_of(start, starts) && !is_suffix(end)) ||
           (start.n >= HALF_MIN_BYTES && is_one_of(end, ends));
}

/* Is `start`, `middle` and `end` in one a word of the document? */
static bool is_known_as(const struct pdf_hyphens *hyphens, struct str start, const char *middle,
                        struct str end)
{
    char word[WORD_MAX_BYTES];
    size_t n = strlen(middle);
    if (start.n + n + end.n > sizeof word)
        return false;
    memcpy(word, start.at, start.n);
    memcpy(word + start.n, middle, n);
    memcpy(word + start.n + n, end.at, end.n);
    return is_known(hyphens, (struct str){word, start.n + n + end.n});
}

enum pdf_join pdf_hyphens_join(const struct pdf_hyphens *hyphens, struct str last, struct str first)
{
    uint32_t hyphen = pdf_last_character(last), next = pdf_first_character(first);
    if (pdf_is_ideograph(hyphen) && pdf_is_ideograph(next))
        return PDF_JOIN_NONE;
    if (!is_hyphen(hyphen) || !fold_is_word(next))
        return PDF_JOIN_SPACE;
    struct str start = {last.at, text_floor(last, last.n - 1)};
    if (hyphen == 0xad)
        return PDF_JOIN_WORD;
    uint32_t before = pdf_last_character(start);
    if (!fold_is_word(before) || is_and(first))
        return PDF_JOIN_SPACE;
    start = core_of(start);
    struct str end = core_of(first);
    if (is_known_as(hyphens, start, "", end))
        return PDF_JOIN_WORD;
    if (!pdf_is_lower(next) || !pdf_is_lower(before))
        return PDF_JOIN_COMPOUND;
    bool are_words = start.n >= HALF_MIN_BYTES && end.n >= HALF_MIN_BYTES &&
                     is_known(hyphens, start) && is_known(hyphens, end);
    return are_words || is_english_compound(start, end) || is_known_as(hyphens, start, "-", end) ||
                   memchr(start.at, '-', start.n) != NULL
               ? PDF_JOIN_COMPOUND
               : PDF_JOIN_WORD;
}
