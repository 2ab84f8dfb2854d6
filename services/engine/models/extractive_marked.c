/* SPDX-License-Identifier: MIT
 * extractive_marked.c - questions about what the reader has marked (extractive_internal.h).
 * "Explain this concept" has no word to look for: the marked text has them. The answer is looked
 * for in the passages as always; where none has it, the marked text speaks for itself. */
#include "services/engine/models/extractive_internal.h"

enum { WORD_MAX_BYTES = 64, QUOTED_SENTENCES = 3, QUOTED_MAX_BYTES = 1500 };

/* clang-format off */
/* Words for a piece of text and for what is wanted of it, in normal form. */
static const char *const pointing[] = {
    "above", "absatz", "abschnitt", "alinea", "begriff", "begrip", "beschreibe", "brief",
    "briefly", "chapter", "clarify", "conceito", "concept", "concepto", "concepts", "concetto",
    "define", "definition", "describe", "description", "detail", "details", "easier", "easy",
    "einfach", "elaborate", "example", "examples", "excerpt", "expression", "frase", "further",
    "highlighted", "idea", "ideas", "konzept", "line", "lines", "marked", "mot", "palabra",
    "paragrafo", "paragraph", "paragraphe", "paragraphs", "paraphrase", "parola", "part", "parts",
    "passage", "passages", "phrase", "phrases", "quote", "rephrase", "resume", "riassumi", "satz",
    "section", "sections", "selected", "selection", "sentence", "sentences", "simple", "simpler",
    "simplify", "simply", "statement", "stelle", "summarise", "summarize", "summary", "tekst",
    "term", "terme", "termine", "termo", "terms", "testo", "text", "texte", "texto", "texts",
    "topic", "understand", "woord", "word", "words", "wort", "zin", "zusammenfassung", NULL};
/* clang-format on */

static bool points(struct str word)
{
    struct buf normal;
    buf_init(&normal, WORD_MAX_BYTES);
    text_put_normal(&normal, word);
    struct str text = normal.is_over ? STR("") : buf_str(&normal);
    bool is_listed = false;
    for (const char *const *at = pointing; *at != NULL && !is_listed; at++)
        is_listed = str_eq(text, str_of(*at));
    buf_fini(&normal);
    return is_listed;
}

bool extractive_means_marked(const struct prompt *prompt)
{
    struct terms terms;
    if (prompt->marked.n == 0)
        return false;
    terms_read(&terms, prompt->question, STR(""));
    for (size_t i = 0; i < terms.n; i++)
        if (!points(terms.at[i].word.here))
            return false;
    return true;
}

size_t extractive_put_marked(const struct prompt *prompt, struct buf *answer)
{
    struct str rest = prompt->marked;
    size_t n = 0, before = answer->n;
    for (struct str sentence = text_next_sentence(&rest);
         sentence.n > 0 && n < QUOTED_SENTENCES && answer->n - before < QUOTED_MAX_BYTES;
         sentence = text_next_sentence(&rest), n++) {
        if (n > 0)
            buf_put_char(answer, ' ');
        extractive_put_plain(answer, sentence);
    }
    return n;
}
