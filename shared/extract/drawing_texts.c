/* SPDX-License-Identifier: MIT
 * drawing_texts.c - see drawing_texts.h. Charts keep the values that they last showed. */
#include "shared/extract/drawing_texts.h"

#include "shared/base/mem.h"

#include <stdlib.h>

enum { POINTS_MAX = 4096, VALUE_MAX_BYTES = 1024, TEXTS_MAX_BYTES = 4 << 20 };

/* GROUPS: of categories, which the first of them names; OUTER_GROUPS: of groups. */
enum list { SERIES_NAME, CATEGORIES, GROUPS, OUTER_GROUPS, VALUES, LISTS };

struct drawing {
    struct flow *flow;
    struct pool texts;
    struct str points[LISTS][POINTS_MAX];
    unsigned point_n[LISTS]; /* of a list: its last point, and one */
    enum list list;          /* the one that is open; LISTS: none */
    unsigned point, level_n; /* level_n: those of the list that began, the innermost first */
    struct buf value;
    bool is_value, is_text;
};

static void begin_series(struct drawing *drawing)
{
    for (enum list list = 0; list < LISTS; list++) {
        memset(drawing->points[list], 0, drawing->point_n[list] * sizeof(struct str));
        drawing->point_n[list] = 0;
    }
}

static void put_piece(struct flow *flow, struct str piece)
{
    if (piece.n > 0) {
        flow_put(flow, STR(" "));
        flow_put(flow, piece);
    }
}

static void end_series(struct drawing *drawing)
{
    unsigned categories = drawing->point_n[CATEGORIES], values = drawing->point_n[VALUES];
    unsigned n = categories > values ? categories : values;
    struct str group = {NULL, 0}, outer = {NULL, 0};
    for (unsigned i = 0; i < n; i++) {
        group = drawing->points[GROUPS][i].n > 0 ? drawing->points[GROUPS][i] : group;
        outer = drawing->points[OUTER_GROUPS][i].n > 0 ? drawing->points[OUTER_GROUPS][i] : outer;
        if (drawing->points[CATEGORIES][i].n + drawing->points[VALUES][i].n == 0)
            continue;
        flow_break(drawing->flow, 1);
        flow_put(drawing->flow, drawing->points[SERIES_NAME][0]);
        put_piece(drawing->flow, outer);
        put_piece(drawing->flow, group);
        put_piece(drawing->flow, drawing->points[CATEGORIES][i]);
        put_piece(drawing->flow, drawing->points[VALUES][i]);
    }
    flow_break(drawing->flow, 1);
    begin_series(drawing);
}

static enum list list_of(const struct xml_tag *tag)
{
    static const struct {
        const char *name;
        enum list list;
    } lists[] = {{"tx", SERIES_NAME},
                 {"cat", CATEGORIES},
                 {"xVal", CATEGORIES},
                 {"val", VALUES},
                 {"yVal", VALUES}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (xml_is(tag, lists[i].name))
            return lists[i].list;
    return LISTS;
}

static void on_chart_start(struct drawing *drawing, const struct xml_tag *tag)
{
    enum list list = list_of(tag);
    if (list != LISTS) {
        drawing->list = list;
        drawing->point = drawing->level_n = 0;
    } else if (xml_is(tag, "lvl") && drawing->list != SERIES_NAME) {
        static const enum list levels[] = {CATEGORIES, GROUPS, OUTER_GROUPS, LISTS};
        drawing->list = levels[drawing->level_n < 3 ? drawing->level_n++ : 3];
    } else if (xml_is(tag, "ser")) {
        begin_series(drawing);
    } else if (xml_is(tag, "pt")) {
        drawing->point = xml_number(tag, "idx", POINTS_MAX - 1, POINTS_MAX);
    } else if (xml_is(tag, "v")) {
        drawing->is_value = true;
        buf_clear(&drawing->value);
    }
}

static void on_start(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct drawing *drawing = reader->data;
    if (tag->space == XML_CHART)
        on_chart_start(drawing, tag);
    else if (tag->space == XML_DRAWING && xml_is(tag, "t"))
        drawing->is_text = true;
    else if (tag->space == XML_DIAGRAM && xml_is(tag, "pt"))
        flow_break(drawing->flow, 1);
}

static void end_value(struct drawing *drawing)
{
    drawing->is_value = false;
    if (drawing->list == LISTS || drawing->point >= POINTS_MAX)
        return;
    drawing->points[drawing->list][drawing->point] =
        pool_keep(&drawing->texts, buf_str(&drawing->value));
    if (drawing->point_n[drawing->list] <= drawing->point)
        drawing->point_n[drawing->list] = drawing->point + 1;
}

static void on_end(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct drawing *drawing = reader->data;
    if (tag->space == XML_DRAWING && xml_is(tag, "t"))
        drawing->is_text = false;
    else if (tag->space == XML_DRAWING && xml_is(tag, "p"))
        flow_break(drawing->flow, 1);
    if (tag->space != XML_CHART)
        return;
    if (xml_is(tag, "v"))
        end_value(drawing);
    else if (xml_is(tag, "ser"))
        end_series(drawing);
    else if (list_of(tag) != LISTS)
        drawing->list = LISTS;
}

static void on_text(struct xml_reader *reader, struct str text)
{
    struct drawing *drawing = reader->data;
    if (drawing->is_value)
        buf_put(&drawing->value, text);
    else if (drawing->is_text)
        flow_put(drawing->flow, text);
}

enum extract_fault drawing_texts_read(struct package *package, struct str part, struct flow *flow)
{
    struct drawing *drawing = mem_zeroed(sizeof *drawing);
    struct xml_handler handler = {
        .data = drawing, .on_start = on_start, .on_end = on_end, .on_text = on_text};
    drawing->flow = flow;
    drawing->list = LISTS;
    drawing->texts.max_bytes = TEXTS_MAX_BYTES;
    buf_init(&drawing->value, VALUE_MAX_BYTES);
    flow_break(flow, 2);
    enum extract_fault fault = package_read_xml(package, part, &handler);
    flow_break(flow, 2);
    buf_fini(&drawing->value);
    pool_fini(&drawing->texts);
    free(drawing);
    return fault;
}

static bool is_below(struct str name, struct str folder, const char *rest)
{
    struct str wanted = str_of(rest);
    return name.n > folder.n + wanted.n && str_has_prefix(name, folder) &&
           str_has_prefix((struct str){name.at + folder.n, name.n - folder.n}, wanted);
}

enum extract_fault drawing_texts_read_all(struct package *package, struct str folder,
                                          struct flow *flow)
{
    enum extract_fault fault = EXTRACT_FAULT_NONE;
    for (size_t i = 0; fault == EXTRACT_FAULT_NONE && i < package->part_n; i++) {
        struct str name = package->parts[i].name;
        if (is_below(name, folder, "charts/chart") || is_below(name, folder, "diagrams/data"))
            fault = drawing_texts_read(package, name, flow);
    }
    return fault;
}

static bool is_file_name(struct str text)
{
    static const char *const endings[] = {".png",  ".jpg", ".jpeg", ".gif", ".bmp", ".tif",
                                          ".tiff", ".emf", ".wmf",  ".svg", ".webp"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        struct str ending = str_of(endings[i]);
        if (text.n > ending.n &&
            str_eq_nocase((struct str){text.at + text.n - ending.n, ending.n}, ending))
            return true;
    }
    return false;
}

struct str drawing_alt_text(struct str description)
{
    static const struct str remark = {"Description automatically generated", 35};
    const char *end = description.n < remark.n
                          ? NULL
                          : memmem(description.at, description.n, remark.at, remark.n);
    struct str text = {description.at,
                       end == NULL ? description.n : (size_t)(end - description.at)};
    text = str_trim(text);
    return is_file_name(text) ? STR("") : text;
}
