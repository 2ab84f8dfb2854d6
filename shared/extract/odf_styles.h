/* SPDX-License-Identifier: MIT
 *
 * odf_styles: the styles of an OpenDocument that change its text: lists with their numbers, raised
 * or lowered letters, and hidden sheets. They are collected while a part is read, and found by
 * name once sorted. Owned by its holder; one thread.
 */
#ifndef PARLEY_EXTRACT_ODF_STYLES_H
#define PARLEY_EXTRACT_ODF_STYLES_H

#include "shared/extract/numbers.h"
#include "shared/extract/pool.h"
#include "shared/extract/xml_reader.h"

enum { ODF_LEVELS = 10 };

struct odf_level {
    enum number_form form; /* NUMBER_NONE: has no mark */
    struct str before, after;
    unsigned start, shown_levels;
};

struct odf_list {
    struct str name;
    struct odf_level levels[ODF_LEVELS];
};

struct odf_style {
    struct str name;
    char script;    /* '^', '_' or 0 */
    bool is_hidden; /* of a sheet */
};

struct odf_styles {
    struct pool texts;
    struct odf_list *lists;
    size_t list_n;
    struct odf_style *styles;
    size_t style_n;
    struct odf_list outline; /* of headings */
    struct odf_list *open;   /* the list that is being read */
    struct str style;        /* the style that is being read */
};

void odf_styles_init(struct odf_styles *styles);
void odf_styles_fini(struct odf_styles *styles);
/* Takes an element that describes styles; false: it does not. */
bool odf_styles_start(struct odf_styles *styles, const struct xml_tag *tag);
/* Sorts what was collected: it can be found from now on. */
void odf_styles_sort(struct odf_styles *styles);

const struct odf_list *odf_styles_list(const struct odf_styles *styles, struct str name);
/* '^', '_' or 0. */
char odf_styles_script(const struct odf_styles *styles, struct str name);
/* Returns whether sheets of that style are hidden. */
bool odf_styles_is_hidden(const struct odf_styles *styles, struct str name);
/* Puts the number of a level (from 0), whose counters have been counted; nothing for a bullet. */
void odf_put_number(struct buf *b, const struct odf_list *list, unsigned level,
                    const unsigned counters[ODF_LEVELS]);

#endif
