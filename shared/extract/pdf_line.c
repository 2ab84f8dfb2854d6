/* SPDX-License-Identifier: MIT
 * pdf_line.c - see pdf_line.h. */
#include "shared/extract/pdf_line.h"

#include "shared/extract/pdf_characters.h"
#include "shared/text/fold.h"
#include "shared/text/text.h"

enum { LEADER_DOTS = 4, SCRIPT_MAX_BYTES = 6 };

#define SPACE_SHARE 0.07F /* of the height: so far apart are two words; poppler takes 0.1 em */
#define SMALL_SHARE 0.85F /* the height of what is raised or lowered */
#define MOVED_SHARE 0.08F /* and how far its line is from the other's */
#define LINE_SHARE 0.22F  /* the part of a word's box below its base line */

/* ---- rows of dots ---- */

/* Length of the dots at the front of `s`, and how many. */
static size_t dots_length(struct str s, uint32_t *ret_n)
{
    size_t n = 0, step;
    uint32_t c, dot_n = 0;
    while ((step = text_char((struct str){s.at + n, s.n - n}, &c)) > 0 &&
           (c == '.' || c == 0x2026 || c == 0xb7 || c == '_' || c == 0x2024)) {
        n += step;
        dot_n += c == 0x2026 ? 3 : 1;
    }
    *ret_n = dot_n;
    return n;
}

/* Returns how many words from number `i` on are one row of dots; 0 when they are none. */
static uint32_t leader_words(const struct pdf_words *w, uint32_t i, uint32_t end)
{
    uint32_t dot_n = 0, n, first = i;
    for (; i < end && dots_length(w->words[i].text, &n) == w->words[i].text.n; i++)
        dot_n += n;
    return dot_n >= LEADER_DOTS ? i - first : 0;
}

/* Is a row of dots within the word, after its first character? */
static bool has_dots(struct str word)
{
    uint32_t n, c;
    size_t step = text_char(word, &c);
    for (; step > 0 && step < word.n; step = text_char(word, &c)) {
        word = (struct str){word.at + step, word.n - step};
        if (dots_length(word, &n) > 0 && n >= LEADER_DOTS)
            return true;
    }
    return false;
}

bool pdf_has_leader(const struct pdf_words *w, const struct pdf_line *line)
{
    uint32_t end = line->word + line->word_n;
    for (uint32_t i = line->word; i < end; i++)
        if ((i > line->word && leader_words(w, i, end) > 0) || has_dots(w->words[i].text))
            return true;
    return false;
}

void pdf_put_space(struct buf *text)
{
    if (text->n == 0 || text->at[text->n - 1] != ' ')
        buf_put_char(text, ' ');
}

/* Puts a word; a row of dots within it becomes a space. */
static void put_word(struct buf *text, struct str word)
{
    size_t from = 0;
    for (size_t at = 0; at < word.n; at++) {
        uint32_t n;
        size_t length = dots_length((struct str){word.at + at, word.n - at}, &n);
        if (n < LEADER_DOTS) {
            at += length > 0 ? length - 1 : 0;
            continue;
        }
        pdf_put_characters(text, (struct str){word.at + from, at - from});
        pdf_put_space(text);
        from = at + length;
        at = from - 1;
    }
    pdf_put_characters(text, (struct str){word.at + from, word.n - from});
}

/* ---- raised and lowered ---- */

static bool is_script(struct str word)
{
    size_t at = 0;
    if (str_has_prefix(word, STR("−")))
        at = 3;
    else if (word.n > 0 && (*word.at == '-' || *word.at == '+'))
        at = 1;
    bool has_digit = at < word.n;
    for (; at < word.n; at++)
        has_digit &= word.at[at] >= '0' && word.at[at] <= '9';
    return has_digit && word.n <= SCRIPT_MAX_BYTES;
}

/* The base line of a word of that box. */
static float foot(const struct pdf_box *box)
{
    return box->y1 - LINE_SHARE * (box->y1 - box->y0);
}

/* Is it one letter, as of a variable? After others a lowered number is part of a name: CO2. */
static bool is_variable(struct str word)
{
    uint32_t c;
    return text_char(word, &c) == word.n && fold_is_word(c);
}

/* "^" or "_" when `next` is a small number that is higher or lower than `before`, right after it; 0
 * otherwise. */
static char script_of(const struct pdf_word *before, const struct pdf_word *next)
{
    float height = before->box.y1 - before->box.y0, small = next->box.y1 - next->box.y0;
    float up = foot(&before->box) - foot(&next->box), apart = next->box.x0 - before->box.x1;
    if (!is_script(next->text) || small > SMALL_SHARE * height || apart > height / 4 ||
        !fold_is_word(pdf_last_character(before->text)))
        return 0;
    if (up > MOVED_SHARE * height)
        return '^';
    return up < -MOVED_SHARE * height && is_variable(before->text) ? '_' : 0;
}

/* ---- from right to left ---- */

static bool is_rtl_word(struct str word)
{
    uint32_t c;
    for (size_t step; (step = text_char(word, &c)) > 0;
         word = (struct str){word.at + step, word.n - step})
        if (pdf_is_rtl(c))
            return true;
    return false;
}

static bool is_rtl_line(const struct pdf_words *w, const struct pdf_line *line)
{
    uint32_t rtl_n = 0;
    for (uint32_t i = line->word; i < line->word + line->word_n; i++)
        rtl_n += is_rtl_word(w->words[i].text);
    return rtl_n * 2 > line->word_n;
}

/* The words from the right; what is read from the left within them stays so. */
static void put_rtl_line(struct buf *text, const struct pdf_words *w, const struct pdf_line *line,
                         uint32_t from)
{
    uint32_t done = 0;
    for (uint32_t left = line->word_n, run; left > 0; left -= run) {
        uint32_t end = line->word + left;
        for (run = 1; run < left && !is_rtl_word(w->words[end - run].text) &&
                      !is_rtl_word(w->words[end - run - 1].text);)
            run++;
        for (uint32_t i = end - run; i < end; i++, done++) {
            struct str word = w->words[i].text;
            if (done < from)
                continue;
            if (done > from)
                buf_put_char(text, ' ');
            if (is_rtl_word(word))
                pdf_put_turned(text, word);
            else
                pdf_put_characters(text, word);
        }
    }
}

/* ---- lines ---- */

/* How far apart are two stretches of a line? Less than 0 when one covers the other. */
static float gap_of(float from, float to, float other_from, float other_to)
{
    return other_from - to > from - other_to ? other_from - to : from - other_to;
}

/* Is there room between two words of a line? It may run in any direction. */
static bool is_apart(const struct pdf_line *line, const struct pdf_box *a, const struct pdf_box *b)
{
    if (line->is_turned)
        return gap_of(a->y0, a->y1, b->y0, b->y1) > SPACE_SHARE * pdf_width(a);
    return gap_of(a->x0, a->x1, b->x0, b->x1) > SPACE_SHARE * line->height;
}

void pdf_put_line(struct buf *text, const struct pdf_words *w, const struct pdf_line *line,
                  uint32_t from)
{
    uint32_t end = line->word + line->word_n;
    if (is_rtl_line(w, line)) {
        put_rtl_line(text, w, line, from);
        return;
    }
    for (uint32_t i = line->word + from, dots; i < end; i++) {
        const struct pdf_word *word = &w->words[i];
        char script = i > line->word + from && !line->is_turned ? script_of(word - 1, word) : 0;
        if (script != 0)
            buf_put_char(text, script);
        else if (i > line->word + from && is_apart(line, &word[-1].box, &word->box))
            pdf_put_space(text);
        dots = i > line->word ? leader_words(w, i, end) : 0;
        i += dots; /* the space is there already */
        if (i < end)
            put_word(text, w->words[i].text);
    }
}
