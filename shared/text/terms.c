/* SPDX-License-Identifier: MIT
 * terms.c - see terms.h. Misspelt words count only for terms that no text at hand holds otherwise,
 * so that a word of the texts is never taken for a slip of another.
 *
 * The work for one word of a text is bounded: TERMS_MAX terms of TERM_MAX_CHARS characters. */
#include "shared/text/terms.h"

#include "shared/text/fold.h"
#include "shared/text/stop_words.h"

enum {
    WORDS_READ_MAX = 1000,
    NORMAL_MAX_BYTES = 64,
};
static const double weak_weight = 0.3, small_number_weight = 0.5, context_part = 0.5;

/* --- words ------------------------------------------------------------------------------------ */

/* English endings with an apostrophe: the word is before it, not behind. */
static bool is_english_ending(struct str s)
{
    static const char *const endings[] = {"s", "t", "d", "m", "ll", "ve", "re", NULL};
    for (const char *const *ending = endings; *ending != NULL; ending++)
        if (str_eq_nocase(s, str_of(*ending)))
            return true;
    return false;
}

/* The part of a word with an apostrophe that says something: "engine" of "engine's", "eau" of
 * "l'eau". */
static struct str without_elision(struct str word)
{
    for (size_t i = 1; i + 1 < word.n; i++) {
        size_t n = word.at[i] == '\'' ? 1 : 0;
        if (i + 3 < word.n && memcmp(word.at + i, "\xe2\x80\x99", 3) == 0)
            n = 3;
        struct str after = {word.at + i + n, word.n - i - n};
        if (n > 0)
            return is_english_ending(after) ? (struct str){word.at, i} : after;
    }
    return word;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The word with what belongs to it as a number: "11,600" and "2.4" are one each. */
static struct str whole_number(struct str word, struct str *rest)
{
    struct text_word next;
    for (size_t i = 0; i < word.n; i++)
        if (!is_digit(word.at[i]))
            return word;
    while (rest->n > 1 && rest->at == word.at + word.n && strchr(".,", *rest->at) != NULL &&
           *rest->at != 0 && is_digit(rest->at[1]) && text_next_word(rest, &next))
        word.n = (size_t)(next.here.at + next.here.n - word.at);
    return word;
}

static void read_word(const struct text_word *word, struct term_word *ret_word)
{
    struct str chars = {word->at, word->n};
    uint32_t c;
    *ret_word = (struct term_word){
        .hash = text_hash(chars, 0), .key = text_word_key(word), .here = word->here};
    for (size_t step; ret_word->n < TERM_MAX_CHARS && (step = text_char(chars, &c)) != 0;
         chars.at += step, chars.n -= step) {
        if (fold_bare(c) != 0)
            ret_word->chars[ret_word->n++] = fold_bare(c);
        ret_word->is_code |= is_digit((char)c) && c < 0x80;
    }
}

bool terms_next_word(struct str *rest, struct term_word *ret_word)
{
    struct text_word word;
    if (!text_next_word(rest, &word))
        return false;
    struct str here = word.here, part = without_elision(here), number = whole_number(here, rest);
    if (number.n > here.n) {
        *ret_word =
            (struct term_word){.hash = text_hash(number, 0), .here = number, .is_code = true};
        ret_word->key = ret_word->hash;
        for (size_t i = 0; i < number.n && ret_word->n < TERM_MAX_CHARS; i++)
            ret_word->chars[ret_word->n++] = (unsigned char)number.at[i];
        return true;
    }
    if (part.n < here.n)
        (void)text_next_word(&part, &word);
    read_word(&word, ret_word);
    return true;
}

/* In which languages a word says little, and in which it need not be in an answer. */
struct saying {
    unsigned stop, weak;
};

static struct saying saying_of(const struct term_word *word)
{
    struct buf normal;
    buf_init(&normal, NORMAL_MAX_BYTES);
    text_put_normal(&normal, word->here);
    struct str text = normal.is_over ? STR("") : buf_str(&normal);
    struct saying saying = {.stop = stop_words_languages(text), .weak = stop_words_weak(text)};
    buf_fini(&normal);
    return saying;
}

/* The language whose list knows most of the text's words; the first of equals. */
static unsigned language_of(struct str text)
{
    unsigned counts[STOP_LANGUAGE_NR] = {0}, best = 0, read_n = 0;
    struct term_word word;
    while (read_n++ < WORDS_READ_MAX && terms_next_word(&text, &word)) {
        struct saying saying = saying_of(&word);
        unsigned languages = saying.stop | saying.weak;
        for (unsigned i = 0; i < STOP_LANGUAGE_NR; i++)
            counts[i] += languages >> i & 1;
    }
    for (unsigned i = 1; i < STOP_LANGUAGE_NR; i++)
        if (counts[i] > counts[best])
            best = i;
    return best;
}

/* Numbers of one or two digits are everywhere. */
static bool is_small_number(const struct term_word *word)
{
    for (unsigned i = 0; i < word->n; i++)
        if (word->chars[i] < '0' || word->chars[i] > '9')
            return false;
    return word->n <= 2;
}

static bool is_capital(struct str word)
{
    uint32_t c = 0;
    (void)text_char(word, &c);
    return (c >= 'A' && c <= 'Z') || (c >= 0xc0 && c <= 0xde && c != 0xd7) ||
           (c >= 0x391 && c <= 0x3ab) || (c >= 0x400 && c <= 0x42f);
}

/* Returns whether two words of one text are next to each other, with nothing but signs of a name
 * between them. */
static bool are_beside(struct str a, struct str b)
{
    for (const char *at = a.at + a.n; at < b.at; at++)
        if (strchr(" .-'", *at) == NULL || *at == 0)
            return false;
    return true;
}

static bool is_ideograph(const struct term_word *word)
{
    return word->n == 1 && word->chars[0] >= 0x3400;
}

/* Hiragana write what English has stop words for. */
static bool is_hiragana(const struct term_word *word)
{
    return word->n == 1 && word->chars[0] >= 0x3041 && word->chars[0] <= 0x309f;
}

/* Returns whether the word is a number. */
static bool is_number(const struct term_word *word)
{
    return word->n > 0 && is_digit((char)word->chars[0]) && word->chars[0] < 0x80;
}

/* "Ada Lovelace" is one name, and so is "Nova 130". */
static bool is_one_name(const struct term *a, const struct term *b)
{
    if (is_ideograph(&a->word) && is_ideograph(&b->word))
        return a->word.here.at + a->word.here.n == b->word.here.at;
    bool is_model = is_number(&b->word) &&
                    b->word.here.at == a->word.here.at + a->word.here.n + 1 &&
                    b->word.here.at[-1] == ' ';
    return is_capital(a->word.here) && (is_capital(b->word.here) || is_model) &&
           are_beside(a->word.here, b->word.here);
}

/* A name of several words says who or what is meant, and no more than a name of one word: they
 * share its weight. So do the characters of a Chinese or Japanese word. */
static void weigh_names(struct terms *terms, size_t from)
{
    for (size_t i = from, end; i < terms->n; i = end) {
        for (end = i + 1; end < terms->n; end++)
            if (!is_one_name(&terms->at[end - 1], &terms->at[end]))
                break;
        for (size_t k = i; k < end; k++) {
            terms->at[k].weight /= (double)(end - i);
            terms->at[k].is_name = end - i > 1 && !is_ideograph(&terms->at[k].word);
        }
    }
}

static size_t place_of(const struct terms *terms, uint64_t hash)
{
    size_t i = 0;
    while (i < terms->n && terms->at[i].word.hash != hash)
        i++;
    return i;
}

/* A text with "email" has both words of a question with "e-mail". */
static void note_compound(struct terms *terms, struct text_compound *compound,
                          const struct term_word *word)
{
    struct text_word joined;
    if (!text_compound_next(compound, word->here, &joined) ||
        terms->compound_n == TERM_COMPOUNDS_MAX)
        return;
    struct term_compound *noted = &terms->compounds[terms->compound_n++];
    *noted = (struct term_compound){.key = text_word_key(&joined)};
    for (size_t i = 0; i < terms->n; i++) {
        const char *at = terms->at[i].word.here.at;
        if (at >= joined.here.at && at < joined.here.at + joined.here.n)
            noted->parts |= 1u << i;
    }
}

/* Skips a phrase that says little, if the word begins one; `rest` is what comes after the word. */
static bool skip_phrase(struct str word, struct str *rest)
{
    struct str from = {word.at, (size_t)(rest->at + rest->n - word.at)};
    size_t n = stop_words_phrase(from);
    if (n > 0)
        *rest = (struct str){from.at + n, from.n - n};
    return n > 0;
}

static void add_terms(struct terms *terms, struct str text)
{
    unsigned language = language_of(text), read_n = 0;
    size_t from = terms->n;
    struct term_word word;
    struct text_compound compound = {.n = 0};
    while (terms->n < TERMS_MAX && read_n++ < WORDS_READ_MAX && terms_next_word(&text, &word)) {
        if (skip_phrase(word.here, &text))
            continue;
        struct saying saying = saying_of(&word);
        bool is_known = (saying.stop >> language & 1) != 0 || is_hiragana(&word);
        is_known = is_known || place_of(terms, word.hash) < terms->n;
        bool is_weak = (saying.weak >> language & 1) != 0;
        if (!is_known)
            terms->at[terms->n++] =
                (struct term){.word = word,
                              .weight = is_weak                  ? weak_weight
                                        : is_small_number(&word) ? small_number_weight
                                                                 : 1,
                              .is_weak = is_weak};
        note_compound(terms, &compound, &word);
    }
    weigh_names(terms, from);
}

void terms_read(struct terms *terms, struct str question, struct str context)
{
    double own, all;
    terms->n = terms->compound_n = 0;
    add_terms(terms, question);
    terms->own_n = terms->n;
    own = terms_weight(terms);
    add_terms(terms, context);
    all = terms_weight(terms);
    for (size_t i = terms->own_n; i < terms->n && own > 0; i++)
        terms->at[i].weight *= context_part * own / (all - own);
}

/* --- texts ------------------------------------------------------------------------------------ */

void terms_learn(struct terms *terms, struct str text)
{
    struct term_word word;
    while (terms_next_word(&text, &word))
        for (size_t i = 0; i < terms->n; i++)
            terms->at[i].is_spelt =
                terms->at[i].is_spelt || likeness_of(&terms->at[i].word, &word) >= LIKENESS_FORM;
}

static void raise_to(float *found, float value)
{
    if (value > *found)
        *found = value;
}

static void match_word(const struct terms *terms, const struct term_word *word, float most,
                       struct terms_found *found)
{
    for (size_t i = 0; i < terms->n; i++) {
        const struct term *term = &terms->at[i];
        float like = likeness_of(&term->word, word);
        if (like < LIKENESS_TYPO && !term->is_spelt && !term->word.is_code && !word->is_code &&
            likeness_is_misspelt(&term->word, word))
            like = LIKENESS_TYPO;
        raise_to(&found->at[i], like * most);
    }
    for (size_t k = 0; k < terms->compound_n; k++)
        for (size_t i = 0; terms->compounds[k].key == word->key && i < terms->n; i++)
            if ((terms->compounds[k].parts >> i & 1) != 0)
                raise_to(&found->at[i], LIKENESS_BARE * most);
}

size_t terms_match(const struct terms *terms, struct str text, float most,
                   struct terms_found *found)
{
    struct term_word word;
    struct text_word joined;
    struct text_compound compound = {.n = 0};
    size_t words = 0;
    for (; terms_next_word(&text, &word); words++) {
        match_word(terms, &word, most, found);
        if (text_compound_next(&compound, word.here, &joined)) {
            read_word(&joined, &word);
            match_word(terms, &word, LIKENESS_BARE * most, found);
        }
    }
    return words;
}

bool terms_has_codes(const struct terms *terms, const struct terms_found *found)
{
    for (size_t i = 0; i < terms->own_n; i++)
        if (terms->at[i].word.is_code && terms->at[i].word.n > 1 && !(found->at[i] > 0))
            return false;
    return true;
}

bool terms_agree(const struct terms *terms, const struct terms_found *found)
{
    bool has_word = false, has_name = false;
    const float *asked = NULL;
    for (size_t i = 0; i < terms->n; i++) {
        const struct term_word *word = &terms->at[i].word;
        has_word = has_word || (found->at[i] > 0 && !is_small_number(word));
        has_name = has_name || (i < terms->own_n && terms->at[i].is_name);
        if (asked == NULL && i < terms->own_n && !terms->at[i].is_name && !terms->at[i].is_weak)
            asked = &found->at[i];
    }
    bool is_named = !has_name;
    for (size_t i = 0; i < terms->own_n; i++)
        is_named = is_named ||
                   (terms->at[i].is_name && found->at[i] > 0 && !is_number(&terms->at[i].word));
    return has_word && is_named && terms_has_codes(terms, found) &&
           !(has_name && asked != NULL && !(*asked > 0));
}

double terms_weight(const struct terms *terms)
{
    double weight = 0;
    for (size_t i = 0; i < terms->n; i++)
        weight += terms->at[i].weight;
    return weight;
}

double terms_weigh(const struct terms *terms, const struct terms_found *found)
{
    double weight = 0;
    for (size_t i = 0; i < terms->n; i++)
        weight += terms->at[i].weight * (double)found->at[i];
    return weight;
}
