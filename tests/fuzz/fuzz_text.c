/* SPDX-License-Identifier: MIT
 * fuzz_text.c - chunking, sentences, words and HTML of any bytes. */
#include "shared/extract/extract.h"
#include "shared/text/chunk.h"
#include "shared/text/fit.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_chunks(struct str text, bool is_utf8)
{
    struct chunk_cursor cursor = {.text = text};
    struct chunk chunk;
    size_t before = 0;
    for (bool is_first = true; chunk_next(&cursor, &chunk); is_first = false) {
        struct str piece = {text.at + chunk.start_bytes, chunk.end_bytes - chunk.start_bytes};
        if (chunk.end_bytes > text.n || chunk.start_bytes >= chunk.end_bytes ||
            (!is_first && chunk.start_bytes <= before) || (is_utf8 && !str_is_utf8(piece)))
            abort();
        before = chunk.start_bytes;
    }
}

/* The first line is asked about the whole. */
static void check_statements(struct str text)
{
    struct str rest = text;
    struct terms terms;
    struct fit fit;
    struct statements statements;
    struct statement statement;
    size_t statement_n = 0;
    statements_start(&statements, text);
    while (statements_next(&statements, &statement))
        if (statement.text.n == 0 || statement.text.at < text.at ||
            statement.text.at + statement.text.n > text.at + text.n || statement_n++ > 2 * text.n)
            abort();
    terms_read(&terms, str_cut(&rest, '\n'), text);
    terms_learn(&terms, text);
    fit_passage(&terms, STR("title.md"), text, &fit);
    if (!(fit.best >= 0 && fit.best <= 1.001 && fit.whole >= 0 && fit.whole <= 1.001))
        abort();
}

static void check_word(struct str text, const struct text_word *word)
{
    if (word->n == 0 || word->n >= TEXT_WORD_MAX_BYTES || word->here.n == 0 ||
        word->here.at < text.at || word->here.at + word->here.n > text.at + text.n)
        abort();
}

static void check_words(struct str text)
{
    struct str rest = text;
    struct text_word word, joined;
    struct text_compound compound = {.n = 0};
    while (text_next_word(&rest, &word)) {
        check_word(text, &word);
        if (text_compound_next(&compound, word.here, &joined))
            check_word(text, &joined);
        text_word_bare(&word);
        check_word(text, &word);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = {(const char *)data, n}, rest = text;
    struct buf out;
    check_words(text);
    rest = text;
    while (text_next_sentence(&rest).n > 0)
        ;
    check_statements(text);
    check_chunks(text, str_is_utf8(text));
    buf_init(&out, 1 << 20);
    (void)!extract_put_html(&out, text);
    if (!out.is_over && !str_is_utf8(buf_str(&out)))
        abort();
    check_chunks(buf_str(&out), !out.is_over);
    buf_clear(&out);
    (void)!extract_put_text(&out, text);
    if (!out.is_over && !str_is_utf8(buf_str(&out)))
        abort();
    buf_fini(&out);
    return 0;
}
