/* SPDX-License-Identifier: MIT
 * docx_styles.c - see docx_styles.h. Word keeps the names of its own styles in English, whatever
 * language it runs in; ids are another program's or another language's. */
#include "shared/extract/docx_styles.h"

#include "shared/base/mem.h"

#include <stdlib.h>

enum { STYLES_MAX = 65536, TEXTS_MAX_BYTES = 8 << 20, BASES_MAX = 16, HEADING_MAX = 6 };

struct reading {
    struct docx_styles *styles;
    struct docx_style style; /* the one that is open */
    bool is_open, is_in_change;
};

/* ---- headings ---- */

/* "heading 2", "Heading2", or such a word of another language with its level. */
static unsigned heading_of_name(struct str name)
{
    static const char *const words[] = {"heading",
                                        "berschrift",
                                        "\xc3\xbc"
                                        "berschrift",
                                        "titre",
                                        "ttulo",
                                        "t\xc3\xad"
                                        "tulo",
                                        "titolo",
                                        "kop",
                                        "rubrik",
                                        "nagwek",
                                        "overskrift",
                                        NULL};
    char level = name.n > 1 ? name.at[name.n - 1] : 0;
    if (str_eq_nocase(name, STR("title")))
        return 1;
    if (level < '1' || level > '9')
        return DOCX_UNSET;
    struct str word = str_trim((struct str){name.at, name.n - 1});
    for (const char *const *known = words; *known != NULL; known++)
        if (str_eq_nocase(word, str_of(*known)))
            return level - '0' < HEADING_MAX ? (unsigned)(level - '0') : HEADING_MAX;
    return DOCX_UNSET;
}

unsigned docx_heading_of_level(struct str level)
{
    if (level.n != 1 || *level.at < '0' || *level.at > '8')
        return 0;
    return *level.at - '0' < HEADING_MAX ? (unsigned)(*level.at - '0') + 1 : HEADING_MAX;
}

/* ---- reading ---- */

static void begin_style(struct reading *reading, const struct xml_tag *tag)
{
    reading->is_open = reading->styles->n < STYLES_MAX;
    reading->style =
        (struct docx_style){.id = pool_keep(&reading->styles->texts, xml_attribute(tag, "styleId")),
                            .heading = DOCX_UNSET,
                            .numbering = DOCX_UNSET,
                            .level = DOCX_UNSET};
}

static void read_name(struct docx_style *style, struct str name)
{
    static const struct str bullet = {"list bullet", 11};
    unsigned heading = heading_of_name(name);
    if (style->heading == DOCX_UNSET)
        style->heading = heading;
    style->is_bullet = name.n >= bullet.n && str_eq_nocase((struct str){name.at, bullet.n}, bullet);
}

static void on_start(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct reading *reading = reader->data;
    struct docx_style *style = &reading->style;
    if (tag->space != XML_WORD)
        return;
    if (xml_is(tag, "pPrChange") || xml_is(tag, "rPrChange") || xml_is(tag, "tblStylePr"))
        xml_skip(reader);
    else if (xml_is(tag, "style"))
        begin_style(reading, tag);
    else if (!reading->is_open)
        return;
    else if (xml_is(tag, "name"))
        read_name(style, xml_attribute(tag, "val"));
    else if (xml_is(tag, "basedOn"))
        style->based_on = pool_keep(&reading->styles->texts, xml_attribute(tag, "val"));
    else if (xml_is(tag, "outlineLvl"))
        style->heading = docx_heading_of_level(xml_attribute(tag, "val"));
    else if (xml_is(tag, "numId"))
        style->numbering = xml_number(tag, "val", INT32_MAX, DOCX_UNSET);
    else if (xml_is(tag, "ilvl"))
        style->level = xml_number(tag, "val", 8, DOCX_UNSET);
}

static void on_end(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct reading *reading = reader->data;
    struct docx_styles *styles = reading->styles;
    if (tag->space != XML_WORD || !xml_is(tag, "style") || !reading->is_open)
        return;
    reading->is_open = false;
    styles->at = mem_grow(styles->at, styles->n, sizeof *styles->at);
    styles->at[styles->n++] = reading->style;
}

static int compare_styles(const void *a, const void *b)
{
    return str_compare(((const struct docx_style *)a)->id, ((const struct docx_style *)b)->id);
}

enum extract_fault docx_styles_read(struct package *package, struct str part,
                                    struct docx_styles *styles)
{
    struct reading reading = {.styles = styles};
    struct xml_handler handler = {.data = &reading, .on_start = on_start, .on_end = on_end};
    *styles = (struct docx_styles){.texts.max_bytes = TEXTS_MAX_BYTES};
    enum extract_fault fault = package_read_xml(package, part, &handler);
    if (styles->n > 0)
        qsort(styles->at, styles->n, sizeof *styles->at, compare_styles);
    return fault;
}

void docx_styles_fini(struct docx_styles *styles)
{
    pool_fini(&styles->texts);
    free(styles->at);
}

/* ---- finding ---- */

static const struct docx_style *find(const struct docx_styles *styles, struct str id)
{
    struct docx_style wanted = {.id = id};
    return styles->n == 0 || id.n == 0
               ? NULL
               : bsearch(&wanted, styles->at, styles->n, sizeof *styles->at, compare_styles);
}

struct docx_style docx_styles_find(const struct docx_styles *styles, struct str id)
{
    struct docx_style found = {
        .id = id, .heading = DOCX_UNSET, .numbering = DOCX_UNSET, .level = DOCX_UNSET};
    const struct docx_style *style = find(styles, id);
    if (style == NULL)
        found.heading = heading_of_name(id);
    for (int i = 0; style != NULL && i < BASES_MAX; i++) {
        if (found.heading == DOCX_UNSET)
            found.heading = style->heading;
        if (found.level == DOCX_UNSET)
            found.level = style->level;
        if (found.numbering == DOCX_UNSET && style->numbering != DOCX_UNSET) {
            found.numbering = style->numbering;
            found.id = style->id;
        }
        found.is_bullet |= style->is_bullet;
        style = find(styles, style->based_on);
    }
    return found;
}
