/* SPDX-License-Identifier: MIT
 * rules_corrections.c - reads what people have said about a request after an agent had rejected it,
 * for the rules (rules_internal.h). Of each "Correction:" in its order, without what only agrees
 * ("Yes, it should be"), the first that fits:
 *
 *   the name of a kind of work, alone        it is before the request
 *   it begins as requests do                 it is the request
 *   a table, alone, or of a request without  the table takes the place of what the request names
 *   the request only reads                   it is after the request
 *   all else                                 is_unclear: it would become part of what is stored */
#include "services/engine/models/rules_internal.h"

#include "shared/base/mem.h"

static const char *const agreeing[] = {
    "yes",    "no",     "ok",   "okay",   "sorry",  "well", "sure",    "right",  "oh",
    "i",      "we",     "mean", "it",     "its",    "it's", "that",    "this",   "is",
    "was",    "be",     "to",   "should", "must",   "use",  "just",    "the",    "table",
    "change", "please", "want", "meant",  "wanted", "been", "instead", "rather", NULL};

static size_t skip_agreement(const struct rules_words *words)
{
    size_t i = 0;
    while (i < words->n && (words->at[i].kind == RULES_SIGN || rules_is(words, i, agreeing)))
        i++;
    return i;
}

static size_t skip_signs_back(const struct rules_words *words)
{
    size_t n = words->n;
    while (n > 0 && words->at[n - 1].kind == RULES_SIGN)
        n--;
    return n;
}

static bool is_kind_of_work(const struct rules_words *words, size_t i)
{
    static const char *const kinds[] = {"run", "extract", "rule", "content", NULL};
    return rules_is(words, i, kinds);
}

/* "Count them" is no request of its own. */
static bool is_request(const struct rules_words *words, size_t i)
{
    static const char *const commands[] = {
        "run", "extract", "show", "list",  "count",  "find",   "get",    "select", "display",
        "add", "insert",  "save", "store", "create", "update", "rename", "set",    NULL};
    static const char *const pronouns[] = {"it", "them", "those", "these", "that", NULL};
    return rules_is(words, i, commands) && !rules_is(words, i + 1, pronouns);
}

/* The text of words `from` to `to`. */
static struct str text_of(const struct rules_words *words, size_t from, size_t to)
{
    struct str first = words->at[from].here, last = words->at[to - 1].here;
    return (struct str){first.at, (size_t)(last.at + last.n - first.at)};
}

static void put_in_place(struct buf *b, struct str text, struct str of, struct str with)
{
    size_t at = (size_t)(of.at - text.at), end = at + of.n;
    buf_put(b, (struct str){text.at, at});
    buf_put(b, with);
    buf_put(b, (struct str){text.at + end, text.n - end});
}

static void put_both(struct buf *b, struct str first, struct str second)
{
    buf_put(b, first);
    buf_put_char(b, ' ');
    buf_put(b, second);
}

/* Puts the request as one correction changes it; nothing if it does not. */
static void put_corrected(struct buf *b, struct rules_case *c, const struct rules_words *words)
{
    size_t i = skip_agreement(words), end = skip_signs_back(words);
    if (i >= end)
        return;
    struct str said = text_of(words, i, end);
    struct rules_mention table = rules_find_table(c->tables, words, 0);
    struct rules_mention subject = rules_find_subject(c->tables, &c->words);
    bool has_subject = subject.table != NULL && !subject.is_detail;
    bool is_table = table.table != NULL && table.at == i && table.at + table.n == end;
    if (is_kind_of_work(words, i) && i + 1 == end) {
        put_both(b, said, c->request);
    } else if (is_request(words, i)) {
        buf_put(b, said);
        c->is_unclear = false;
    } else if (table.table != NULL && (is_table || !has_subject)) {
        put_in_place(b, c->request,
                     has_subject ? text_of(&c->words, subject.at, subject.at + subject.n)
                                 : rules_find_object(c),
                     text_of(words, table.at, table.at + table.n));
    } else if (!str_eq_nocase(c->verb, STR("CONTENT"))) {
        put_both(b, c->request, said);
    } else {
        c->is_unclear = true;
    }
}

static void take(struct rules_case *c, struct rules_words *words, struct str correction)
{
    struct buf corrected;
    rules_read_words(words, correction);
    buf_init(&corrected, 2 * RULES_REQUEST_MAX_BYTES);
    put_corrected(&corrected, c, words);
    if (corrected.n == 0) {
        buf_fini(&corrected);
        return;
    }
    buf_fini(&c->corrected);
    c->corrected = corrected;
    c->request = buf_str(&c->corrected);
    rules_read_words(&c->words, c->request);
}

void rules_correct(struct rules_case *c, struct str prompt)
{
    const struct str mark = STR("Correction:");
    struct rules_words *words = mem_alloc(sizeof *words);
    for (struct str line = str_cut(&prompt, '\n');
         line.at != NULL && !str_has_prefix(line, STR("Request:")); line = str_cut(&prompt, '\n'))
        if (str_has_prefix(line, mark) && c->request.n + line.n <= RULES_REQUEST_MAX_BYTES)
            take(c, words, str_trim((struct str){line.at + mark.n, line.n - mark.n}));
    free(words);
}
