/* SPDX-License-Identifier: MIT
 * docx_paragraph.c - see docx_paragraph.h. */
#include "shared/extract/docx_paragraph.h"

#include <stdio.h>

static const char heading_marks[] = "###### ";

void docx_paragraph_init(struct docx_paragraph *paragraph)
{
    *paragraph =
        (struct docx_paragraph){.list = DOCX_UNSET, .level = DOCX_UNSET, .heading = DOCX_UNSET};
}

void docx_paragraph_read(struct docx_paragraph *paragraph, const struct xml_tag *tag)
{
    struct str value = xml_attribute(tag, "val"), drop_cap = xml_attribute(tag, "dropCap");
    if (xml_is(tag, "pStyle"))
        snprintf(paragraph->style, sizeof paragraph->style, "%.*s", (int)value.n,
                 value.n == 0 ? "" : value.at);
    else if (xml_is(tag, "outlineLvl"))
        paragraph->heading = docx_heading_of_level(value);
    else if (xml_is(tag, "numPr"))
        paragraph->is_numbered = true;
    else if (xml_is(tag, "numId"))
        paragraph->list = xml_number(tag, "val", INT32_MAX, DOCX_UNSET);
    else if (xml_is(tag, "ilvl"))
        paragraph->level = xml_number(tag, "val", 8, DOCX_UNSET);
    else if (xml_is(tag, "framePr"))
        paragraph->joins_next = drop_cap.n > 0 && !str_eq(drop_cap, STR("none"));
    else if (xml_is(tag, "del"))
        paragraph->joins_next = true;
}

static void resolve_list(struct docx_paragraph *paragraph, const struct docx_style *style,
                         struct docx_numbering *numbering)
{
    bool is_of_style = paragraph->list == DOCX_UNSET && style->numbering != DOCX_UNSET;
    unsigned list = is_of_style ? style->numbering : paragraph->list;
    unsigned level = paragraph->level != DOCX_UNSET ? paragraph->level : style->level;
    struct buf number;
    if (list == 0 || (list == DOCX_UNSET && !paragraph->is_numbered))
        return;
    if (level == DOCX_UNSET)
        level = is_of_style ? docx_numbering_level(numbering, list, style->id) : 0;
    buf_init(&number, DOCX_MARK_MAX_BYTES - 2);
    paragraph->mark = docx_numbering_count(numbering, list, level, &number);
    if (is_of_style && style->is_bullet)
        paragraph->mark = DOCX_BULLET;
    if (paragraph->mark == DOCX_NUMBER)
        snprintf(paragraph->number, sizeof paragraph->number, "%.*s ", STR_ARG(buf_str(&number)));
    buf_fini(&number);
}

void docx_paragraph_resolve(struct docx_paragraph *paragraph, const struct docx_styles *styles,
                            struct docx_numbering *numbering)
{
    if (paragraph->is_resolved)
        return;
    paragraph->is_resolved = true;
    struct docx_style style = docx_styles_find(styles, str_of(paragraph->style));
    if (paragraph->heading == DOCX_UNSET)
        paragraph->heading = style.heading == DOCX_UNSET ? 0 : style.heading;
    resolve_list(paragraph, &style, numbering);
}

void docx_paragraph_mark(const struct docx_paragraph *paragraph, unsigned note,
                         char mark[DOCX_MARK_MAX_BYTES])
{
    const char *number = paragraph->mark == DOCX_NUMBER ? paragraph->number : "";
    if (note > 0)
        snprintf(mark, DOCX_MARK_MAX_BYTES, "[%u] %.100s", note, number);
    else if (paragraph->heading > 0)
        snprintf(mark, DOCX_MARK_MAX_BYTES, "%s%.100s", heading_marks + 6 - paragraph->heading,
                 number);
    else
        snprintf(mark, DOCX_MARK_MAX_BYTES, "%s", paragraph->mark == DOCX_BULLET ? "- " : number);
}
