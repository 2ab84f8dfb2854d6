/* SPDX-License-Identifier: MIT
 * docx_script.c - see docx_script.h. */
#include "shared/extract/docx_script.h"

bool docx_is_word_char(char c)
{
    return (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') ||
           ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

char docx_last_char(const struct flow *flow)
{
    bool is_parted = flow->newlines > 0 || flow->spaces > 0 || flow->out->n == 0;
    return (char)(is_parted ? 0 : flow->out->at[flow->out->n - 1]);
}

static const struct str minus = {"\xe2\x88\x92", 3};

/* Superscripts that are no powers: 1st, 2e, TM. */
static bool is_ordinal(struct str s)
{
    static const char *const words[] = {"st", "nd", "rd", "th", "er", "re",
                                        "e",  "o",  "a",  "TM", "SM", NULL};
    for (const char *const *word = words; *word != NULL; word++)
        if (str_eq(s, str_of(*word)))
            return true;
    return s.n > 0 && (unsigned char)*s.at >= 0x80 && !str_has_prefix(s, minus);
}

static bool is_long(struct str s)
{
    for (size_t i = 1; i < s.n; i++)
        if ((unsigned char)s.at[i] < 0x80 && !docx_is_word_char(s.at[i]) && s.at[i] != '.' &&
            s.at[i] != ',')
            return true;
    return s.n > 1 && memmem(s.at + 1, s.n - 1, minus.at, minus.n) != NULL;
}

void docx_script_end(struct docx_script *script, struct flow *flow)
{
    struct buf *out = flow->out;
    size_t from = script->from;
    bool is_open = script->last != 0 && from > 0 && from < out->n;
    script->last = 0;
    if (!is_open || !is_long((struct str){out->at + from, out->n - from}) ||
        buf_reserve(out, 2) == NULL)
        return;
    memmove(out->at + from + 1, out->at + from, out->n - from);
    out->at[from] = '(';
    out->at[out->n + 1] = ')';
    out->n += 2;
}

void docx_script_begin(struct docx_script *script, struct flow *flow, char kind, struct str text)
{
    if (kind == script->last)
        return;
    docx_script_end(script, flow);
    *script = (struct docx_script){.last = kind};
    if (kind == 0 || docx_last_char(flow) == 0 || (kind == '^' && is_ordinal(text)))
        return;
    flow_put(flow, (struct str){&kind, 1});
    script->from = flow->out->n;
}
