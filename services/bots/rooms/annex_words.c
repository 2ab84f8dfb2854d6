/* SPDX-License-Identifier: MIT
 * annex_words.c - see annex_words.h. */
#include "services/bots/rooms/annex_words.h"

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

bool annex_words_read(struct str text, struct annex_words *ret_words)
{
    struct str rest = text;
    *ret_words = (struct annex_words){.name = STR("")};
    skip_space(&rest);
    if (!str_eq(take_word(&rest), STR("@annex")))
        return false;
    skip_space(&rest);
    if (rest.n == 0 || rest.at[0] != '/')
        return false;
    ret_words->name = take_word(&rest);
    for (skip_space(&rest); rest.n > 0; skip_space(&rest)) {
        size_t i = ret_words->n;
        if (i == ANNEX_WORDS_MAX ||
            (rest.at[0] == '"' && !take_quoted(&rest, &ret_words->words[i]))) {
            ret_words->is_over = true;
            return true;
        }
        ret_words->is_quoted[i] = ret_words->words[i].at != NULL;
        if (!ret_words->is_quoted[i])
            ret_words->words[i] = take_word(&rest);
        ret_words->n++;
    }
    return true;
}

struct str annex_name_of(struct str word)
{
    if (word.n < 2 || word.at[0] != '@')
        return STR("");
    return (struct str){word.at + 1, word.n - 1};
}
