/* SPDX-License-Identifier: MIT
 * answer_page.c - see answer_page.h. Everything that is not a literal passes buf_put_html. */
#include "services/web/answer_page.h"

#include "services/web/answer_text.h"
#include "shared/base/html.h"
#include "shared/base/json.h"

enum { EXCERPT_MAX_BYTES = 600, REASON_MAX = 256 };

void answer_page_put_box(struct buf *b, struct str question)
{
    buf_lit(b, "<form class=\"ask\" action=\"./\" role=\"search\">\n"
               "<label for=\"q\">Ask the documents</label>\n"
               "<input id=\"q\" name=\"q\" maxlength=\"4000\" required value=\"");
    buf_put_html(b, question);
    buf_lit(b, "\">\n<button>Ask</button>\n</form>\n");
}

/* --- its sources ------------------------------------------------------------------------------ */

/* Whole characters, at the end of a word if there is one. */
static struct str excerpt_of(struct str text)
{
    size_t n = EXCERPT_MAX_BYTES;
    if (text.n <= n)
        return text;
    while (n > EXCERPT_MAX_BYTES / 2 && text.at[n] != ' ' && text.at[n] != '\n')
        n--;
    while (n > 0 && ((unsigned char)text.at[n] & 0xc0) == 0x80)
        n--;
    return (struct str){text.at, n};
}

/* A path becomes relative, so that it also leads there below the path of a proxy. */
static struct str link_of(struct str url)
{
    bool is_path = str_has_prefix(url, STR("/")) && !str_has_prefix(url, STR("//"));
    if (is_path)
        return url.n == 1 ? STR("./") : (struct str){url.at + 1, url.n - 1};
    bool is_web = str_has_prefix(url, STR("https://")) || str_has_prefix(url, STR("http://"));
    return is_web ? url : STR("");
}

static void put_source(struct buf *b, const json_t *source, size_t number)
{
    struct str url = json_member_str(source, "url"), content = json_member_str(source, "content");
    struct str link = link_of(url), excerpt = excerpt_of(content);
    buf_printf(b, "<li id=\"source-%zu\">", number);
    if (link.n > 0) {
        buf_lit(b, "<a href=\"");
        buf_put_html(b, link);
        buf_lit(b, "\">");
    }
    buf_put_html(b, url);
    buf_put(b, link.n > 0 ? STR("</a>\n<blockquote>") : STR("\n<blockquote>"));
    answer_text_put(b, excerpt, 0);
    buf_put(b, excerpt.n < content.n ? STR(" …</blockquote></li>\n") : STR("</blockquote></li>\n"));
}

static void put_sources(struct buf *b, const char *heading, const json_t *sources)
{
    size_t i;
    json_t *source;
    if (json_array_size(sources) == 0)
        return;
    buf_printf(b, "<h2>%s</h2>\n<ol class=\"sources\">\n", heading);
    json_array_foreach((json_t *)sources, i, source) put_source(b, source, i + 1);
    buf_lit(b, "</ol>\n");
}

/* --- the page --------------------------------------------------------------------------------- */

static void put_result(struct buf *b, const json_t *result)
{
    struct str answer = json_member_str(result, "answer");
    const json_t *sources = json_object_get(result, "sources");
    if (answer.at == NULL) {
        buf_lit(b, "<p class=\"state\" role=\"alert\">");
        buf_put_html(b, json_member_str(result, "detail"));
        buf_lit(b, "</p>\n");
        return;
    }
    buf_lit(b, "<h2>Answer</h2>\n<div class=\"answer\">");
    answer_text_put(b, answer, json_array_size(sources));
    buf_lit(b, "</div>\n");
    if (json_member_str(result, "finish_reason").n > 0)
        buf_lit(b, "<p class=\"note\">The answer is not complete: the model stopped early.</p>\n");
    put_sources(b, "Sources", sources);
    put_sources(b, "The nearest passages", json_object_get(result, "nearest"));
}

void answer_page_put(struct buf *b, struct str question, struct str json)
{
    char reason[REASON_MAX];
    json_t *result;
    buf_put(b, answer_frame.head);
    buf_lit(b, "<h1 class=\"question\">");
    buf_put_html(b, question);
    buf_lit(b, "</h1>\n");
    answer_page_put_box(b, question);
    if (json_parse(json, reason, sizeof reason, &result)) {
        put_result(b, result);
        json_decref(result);
    }
    buf_put(b, answer_frame.foot);
}
