/* SPDX-License-Identifier: MIT
 * extractive_put.c - see extractive_internal.h: how sentences that were taken become an answer.
 * Words are copied; tables, lists and links read as sentences, and marks of a source's own, which
 * would name one of ours, are put in parentheses. */
#include "services/engine/models/extractive.h"

#include "services/engine/models/extractive_internal.h"
#include "shared/text/marks.h"

/* --- links ------------------------------------------------------------------------------------ */

struct link {
    struct str label, target;
    size_t n; /* bytes of the whole */
};

/* Reads the Markdown link that `s` begins with. */
static bool read_link(struct str s, struct link *ret_link)
{
    const char *end = s.n > 3 && *s.at == '[' ? memchr(s.at, ']', s.n) : NULL;
    if (end == NULL || end + 1 >= s.at + s.n || end[1] != '(')
        return false;
    size_t label_n = (size_t)(end - s.at) - 1;
    const char *from = end + 2, *close = memchr(from, ')', s.n - label_n - 3);
    if (close == NULL)
        return false;
    *ret_link = (struct link){.label = {s.at + 1, label_n},
                              .target = {from, (size_t)(close - from)},
                              .n = (size_t)(close + 1 - s.at)};
    return true;
}

static bool is_link(struct str s)
{
    struct link link;
    s = statement_plain(s);
    while (s.n > 0 && strchr(".;,|", s.at[s.n - 1]) != NULL && s.at[s.n - 1] != 0)
        s = str_trim((struct str){s.at, s.n - 1});
    if (read_link(s, &link))
        return link.n == s.n;
    return (str_has_prefix(s, STR("https://")) || str_has_prefix(s, STR("http://"))) &&
           memchr(s.at, ' ', s.n) == NULL;
}

bool extractive_is_links(struct str text)
{
    unsigned n = 0, link_n = 0;
    while (text.at != NULL && text.n > 0) {
        struct str line = str_trim(str_cut(&text, '\n'));
        bool has_link = is_link(line);
        for (struct str row = line;
             !has_link && memchr(line.at, '|', line.n) != NULL && row.at != NULL && row.n > 0;)
            has_link = is_link(str_cut(&row, '|'));
        n += line.n > 0;
        link_n += has_link;
    }
    return 2 * link_n > n;
}

/* --- texts ------------------------------------------------------------------------------------ */

static bool is_relative(const struct link *link)
{
    return !str_holds(link->target, STR("://")) && !str_has_prefix(link->target, STR("mailto:"));
}

static void put_spaced(struct buf *b, struct str text)
{
    bool is_gap = false;
    for (size_t i = 0; i < text.n; i++) {
        struct link link;
        struct str rest = {text.at + i, text.n - i};
        char c = text.at[i];
        if (c == ' ' || c == '\n' || c == '\t') {
            is_gap = true;
            continue;
        }
        if (is_gap)
            buf_put_char(b, ' ');
        is_gap = false;
        if (read_link(rest, &link) && is_relative(&link)) {
            put_spaced(b, link.label);
            i += link.n - 1;
        } else {
            buf_put_char(b, c);
        }
    }
}

void extractive_put_plain(struct buf *b, struct str text)
{
    struct buf spaced;
    buf_init(&spaced, SIZE_MAX / 2);
    put_spaced(&spaced, text);
    marks_put_quoted(b, buf_str(&spaced));
    buf_fini(&spaced);
}

/* A list reads as one sentence: its lead, and the items with a semicolon between them. */
static void put_list(struct buf *b, struct str list)
{
    size_t from = b->n;
    while (list.n > 0) {
        struct str line = str_trim(str_cut(&list, '\n'));
        struct str text = statement_plain(line);
        if (text.n == 0)
            continue;
        bool is_item = text.at != line.at;
        if (b->n > from)
            buf_put(b, is_item && strchr(".;:,!?", b->at[b->n - 1]) == NULL ? STR("; ") : STR(" "));
        extractive_put_plain(b, text);
    }
}

/* Returns whether the first row of a table names its columns: a line of dashes is below it, or text
 * is above it. */
static bool has_heads(const struct prompt *prompt, const struct sentence *s)
{
    struct str between = {s->lead.at + s->lead.n, (size_t)(s->text.at - s->lead.at) - s->lead.n};
    struct str passage =
        s->source < prompt->source_n ? str_of(prompt->sources[s->source].text) : prompt->marked;
    if (s->lead.n == 0)
        return false;
    (void)str_cut(&between, '\n');
    return str_holds(between, STR("---")) || extractive_begins_table(s->lead, passage);
}

/* A row reads with the names of its columns: "Flag: --url; Default: none". */
static void put_row(struct buf *b, struct str heads, struct str row)
{
    bool is_first = true;
    heads = statement_plain(heads);
    while (row.at != NULL && row.n > 0) {
        struct str cell = str_trim(str_cut(&row, '|'));
        struct str head = heads.at == NULL ? STR("") : str_trim(str_cut(&heads, '|'));
        if (cell.n == 0)
            continue;
        buf_put(b, is_first ? STR("") : STR("; "));
        extractive_put_plain(b, head);
        buf_put(b, head.n > 0 ? STR(": ") : STR(""));
        extractive_put_plain(b, cell);
        is_first = false;
    }
}

static void put_record(struct buf *b, struct str record)
{
    while (record.at != NULL && record.n > 0) {
        extractive_put_plain(b, str_trim(str_cut(&record, '\n')));
        buf_put(b, record.at != NULL && record.n > 0 ? STR("; ") : STR(""));
    }
}

/* `lead`: what the sentence before it began with. */
static void put_sentence_text(struct buf *answer, const struct prompt *prompt,
                              const struct sentence *s, struct str lead)
{
    if (s->kind == STATEMENT_ROW) {
        bool names = has_heads(prompt, s) && !extractive_is_described(s->text);
        put_row(answer, names ? s->lead : STR(""), statement_plain(s->text));
        return;
    }
    if (s->kind == STATEMENT_RECORD) {
        put_record(answer, s->text);
        return;
    }
    if (s->kind == STATEMENT_LIST) {
        put_list(answer, s->text);
        return;
    }
    if (s->kind == STATEMENT_ITEM && s->lead.n > 0 && s->lead.at != lead.at) {
        extractive_put_plain(answer, s->lead);
        buf_put_char(answer, ' ');
    }
    extractive_put_plain(answer, s->text);
}

static void put_code(struct buf *answer, struct str code)
{
    if (code.n == 0)
        return;
    buf_lit(answer, "\n\n");
    buf_put(answer, code);
    buf_lit(answer, "\n\n");
}

static void put_source(struct buf *b, size_t number, const struct source *source,
                       const char *complaint)
{
    buf_printf(b, "\n[%zu] %s", number, source->title);
    if (complaint != NULL)
        buf_printf(b, " (%s)", complaint);
}

void extractive_put_answer(const struct prompt *prompt, const struct sentence *sentences,
                           size_t taken, struct buf *answer)
{
    size_t numbers[PROMPT_SOURCES_MAX + 1] = {0}, next = 1;
    const char *complaints[PROMPT_SOURCES_MAX + 1] = {NULL};
    for (size_t i = 0; i < taken; i++) {
        const struct sentence *s = &sentences[i];
        /* Passages that came with the prompt keep the numbers that their sender knows. */
        if (numbers[s->source] == 0)
            numbers[s->source] = prompt->has_given_sources ? s->source + 1 : next++;
        if (s->complaint != NULL)
            complaints[s->source] = s->complaint;
        if (i > 0 && answer->at[answer->n - 1] != '\n')
            buf_put_char(answer, ' ');
        put_sentence_text(answer, prompt, s, i > 0 ? sentences[i - 1].lead : STR(""));
        if (s->source < prompt->source_n) /* what the reader marked has no number */
            buf_printf(answer, " [%zu]", numbers[s->source]);
        put_code(answer, s->code);
    }
    while (answer->n > 0 && answer->at[answer->n - 1] == '\n')
        answer->n--;
    if (prompt->has_given_sources)
        return; /* who gave them shows them */
    buf_lit(answer, "\n\nSources:");
    for (size_t i = 0; i < prompt->source_n; i++)
        if (numbers[i] != 0)
            put_source(answer, numbers[i], &prompt->sources[i], complaints[i]);
}

void extractive_put_think(const struct prompt *prompt, struct str words, size_t taken,
                          struct buf *think)
{
    buf_lit(think, "Built-in extractive model, no language model. ");
    if (prompt->has_given_sources)
        buf_printf(think, "Read the %llu %s that came with the question",
                   COUNTED(prompt->source_n, "passage"));
    else if (prompt->searched_passages > 0)
        buf_printf(think, "Searched %llu %s of %llu %s and read the best %zu",
                   COUNTED(prompt->searched_passages, "passage"),
                   COUNTED(prompt->searched_documents, "document"), prompt->source_n);
    else
        buf_lit(think, "This engine has no documents to search (see --corpus and --llm)");
    if (words.n > 0) {
        buf_lit(think, ", looking for: ");
        buf_put(think, words);
    } else {
        buf_lit(think, "; the question has no word to look for");
    }
    if (taken > 0)
        buf_printf(think, ". %zu of their sentences %s copied word for word.", taken,
                   taken == 1 ? "fits and is" : "fit and are");
    else
        buf_lit(think, ". No sentence fits well enough to be an answer.");
}
