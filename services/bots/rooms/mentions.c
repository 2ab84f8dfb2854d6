/* SPDX-License-Identifier: MIT
 * mentions.c - see mentions.h. */
#include "services/bots/rooms/mentions.h"

#include "shared/text/text.h"

enum { NAME_MAX = 128, NON_JOINER = 0x200c, JOINER = 0x200d };

/* Joiners stand inside words of some scripts. */
static bool is_letter(uint32_t code)
{
    return text_is_word_char(code) || code == NON_JOINER || code == JOINER;
}

static bool is_inside(uint32_t code)
{
    return code == '-' || code == '_' || code == '.';
}

static struct str skip(struct str text, size_t n)
{
    return (struct str){text.at + n, text.n - n};
}

/* Takes the name at the start of `*text` with the marks that follow it: such a mark is part of the
 * name only if a letter comes later. */
static struct str take_name(struct str *text)
{
    struct str name = {text->at, 0};
    size_t at = 0;
    uint32_t code;
    for (size_t n; (n = text_char(skip(*text, at), &code)) > 0; at += n) {
        if (is_letter(code))
            name.n = at + n;
        else if (!is_inside(code) || name.n == 0)
            break;
    }
    /* In @a@b.c the second one follows a letter. */
    if (name.n > 0 && at == name.n && code == '@' && at < text->n)
        at++;
    *text = skip(*text, at);
    return name;
}

bool mentions_next(struct str *rest, struct str *ret_name)
{
    bool is_within = false; /* the character before belongs to a word */
    uint32_t code;
    for (size_t n; (n = text_char(*rest, &code)) > 0;) {
        *rest = skip(*rest, n);
        if (code == '@' && !is_within) {
            *ret_name = take_name(rest);
            if (ret_name->n > 0)
                return true;
        }
        is_within = is_letter(code) || is_inside(code);
    }
    return false;
}

size_t mentions_find(struct str text, struct str *names, size_t most)
{
    size_t n = 0;
    struct str rest = text, name;
    while (n < most && mentions_next(&rest, &name)) {
        size_t i = 0;
        while (i < n && !str_eq(names[i], name))
            i++;
        if (i == n && name.n <= NAME_MAX)
            names[n++] = name;
    }
    return n;
}
