/* SPDX-License-Identifier: MIT
 * code_blocks.c - see code_blocks.h. */
#include "shared/text/code_blocks.h"

static struct str skip(struct str s, size_t n)
{
    return (struct str){s.at + n, s.n - n};
}

static struct str first_line(struct str text)
{
    const char *end = text.n == 0 ? NULL : memchr(text.at, '\n', text.n);
    return (struct str){text.at, end == NULL ? text.n : (size_t)(end - text.at)};
}

static size_t fence_of(struct str line)
{
    line = str_trim(line);
    return str_has_prefix(line, STR("```")) || str_has_prefix(line, STR("~~~")) ? 3 : 0;
}

/* Passages are cut anywhere. Fences come in pairs, and only one that opens says a language. */
size_t code_block_begun(struct str text)
{
    struct str rest = text;
    unsigned fences = 0;
    size_t end = 0;
    while (rest.at != NULL && rest.n > 0) {
        struct str line = str_trim(str_cut(&rest, '\n'));
        if (fence_of(line) > 0 && fences++ == 0 && line.n == 3)
            end = (size_t)(line.at + line.n - text.at);
    }
    return fences % 2 == 1 ? end : 0;
}

struct str code_block_at(struct str rest)
{
    size_t from = 0;
    while (from < rest.n && strchr(" \r\n", rest.at[from]) != NULL && rest.at[from] != 0)
        from++;
    struct str code = skip(rest, from), left = code;
    if (fence_of(first_line(code)) == 0)
        return (struct str){code.at, 0};
    (void)str_cut(&left, '\n');
    while (left.n > 0 && fence_of(first_line(left)) == 0)
        (void)str_cut(&left, '\n');
    struct str end = first_line(left);
    return (struct str){code.at, left.n == 0 ? code.n : (size_t)(end.at + end.n - code.at)};
}
