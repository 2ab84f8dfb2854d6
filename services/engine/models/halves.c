/* SPDX-License-Identifier: MIT
 * halves.c - see halves.h. A question is cut after a question mark, and before an "and" (or a
 * comma) that a question word follows: "a lease and a heartbeat" stays whole. */
#include "services/engine/models/halves.h"

#include "shared/text/text.h"

enum { FOLDED_MAX_BYTES = 64, QUESTION_MAX_BYTES = 8 << 10 /* longer ones are texts */ };

/* clang-format off */
/* In lower case, without marks. */
static const char *const joints[] = {
    "and", "und", "et", "y", "e", "i", "og", "och", "en", "и", "та", "also", "&", "plus", "sowie",
    "ainsi", NULL};
static const char *const question_words[] = {
    "who", "whom", "whose", "what", "when", "where", "which", "why", "how", "what's", "who's",
    "wer", "wen", "wem", "wessen", "was", "wann", "wo", "wohin", "woher", "welche", "welcher",
    "welches", "welchen", "welchem", "warum", "wieso", "weshalb", "wie", "wieviel", "womit",
    "wofür", "qui", "que", "quoi", "quand", "où", "quel", "quelle", "quels", "quelles",
    "pourquoi", "comment", "combien", "qu'est-ce", "quién", "quiénes", "qué", "cuándo", "dónde",
    "adónde", "cuál", "cuáles", "cómo", "cuánto", "cuánta", "cuántos", "cuántas", "quien",
    "cuando", "donde", "cual", "cuanto", "chi", "che", "cosa", "quando", "dove", "quale", "quali",
    "perché", "come", "quanto", "quanta", "quanti", "quante", "quem", "onde", "qual", "quais",
    "porque", "como", "quantos", "quantas", "wie", "wat", "wanneer", "waar", "welke", "welk",
    "waarom", "hoe", "hoeveel", "hvem", "hva", "hvad", "når", "hvornår", "hvor", "hvorfor",
    "hvordan", "vem", "vad", "när", "var", "varför", "hur", "kto", "co", "kiedy", "gdzie",
    "który", "dlaczego", "jak", "ile", "кто", "что", "когда", "где", "куда", "какой", "какая",
    "какие", "почему", "как", "сколько", "зачем", NULL};
/* clang-format on */

static bool is_listed(struct str word, const char *const *list)
{
    char at[FOLDED_MAX_BYTES];
    struct buf b;
    size_t n;
    while (word.n > 0 && strchr(",.!?;:", word.at[word.n - 1]) != NULL)
        word.n--;
    while (str_has_prefix(word, STR("¿")))
        word = (struct str){word.at + 2, word.n - 2};
    if (word.n == 0 || word.n > sizeof at / 2)
        return false;
    buf_init(&b, sizeof at * 2);
    text_put_normal(&b, word);
    n = b.n < sizeof at ? b.n : 0;
    memcpy(at, b.at, n);
    buf_fini(&b);
    for (; *list != NULL; list++)
        if (str_eq((struct str){at, n}, str_of(*list)))
            return true;
    return false;
}

static bool has_word_to_look_for(struct str text)
{
    struct text_word word;
    while (text_next_word(&text, &word))
        if (!word.is_stop)
            return true;
    return false;
}

/* --- words ------------------------------------------------------------------------------------ */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The next run of bytes without white space. */
static bool next_word(struct str *rest, struct str *ret_word)
{
    size_t n = 0;
    *rest = str_trim(*rest);
    while (n < rest->n && !is_space(rest->at[n]))
        n++;
    *ret_word = (struct str){rest->at, n};
    rest->at += n;
    rest->n -= n;
    return n > 0;
}

static bool ends_with(struct str word, const char *mark)
{
    struct str end = str_of(mark);
    return word.n >= end.n && memcmp(word.at + word.n - end.n, end.at, end.n) == 0;
}

static bool ends_question(struct str word)
{
    return ends_with(word, "?") || ends_with(word, "؟") || ends_with(word, "？");
}

static bool ends_clause(struct str word)
{
    return ends_with(word, ",") || ends_with(word, ";") || ends_with(word, "،");
}

/* Where a CJK text continues after a question mark within a word; 0: there is none. */
static size_t find_mark_within(struct str word)
{
    static const char mark[] = "？";
    const char *at = memmem(word.at, word.n, mark, sizeof mark - 1);
    size_t end = at == NULL ? 0 : (size_t)(at - word.at) + sizeof mark - 1;
    return end < word.n ? end : 0;
}

/* --- cutting ---------------------------------------------------------------------------------- */

struct cutting {
    struct str *halves;
    size_t n;
    const char *begin; /* of the part at hand */
};

/* Ends the part at hand at `end` when it has something to look for; else it continues. */
static void cut(struct cutting *c, const char *end, const char *next)
{
    struct str half = str_trim((struct str){c->begin, (size_t)(end - c->begin)});
    if (c->n + 1 >= HALVES_MAX || !has_word_to_look_for(half))
        return;
    c->halves[c->n++] = half;
    c->begin = next;
}

size_t halves_of(struct str question, struct str ret_halves[HALVES_MAX])
{
    struct str whole = str_trim(question), rest = whole, word, last = {NULL, 0};
    struct cutting c = {.halves = ret_halves, .begin = whole.at};
    bool is_after_joint = false;
    while (whole.n <= QUESTION_MAX_BYTES && next_word(&rest, &word)) {
        size_t within = find_mark_within(word);
        if (within > 0) {
            rest = (struct str){word.at + within, rest.n + word.n - within};
            word.n = within;
        }
        bool asks = is_listed(word, question_words);
        if (last.n > 0 && ends_question(last))
            cut(&c, word.at, word.at);
        else if (asks && (is_after_joint || (last.n > 0 && ends_clause(last))))
            cut(&c, last.at + (is_after_joint ? 0 : last.n), word.at);
        is_after_joint = is_listed(word, joints);
        last = word;
    }
    struct str end = {c.begin, (size_t)(whole.at + whole.n - c.begin)};
    if (has_word_to_look_for(end))
        c.halves[c.n++] = str_trim(end);
    else if (c.n > 0) /* "Thanks?" and the like belong to what is before them */
        c.halves[c.n - 1].n = (size_t)(whole.at + whole.n - c.halves[c.n - 1].at);
    else
        c.halves[c.n++] = whole;
    return c.n;
}
