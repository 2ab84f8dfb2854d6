/* SPDX-License-Identifier: MIT
 * fuzz_documents_citations.c - the marks of any answer: each mark that is left outside of code
 * names a passage that was given, in the order of first use, nothing else stays that looks like
 * one, and checking again changes nothing. */
#include "services/documents/ask/citations.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Brackets with nothing but digits and what connects them hold one number that exists. */
static void require_marks(struct str text, unsigned used_n)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] != '[')
            continue;
        size_t end = i + 1, digits = 0;
        unsigned number = 0;
        for (; end < text.n && text.at[end] != 0 &&
               strchr("0123456789 \t\r\n,;-+.^", text.at[end]) != NULL;
             end++)
            if (text.at[end] >= '0' && text.at[end] <= '9') {
                number = number * 10 + (unsigned)(text.at[end] - '0');
                digits++;
            }
        if (end == text.n || text.at[end] != ']' || digits == 0)
            continue;
        require(digits == end - i - 1 && digits <= 2 && number >= 1 && number <= used_n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf once, twice;
    struct citations first, second;
    if (size == 0)
        return 0;
    unsigned given_n = data[0] % (CITATIONS_MAX + 1);
    struct str answer = {(const char *)data + 1, size - 1};
    buf_init(&once, size * 64 + 4096);
    buf_init(&twice, size * 64 + 4096);
    citations_check(answer, given_n, CITATIONS_BY_USE, &once, &first);
    require(first.used_n <= given_n && !once.is_over);
    for (unsigned i = 0; i < first.used_n; i++) {
        require(first.used[i] >= 1 && first.used[i] <= given_n);
        for (unsigned k = 0; k < i; k++)
            require(first.used[i] != first.used[k]);
    }
    citations_check(buf_str(&once), first.used_n, CITATIONS_BY_USE, &twice, &second);
    /* Between the bytes of a character a mark may be where there are no characters. */
    if (str_is_utf8(answer) && memchr(answer.at, '`', answer.n) == NULL) {
        require(str_eq(buf_str(&once), buf_str(&twice)));
        require(second.used_n == first.used_n);
        require_marks(buf_str(&once), first.used_n);
        for (unsigned i = 0; i < second.used_n; i++)
            require(second.used[i] == i + 1);
    }
    buf_fini(&once);
    buf_fini(&twice);
    return 0;
}
