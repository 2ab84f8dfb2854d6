/* SPDX-License-Identifier: MIT
 * annex_words.c - see annex_words.h. */
#include "services/bots/rooms/annex_words.h"

#include "services/bots/bots.h"
#include "services/bots/rooms/mentions.h"
#include "services/bots/skeleton.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(struct str *rest)
{
    while (rest->n > 0 && is_space(rest->at[0]))
        *rest = (struct str){rest->at + 1, rest->n - 1};
}

static struct str take_word(struct str *rest)
{
    size_t n = 0;
    while (n < rest->n && !is_space(rest->at[n]))
        n++;
    struct str word = {rest->at, n};
    *rest = (struct str){rest->at + n, rest->n - n};
    return word;
}

/* The rest begins with the quote. False: it does not end. */
static bool take_quoted(struct str *rest, struct str *ret_word)
{
    const char *end = memchr(rest->at + 1, '"', rest->n - 1);
    if (end == NULL)
        return false;
    *ret_word = (struct str){rest->at + 1, (size_t)(end - rest->at) - 1};
    *rest = (struct str){end + 1, rest->n - ret_word->n - 2};
    return true;
}

struct str annex_words_next(struct str *rest)
{
    skip_space(rest);
    return take_word(rest);
}

/* Finds what follows the mention of the main bot, or takes all of it. */
static bool find_rest(struct str text, bool is_tagged, struct str *ret_rest)
{
    struct str names[MENTIONS_MAX];
    size_t n = mentions_find(text, names, MENTIONS_MAX);
    for (size_t i = 0; i < n; i++)
        if (skeleton_is_same(names[i], BOTS_ANNEX)) {
            const char *end = names[i].at + names[i].n;
            *ret_rest = (struct str){end, text.n - (size_t)(end - text.at)};
            return true;
        }
    *ret_rest = text;
    return is_tagged;
}

static void read_arguments(struct str rest, struct annex_words *words)
{
    for (skip_space(&rest); rest.n > 0; skip_space(&rest)) {
        size_t i = words->n;
        if (i == ANNEX_WORDS_MAX || (rest.at[0] == '"' && !take_quoted(&rest, &words->words[i]))) {
            words->is_over = true;
            return;
        }
        words->is_quoted[i] = words->words[i].at != NULL;
        if (!words->is_quoted[i])
            words->words[i] = take_word(&rest);
        words->n++;
    }
}

bool annex_words_read(struct str text, bool is_tagged, struct annex_words *ret_words)
{
    struct str rest, word;
    *ret_words = (struct annex_words){.name = STR("")};
    if (!find_rest(text, is_tagged, &rest))
        return false;
    while ((word = annex_words_next(&rest)).n > 0)
        if (word.at[0] == '/') {
            ret_words->name = word;
            read_arguments(rest, ret_words);
            break;
        }
    return true;
}

struct str annex_name_of(struct str word)
{
    if (word.n < 2 || word.at[0] != '@')
        return STR("");
    return (struct str){word.at + 1, word.n - 1};
}
