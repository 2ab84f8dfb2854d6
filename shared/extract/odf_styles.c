/* SPDX-License-Identifier: MIT
 * odf_styles.c - see odf_styles.h (OpenDocument 1.3, part 3). */
#include "shared/extract/odf_styles.h"

#include "shared/base/mem.h"

#include <stdlib.h>

enum { LISTS_MAX = 4096, STYLES_MAX = 65536, TEXTS_MAX_BYTES = 4 << 20, NUMBER_MAX = 1000000 };

void odf_styles_init(struct odf_styles *styles)
{
    *styles = (struct odf_styles){.texts.max_bytes = TEXTS_MAX_BYTES};
    for (unsigned i = 0; i < ODF_LEVELS; i++)
        styles->outline.levels[i].form = NUMBER_NONE;
}

void odf_styles_fini(struct odf_styles *styles)
{
    pool_fini(&styles->texts);
    free(styles->lists);
    free(styles->styles);
}

/* ---- reading ---- */

static enum number_form form_of(const struct xml_tag *tag)
{
    struct str format = xml_attribute(tag, "num-format");
    bool is_doubled = str_eq(xml_attribute(tag, "num-letter-sync"), STR("true"));
    if (format.n == 0)
        return NUMBER_NONE;
    switch (*format.at) {
    case 'a': return is_doubled ? NUMBER_LOWER_LETTER : NUMBER_LOWER_ALPHA;
    case 'A': return is_doubled ? NUMBER_UPPER_LETTER : NUMBER_UPPER_ALPHA;
    case 'i': return NUMBER_LOWER_ROMAN;
    case 'I': return NUMBER_UPPER_ROMAN;
    default: return NUMBER_DECIMAL;
    }
}

static void begin_list(struct odf_styles *styles, const struct xml_tag *tag)
{
    styles->open = NULL;
    if (styles->list_n == LISTS_MAX)
        return;
    styles->lists = mem_grow(styles->lists, styles->list_n, sizeof *styles->lists);
    styles->open = &styles->lists[styles->list_n++];
    *styles->open =
        (struct odf_list){.name = pool_keep(&styles->texts, xml_attribute(tag, "name"))};
    for (unsigned i = 0; i < ODF_LEVELS; i++)
        styles->open->levels[i].form = NUMBER_BULLET;
}

static void read_level(struct odf_styles *styles, const struct xml_tag *tag, bool is_bullet)
{
    unsigned level = xml_number(tag, "level", ODF_LEVELS, 0);
    if (styles->open == NULL || level == 0)
        return;
    styles->open->levels[level - 1] =
        (struct odf_level){.form = is_bullet ? NUMBER_BULLET : form_of(tag),
                           .before = pool_keep(&styles->texts, xml_attribute(tag, "num-prefix")),
                           .after = pool_keep(&styles->texts, xml_attribute(tag, "num-suffix")),
                           .start = xml_number(tag, "start-value", NUMBER_MAX, 1),
                           .shown_levels = xml_number(tag, "display-levels", ODF_LEVELS, 1)};
}

static void add_style(struct odf_styles *styles, char script, bool is_hidden)
{
    if ((script == 0 && !is_hidden) || styles->style_n == STYLES_MAX)
        return;
    styles->styles = mem_grow(styles->styles, styles->style_n, sizeof *styles->styles);
    styles->styles[styles->style_n++] = (struct odf_style){styles->style, script, is_hidden};
}

static void add_script(struct odf_styles *styles, struct str position)
{
    char script = (char)(str_has_prefix(position, STR("super")) ? '^'
                         : str_has_prefix(position, STR("sub")) ? '_'
                                                                : 0);
    add_style(styles, script, false);
}

bool odf_styles_start(struct odf_styles *styles, const struct xml_tag *tag)
{
    if (tag->space == XML_ODF_TEXT && xml_is(tag, "list-style"))
        begin_list(styles, tag);
    else if (tag->space == XML_ODF_TEXT && xml_is(tag, "outline-style"))
        styles->open = &styles->outline;
    else if (tag->space == XML_ODF_TEXT &&
             (xml_is(tag, "list-level-style-number") || xml_is(tag, "outline-level-style")))
        read_level(styles, tag, false);
    else if (tag->space == XML_ODF_TEXT &&
             (xml_is(tag, "list-level-style-bullet") || xml_is(tag, "list-level-style-image")))
        read_level(styles, tag, true);
    else if (tag->space == XML_ODF_STYLE && xml_is(tag, "style"))
        styles->style = pool_keep(&styles->texts, xml_attribute(tag, "name"));
    else if (tag->space == XML_ODF_STYLE && xml_is(tag, "text-properties"))
        add_script(styles, xml_attribute(tag, "text-position"));
    else if (tag->space == XML_ODF_STYLE && xml_is(tag, "table-properties"))
        add_style(styles, 0, str_eq(xml_attribute(tag, "display"), STR("false")));
    else
        return false;
    return true;
}

/* ---- finding ---- */

/* Both begin with their name. */
static int compare_names(const void *a, const void *b)
{
    return str_compare(*(const struct str *)a, *(const struct str *)b);
}

void odf_styles_sort(struct odf_styles *styles)
{
    styles->open = NULL;
    if (styles->list_n > 0)
        qsort(styles->lists, styles->list_n, sizeof *styles->lists, compare_names);
    if (styles->style_n > 0)
        qsort(styles->styles, styles->style_n, sizeof *styles->styles, compare_names);
}

const struct odf_list *odf_styles_list(const struct odf_styles *styles, struct str name)
{
    return styles->list_n == 0 ? NULL
                               : bsearch(&name, styles->lists, styles->list_n,
                                         sizeof *styles->lists, compare_names);
}

static const struct odf_style *find_style(const struct odf_styles *styles, struct str name)
{
    return styles->style_n == 0 ? NULL
                                : bsearch(&name, styles->styles, styles->style_n,
                                          sizeof *styles->styles, compare_names);
}

char odf_styles_script(const struct odf_styles *styles, struct str name)
{
    const struct odf_style *style = find_style(styles, name);
    return (char)(style == NULL ? 0 : style->script);
}

bool odf_styles_is_hidden(const struct odf_styles *styles, struct str name)
{
    const struct odf_style *style = find_style(styles, name);
    return style != NULL && style->is_hidden;
}

void odf_put_number(struct buf *b, const struct odf_list *list, unsigned level,
                    const unsigned counters[ODF_LEVELS])
{
    const struct odf_level *own = &list->levels[level];
    unsigned shown = own->shown_levels > level + 1 ? level + 1 : own->shown_levels;
    if (own->form == NUMBER_NONE || own->form == NUMBER_BULLET)
        return;
    buf_put(b, own->before);
    for (unsigned i = level + 1 - shown; i <= level; i++) {
        numbers_put(b, list->levels[i].form, counters[i] == 0 ? 1 : counters[i]);
        if (i < level)
            buf_put_char(b, '.');
    }
    buf_put(b, own->after);
}
