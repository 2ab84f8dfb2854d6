/* SPDX-License-Identifier: MIT
 * fuzz_documents_prompt.c - any question, context and passages: an engine reads just as many
 * passages, with their words, and the question. */
#include "services/documents/ask/ask_prompt.h"
#include "services/engine/models/prompt.h"
#include "shared/text/marks.h"

#include <ctype.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Letters and digits: what quoting never touches. Brackets it may replace. */
static void put_letters(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        struct str rest = {s.at + i, s.n - i};
        size_t bracket = marks_opening(rest) + marks_closing(rest);
        if (bracket > 0)
            i += bracket - 1;
        else if (isalnum((unsigned char)s.at[i]) || (unsigned char)s.at[i] >= 0x80)
            buf_put_char(b, s.at[i]);
    }
}

static void require_same(struct str x, struct str y)
{
    struct buf a, b;
    buf_init(&a, 1 << 20);
    buf_init(&b, 1 << 20);
    put_letters(&a, x);
    put_letters(&b, y);
    require(str_eq(buf_str(&a), buf_str(&b)));
    buf_fini(&a);
    buf_fini(&b);
}

/* Control characters become spaces in the prompt. */
static bool has_text(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.at[i] > ' ')
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size};
    struct ask_passage passages[ASK_PASSAGES_MAX];
    struct buf text;
    struct claim claim;
    struct prompt prompt;
    char reason[200];
    json_t *json;
    unsigned n = 0;
    if (!str_is_utf8(rest) || memchr(data, 0, size) != NULL || size > 1200)
        return 0;
    struct str question = str_cut(&rest, '~'), context = str_cut(&rest, '~');
    if (context.at == NULL)
        context = STR("");
    for (; rest.at != NULL && n < ASK_PASSAGES_MAX; n++) {
        passages[n].title = str_cut(&rest, '~');
        passages[n].text = rest.at == NULL ? STR("") : str_cut(&rest, '~');
        if (passages[n].title.n > ASK_TITLE_MAX_CHARS)
            return 0;
    }
    buf_init(&text, 4 << 20);
    buf_lit(&text, "{\"Topic\":\"T\",\"Queries\":[{\"1\":\"row\"}],\"Details\":{\"1\":{"
                   "\"Modifiers\":{\"Messages\":");
    ask_prompt_put_answer(&text, question, context, passages, n);
    buf_lit(&text, "}}}}");
    require(json_parse(buf_str(&text), reason, sizeof reason, &json));
    require(claim_read(&claim, json));
    json_decref(json);
    prompt_init(&prompt, &claim, &claim.queries[0]);
    bool has_context = has_text(context);
    require(prompt.source_n == n && prompt.has_given_sources == (n > 0 || has_context));
    require((prompt.marked.n > 0) == has_context);
    if (n > 0 || has_context)
        require_same(prompt.question, question);
    if (has_context)
        require_same(prompt.marked, context);
    for (unsigned i = 0; i < n; i++) {
        struct buf given, got;
        buf_init(&given, 1 << 20);
        buf_init(&got, 1 << 20);
        buf_put(&given, str_trim(passages[i].title).n > 0 ? passages[i].title : STR("Untitled"));
        buf_put(&given, passages[i].text);
        buf_put(&got, str_of(prompt.sources[i].title));
        buf_put(&got, str_of(prompt.sources[i].text));
        require_same(buf_str(&given), buf_str(&got));
        buf_fini(&given);
        buf_fini(&got);
    }
    prompt_fini(&prompt);
    claim_fini(&claim);
    buf_fini(&text);
    return 0;
}
