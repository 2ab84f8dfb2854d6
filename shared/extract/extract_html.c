/* SPDX-License-Identifier: MIT
 * extract_html.c - web pages:
 *
 *   bytes ─▶ UTF-8 ─▶ html_tidy ─▶ html_tree ─▶ html_article ─▶ html_text
 *            by encoding           by gumbo     what is left out
 *
 * The title is the first heading, unless the page begins with it. */
#include "shared/extract/encoding.h"
#include "shared/extract/extract.h"
#include "shared/extract/flow.h"
#include "shared/extract/html_article.h"
#include "shared/extract/html_charset.h"
#include "shared/extract/html_text.h"
#include "shared/extract/html_tidy.h"
#include "shared/extract/html_tree.h"
#include "shared/extract/office.h"

enum { TITLE_MAX_BYTES = 1024 };

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

/* Returns whether the first line is the title, whatever marks are around it. */
static bool begins_with(struct str body, struct str title)
{
    struct str line = str_cut(&body, '\n');
    while (line.n > 0 && (*line.at == '#' || *line.at == ' '))
        line = (struct str){line.at + 1, line.n - 1};
    const char *anchor = line.n == 0 ? NULL : memmem(line.at, line.n, " {#", 3);
    if (anchor != NULL)
        line.n = (size_t)(anchor - line.at);
    return str_eq_nocase(str_trim(line), title);
}

static void put_title(struct buf *out, const struct html_tree *tree)
{
    struct flow flow = {.out = out};
    uint32_t i = 0;
    while (i < tree->n && tree->nodes[i].tag != GUMBO_TAG_TITLE)
        i = tree->nodes[i].tag == GUMBO_TAG_SVG ? tree->nodes[i].end : i + 1;
    if (i < tree->n && i + 1 < tree->nodes[i].end)
        html_text_put_seen(&flow, tree->nodes[i + 1].text);
}

/* The blanks at the ends of its first and last line are cells of tables without text. */
static struct str trim_lines(struct str s)
{
    while (s.n > 0 && *s.at == '\n')
        s = (struct str){s.at + 1, s.n - 1};
    while (s.n > 0 && s.at[s.n - 1] == '\n')
        s.n--;
    return s;
}

static bool has_heading(const struct html_tree *tree)
{
    for (size_t i = 0; i < tree->n; i++)
        if (tree->nodes[i].tag >= GUMBO_TAG_H1 && tree->nodes[i].tag <= GUMBO_TAG_H6 &&
            !tree->nodes[i].is_left_out)
            return true;
    return false;
}

/* Returns whether the title of a chapter says nothing new. */
static bool is_said_in_book(const struct html_tree *tree, struct str title, struct buf *last)
{
    bool is_same = str_eq(title, buf_str(last));
    buf_clear(last);
    buf_put(last, title);
    return is_same || has_heading(tree);
}

/* `last`: the title of the chapter before; NULL for a page that is no chapter. */
static void put_page(struct buf *text, struct html_tree *tree, struct buf *last)
{
    struct buf title, rough;
    buf_init(&title, TITLE_MAX_BYTES);
    buf_init(&rough, EXTRACT_TEXT_MAX_BYTES);
    put_title(&title, tree);
    html_text_put(&rough, tree, last == NULL);
    struct str body = trim_lines(buf_str(&rough));
    bool is_said = title.n == 0 || begins_with(body, buf_str(&title));
    if (last != NULL)
        is_said |= is_said_in_book(tree, buf_str(&title), last);
    if (!is_said && !title.is_over && str_trim(body).n > 0) {
        buf_lit(text, "# ");
        extract_put_clean(text, buf_str(&title));
        buf_lit(text, "\n\n");
    }
    extract_put_clean(text, body);
    text->is_over |= rough.is_over;
    buf_fini(&title);
    buf_fini(&rough);
}

static enum extract_fault put_html(struct buf *text, struct str html, struct buf *last)
{
    struct buf clean, tidy;
    struct html_tree tree;
    buf_init(&clean, html.n * 4 + 16);
    if (!put_utf8(&clean, html)) {
        buf_fini(&clean);
        return EXTRACT_FAULT_NOT_HTML;
    }
    buf_init(&tidy, clean.n * 6 + 16);
    html_tidy(&tidy, buf_str(&clean));
    buf_fini(&clean);
    html_tree_init(&tree, buf_str(&tidy));
    if (last != NULL)
        html_tree_count(&tree);
    else
        html_article_find(&tree);
    put_page(text, &tree, last);
    html_tree_fini(&tree);
    buf_fini(&tidy);
    return EXTRACT_FAULT_NONE;
}

enum extract_fault extract_put_html(struct buf *text, struct str html)
{
    return put_html(text, html, NULL);
}

enum extract_fault extract_put_chapter(struct buf *text, struct str html, struct buf *title)
{
    return put_html(text, html, title);
}
