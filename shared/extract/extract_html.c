/* SPDX-License-Identifier: MIT
 * extract_html.c - web pages, read by libxml2's HTML parser through its events: no tree is built,
 * so that a page of 25 MiB takes little memory. The parser repairs what is broken, resolves
 * entities by its own table and loads nothing. It gets the page from html_tidy, which takes out
 * what would keep it busy for long.
 *
 * Left out are what people do not read (scripts, styles, drawings, what is marked as hidden) and
 * what is on every page of a site (navigation, footers and asides outside the article). When
 * the page names its main part (<main>), only that is taken. When nothing is left, the page is read
 * again with its clutter. */
#include "shared/extract/encoding.h"
#include "shared/extract/extract.h"
#include "shared/extract/flow.h"
#include "shared/extract/html_charset.h"
#include "shared/extract/html_tidy.h"

#include <libxml/HTMLparser.h>
#include <stdio.h>
#include <stdlib.h>

enum { TITLE_MAX_BYTES = 1024 };

struct page {
    struct buf rough, title;
    struct flow flow;
    bool has_clutter; /* only scripts and their like are left out */
    bool is_in_title, has_title;
    /* Within an element whose text is left out: its name, and how many of that name are open. */
    const char *hidden;
    unsigned hidden_n;
    unsigned article_depth, main_n, main_depth, pre_depth;
    size_t main_from, main_to;              /* in rough */
    char id[HTML_TIDY_VALUE_MAX_BYTES + 1]; /* of the heading that is open */
};

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static const char *find_attribute(const xmlChar **attributes, const char *name)
{
    for (; attributes != NULL && attributes[0] != NULL; attributes += 2)
        if (strcmp((const char *)attributes[0], name) == 0)
            return attributes[1] == NULL ? "" : (const char *)attributes[1];
    return NULL;
}

static bool is_hidden(const struct page *page, const char *name, const xmlChar **attributes)
{
    static const char *const never[] = {"script", "style",  "noscript", "template", "svg",
                                        "math",   "iframe", "object",   "canvas",   "audio",
                                        "video",  "map",    NULL};
    static const char *const clutter[] = {"nav", "button", "select", "textarea", "datalist", NULL};
    static const char *const outside_clutter[] = {"footer", "aside", NULL};
    static const char *const roles[] = {"navigation", "banner", "contentinfo", "search", NULL};
    if (is_one_of(name, never))
        return true;
    if (page->has_clutter)
        return false;
    const char *role = find_attribute(attributes, "role");
    const char *is_aria_hidden = find_attribute(attributes, "aria-hidden");
    return is_one_of(name, clutter) ||
           (page->article_depth == 0 && is_one_of(name, outside_clutter)) ||
           find_attribute(attributes, "hidden") != NULL ||
           (is_aria_hidden != NULL && strcmp(is_aria_hidden, "true") == 0) ||
           (role != NULL && is_one_of(role, roles));
}

/* How many newlines an element puts before and after itself. */
static unsigned break_of(const char *name)
{
    static const char *const paragraphs[] = {"p",      "h1",      "h2",         "h3",  "h4",
                                             "h5",     "h6",      "ul",         "ol",  "dl",
                                             "table",  "section", "article",    "pre", "blockquote",
                                             "header", "footer",  "figcaption", NULL};
    static const char *const lines[] = {"br",     "div",     "li",   "dt",      "dd",
                                        "hr",     "option",  "main", "caption", "summary",
                                        "legend", "address", "form", NULL};
    return is_one_of(name, paragraphs) ? 2 : is_one_of(name, lines) ? 1 : 0;
}

/* 1 to 6; 0 for what is no heading. */
static unsigned heading_level(const char *name)
{
    return name[0] == 'h' && name[1] >= '1' && name[1] <= '6' && name[2] == 0
               ? (unsigned)(name[1] - '0')
               : 0;
}

static void begin_heading(struct page *page, unsigned level, const char *id)
{
    static const struct str marks = {"###### ", 7};
    flow_mark(&page->flow, (struct str){marks.at + 6 - level, level + 1});
    snprintf(page->id, sizeof page->id, "%s", id != NULL && page->flow.cell_depth == 0 ? id : "");
}

/* Where the heading has an anchor, its line ends with it, as in Markdown: `## Brakes {#brakes}`. */
static void end_heading(struct page *page)
{
    if (page->flow.prefix.n == 0 && page->id[0] != 0) {
        flow_put(&page->flow, STR(" {#"));
        flow_put(&page->flow, str_of(page->id));
        flow_put(&page->flow, STR("}"));
    }
    page->id[0] = 0;
}

static void on_start(void *data, const xmlChar *name_bytes, const xmlChar **attributes)
{
    struct page *page = data;
    const char *name = (const char *)name_bytes;
    if (page->hidden != NULL) {
        page->hidden_n += strcmp(name, page->hidden) == 0;
        return;
    }
    if (is_hidden(page, name, attributes)) {
        page->hidden = name; /* lives in the parser's dictionary */
        page->hidden_n = 1;
        return;
    }
    if (strcmp(name, "title") == 0 && !page->has_title)
        page->is_in_title = true;
    flow_break(&page->flow, break_of(name));
    if (heading_level(name) > 0)
        begin_heading(page, heading_level(name), find_attribute(attributes, "id"));
    else if (strcmp(name, "li") == 0)
        flow_mark(&page->flow, STR("- "));
    else if (strcmp(name, "tr") == 0)
        flow_row(&page->flow);
    else if (strcmp(name, "td") == 0 || strcmp(name, "th") == 0)
        flow_cell(&page->flow);
    else if (strcmp(name, "article") == 0)
        page->article_depth++;
    else if (strcmp(name, "pre") == 0)
        page->flow.is_literal = ++page->pre_depth > 0;
    else if (strcmp(name, "main") == 0) {
        page->article_depth++;
        if (page->main_depth++ == 0 && page->main_n++ == 0)
            page->main_from = page->main_to = page->rough.n;
    }
}

static void on_end(void *data, const xmlChar *name_bytes)
{
    struct page *page = data;
    const char *name = (const char *)name_bytes;
    if (page->hidden != NULL) {
        if (strcmp(name, page->hidden) == 0 && --page->hidden_n == 0)
            page->hidden = NULL;
        return;
    }
    if (strcmp(name, "title") == 0 && page->is_in_title) {
        page->is_in_title = false;
        page->has_title = true;
    }
    if (strcmp(name, "td") == 0 || strcmp(name, "th") == 0)
        flow_cell_end(&page->flow);
    else if (strcmp(name, "article") == 0)
        page->article_depth -= page->article_depth > 0;
    else if (strcmp(name, "pre") == 0 && page->pre_depth > 0)
        page->flow.is_literal = --page->pre_depth > 0;
    else if (strcmp(name, "main") == 0 && page->main_depth > 0) {
        page->article_depth -= page->article_depth > 0;
        if (--page->main_depth == 0 && page->main_n == 1)
            page->main_to = page->rough.n;
    }
    if (heading_level(name) > 0)
        end_heading(page);
    if (heading_level(name) > 0 || strcmp(name, "li") == 0)
        flow_mark(&page->flow, STR(""));
    flow_break(&page->flow, break_of(name));
}

static void on_text(void *data, const xmlChar *at, int n)
{
    struct page *page = data;
    struct str s = {(const char *)at, n < 0 ? 0 : (size_t)n};
    if (page->hidden != NULL)
        return;
    if (page->is_in_title)
        buf_put(&page->title, s);
    else
        flow_put(&page->flow, s);
}

static void parse(struct page *page, struct str html)
{
    enum {
        OPTIONS = HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
                  HTML_PARSE_NONET | HTML_PARSE_NODEFDTD | HTML_PARSE_IGNORE_ENC
    };
    if (html.n == 0 || html.n > INT32_MAX)
        return;
    htmlParserCtxtPtr parser = htmlNewParserCtxt();
    if (parser == NULL)
        abort();
    *parser->sax = (htmlSAXHandler){.startElement = on_start,
                                    .endElement = on_end,
                                    .characters = on_text,
                                    .cdataBlock = on_text,
                                    .ignorableWhitespace = on_text,
                                    .initialized = 1};
    parser->userData = page;
    xmlDocPtr none = htmlCtxtReadMemory(parser, html.at, (int)html.n, NULL, "UTF-8", OPTIONS);
    xmlFreeDoc(none);
    htmlFreeParserCtxt(parser);
}

static struct str text_of(const struct page *page)
{
    struct str all = buf_str(&page->rough), main_part = {NULL, 0};
    if (page->main_n == 1 && page->main_to > page->main_from)
        main_part =
            str_trim((struct str){all.at + page->main_from, page->main_to - page->main_from});
    return main_part.n > 0 ? main_part : str_trim(all);
}

static void put_page(struct buf *text, struct page *page)
{
    struct str body = text_of(page);
    struct buf line;
    struct flow flow = {.out = &line};
    buf_init(&line, TITLE_MAX_BYTES);
    flow_put(&flow, buf_str(&page->title));
    struct str title = buf_str(&line);
    struct str start = body;
    while (start.n > 0 && (*start.at == '#' || *start.at == ' '))
        start = (struct str){start.at + 1, start.n - 1};
    bool is_said = start.n >= title.n && str_eq_nocase((struct str){start.at, title.n}, title);
    if (!is_said && !line.is_over) {
        buf_lit(text, "# ");
        extract_put_clean(text, title);
        buf_lit(text, "\n\n");
    }
    extract_put_clean(text, body);
    buf_fini(&line);
}

/* Puts the page as clean UTF-8. It must be converted before its tags are looked at: in some
 * encodings a "<" is written in other bytes, or its byte is the half of a letter. */
static bool put_utf8(struct buf *out, struct str html)
{
    struct buf converted;
    buf_init(&converted, html.n * 4 + 16);
    bool is_text = encoding_put_utf8(&converted, html, html_charset_find(html));
    if (is_text)
        extract_put_clean(out, buf_str(&converted));
    buf_fini(&converted);
    return is_text;
}

enum extract_fault extract_put_html(struct buf *text, struct str html)
{
    struct buf clean, tidy;
    buf_init(&clean, html.n * 4 + 16);
    if (!put_utf8(&clean, html)) {
        buf_fini(&clean);
        return EXTRACT_FAULT_NOT_HTML;
    }
    buf_init(&tidy, clean.n * 5 + 16);
    html_tidy(&tidy, buf_str(&clean));
    buf_fini(&clean);
    for (int has_clutter = 0; has_clutter < 2; has_clutter++) {
        struct page page = {.has_clutter = has_clutter > 0};
        buf_init(&page.rough, EXTRACT_TEXT_MAX_BYTES);
        buf_init(&page.title, TITLE_MAX_BYTES);
        page.flow.out = &page.rough;
        parse(&page, buf_str(&tidy));
        bool is_found = text_of(&page).n > 0;
        if (is_found || has_clutter > 0)
            put_page(text, &page);
        text->is_over |= page.rough.is_over;
        buf_fini(&page.rough);
        buf_fini(&page.title);
        if (is_found)
            break;
    }
    buf_fini(&tidy);
    return EXTRACT_FAULT_NONE;
}
