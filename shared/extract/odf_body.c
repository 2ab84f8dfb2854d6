/* SPDX-License-Identifier: MIT
 * odf_body.c - see odf_body.h (OpenDocument 1.3, part 3). Left out are comments, deleted text, the
 * numbers of pages, and what is only on masters of slides. */
#include "shared/extract/odf_body.h"

#include "shared/base/mem.h"
#include "shared/extract/flow.h"
#include "shared/extract/odf_math.h"
#include "shared/extract/table_rows.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LISTS_MAX = 10,
    SPANS_MAX = 32,
    MARK_MAX_BYTES = 64,
    CLASS_MAX_BYTES = 24,
};

/* A list that is open. */
struct list {
    const struct odf_list *style;
    bool is_item_begun; /* its mark was put */
    bool has_mark;
};

struct odf {
    struct package *package;
    struct odf_styles *styles;
    struct odf_math math;
    struct flow flow;
    struct buf notes, cell;
    struct table_rows rows;
    struct flow outer_of_cell, outer_of_note;
    unsigned table_depth, list_depth, span_depth, paragraph_depth;
    unsigned column_n, row_n; /* that the cell spans */
    struct list lists[LISTS_MAX];
    unsigned counters[ODF_LEVELS], outline[ODF_LEVELS];
    char scripts[SPANS_MAX]; /* of the spans that are open */
    char last_script;
    unsigned heading, note_n, page_n;
    bool is_begun, is_cell_open, is_in_note, is_in_alt, was_list, is_title, is_in_notes_page;
    bool is_body, is_headers, is_header_open, has_page_number;
    bool is_label_due; /* "Notes: " comes before the next text */
    bool is_formula;   /* the frame holds one: its description says less */
    size_t from;       /* where the paragraph begins */
    struct flow flow_before;
    char mark[MARK_MAX_BYTES];
};

/* ---- paragraphs ---- */

static void count(unsigned counters[ODF_LEVELS], const struct odf_list *list, unsigned level)
{
    unsigned start = list == NULL ? 1 : list->levels[level].start;
    counters[level] = counters[level] == 0 ? start : counters[level] + 1;
    for (unsigned i = level + 1; i < ODF_LEVELS; i++)
        counters[i] = 0;
}

static void put_number(struct buf *mark, const struct odf_list *list, unsigned level,
                       const unsigned counters[ODF_LEVELS])
{
    size_t from = mark->n;
    if (list != NULL)
        odf_put_number(mark, list, level, counters);
    if (mark->n > from)
        buf_put_char(mark, ' ');
}

/* Makes the mark of an item, once for all its paragraphs. */
static void make_item_mark(struct odf *odf, struct buf *mark)
{
    unsigned level = odf->list_depth < LISTS_MAX ? odf->list_depth - 1 : LISTS_MAX - 1;
    struct list *list = &odf->lists[level];
    if (list->is_item_begun || !list->has_mark)
        return;
    list->is_item_begun = true;
    count(odf->counters, list->style, level);
    put_number(mark, list->style, level, odf->counters);
    bool has_bullet = list->style == NULL || list->style->levels[level].form == NUMBER_BULLET;
    if (mark->n == 0 && has_bullet)
        buf_lit(mark, "- ");
}

static void make_heading_mark(struct odf *odf, struct buf *mark)
{
    static const char marks[] = "###### ";
    unsigned shown = odf->heading > 6 ? 6 : odf->heading;
    buf_put(mark, str_of(marks + 6 - shown));
    count(odf->outline, &odf->styles->outline, odf->heading - 1);
    put_number(mark, &odf->styles->outline, odf->heading - 1, odf->outline);
}

/* The first text of a paragraph. */
static void begin_paragraph(struct odf *odf)
{
    struct buf mark;
    if (odf->is_begun)
        return;
    odf->is_begun = true;
    buf_init(&mark, MARK_MAX_BYTES - 1);
    if (odf->heading > 0)
        make_heading_mark(odf, &mark);
    else if (odf->is_title && !odf->is_in_notes_page)
        buf_lit(&mark, "## ");
    else if (odf->list_depth > 0 && !odf->is_in_note)
        make_item_mark(odf, &mark);
    bool is_list = odf->list_depth > 0 && odf->heading == 0;
    flow_break(&odf->flow, is_list && odf->was_list ? 1 : 2);
    odf->was_list = is_list;
    snprintf(odf->mark, sizeof odf->mark, "%.*s", (int)mark.n, mark.n == 0 ? "" : mark.at);
    buf_fini(&mark);
    if (odf->flow.cell_depth == 0)
        flow_mark(&odf->flow, str_of(odf->mark));
    else if (odf->heading == 0 && strcmp(odf->mark, "- ") != 0)
        flow_put(&odf->flow, str_of(odf->mark));
    if (odf->is_label_due)
        flow_put(&odf->flow, STR("Notes: "));
    odf->is_label_due = false;
}

static void put_text(struct odf *odf, struct str text)
{
    char script = odf->span_depth == 0           ? 0
                  : odf->span_depth <= SPANS_MAX ? odf->scripts[odf->span_depth - 1]
                                                 : odf->scripts[SPANS_MAX - 1];
    struct flow *flow = &odf->flow;
    begin_paragraph(odf);
    bool is_close = flow->newlines == 0 && flow->spaces == 0 && flow->out->n > 0;
    if (script != 0 && script != odf->last_script && is_close)
        flow_put(flow, (struct str){&script, 1});
    odf->last_script = script;
    flow_put(flow, text);
}

static void begin_text(struct odf *odf, const struct xml_tag *tag)
{
    odf->paragraph_depth++;
    odf->is_begun = odf->has_page_number = false;
    odf->from = odf->flow.out->n;
    odf->flow_before = odf->flow;
    odf->last_script = 0;
    odf->heading = 0;
    if (xml_is(tag, "h") && !odf->is_in_note)
        odf->heading = xml_number(tag, "outline-level", ODF_LEVELS, 1);
    if (odf->heading > ODF_LEVELS || (xml_is(tag, "h") && odf->heading == 0))
        odf->heading = 1;
}

/* Takes back what a paragraph of a header has besides the number of the page. */
static void take_back_label(struct odf *odf)
{
    struct buf *out = odf->flow.out;
    if (!odf->has_page_number || odf->flow_before.out != out || out->n < odf->from ||
        !numbers_is_page_label((struct str){out->at + odf->from, out->n - odf->from}))
        return;
    out->n = odf->from;
    odf->flow = odf->flow_before;
}

static void end_text(struct odf *odf)
{
    odf->paragraph_depth -= odf->paragraph_depth > 0;
    odf->heading = 0;
    take_back_label(odf);
    flow_mark(&odf->flow, STR(""));
    flow_break(&odf->flow, 1);
}

/* ---- lists ---- */

static void begin_list(struct odf *odf, const struct xml_tag *tag)
{
    struct str name = xml_attribute(tag, "style-name"),
               continues = xml_attribute(tag, "continue-numbering"),
               list = xml_attribute(tag, "continue-list");
    const struct odf_list *outer = odf->list_depth > 0 && odf->list_depth <= LISTS_MAX
                                       ? odf->lists[odf->list_depth - 1].style
                                       : NULL;
    const struct odf_list *style = name.n > 0 ? odf_styles_list(odf->styles, name) : outer;
    if (odf->list_depth == 0 && list.n == 0 && !str_eq(continues, STR("true")))
        memset(odf->counters, 0, sizeof odf->counters);
    if (odf->list_depth < LISTS_MAX)
        odf->lists[odf->list_depth] = (struct list){.style = style};
    odf->list_depth++;
}

static void begin_item(struct odf *odf, const struct xml_tag *tag)
{
    unsigned level = odf->list_depth - 1;
    if (odf->list_depth == 0 || level >= LISTS_MAX)
        return;
    unsigned start = xml_number(tag, "start-value", INT32_MAX, 0);
    odf->lists[level].has_mark = xml_is(tag, "list-item");
    odf->lists[level].is_item_begun = false;
    if (start > 0)
        odf->counters[level] = start - 1;
}

/* ---- tables ---- */

static void begin_table(struct odf *odf)
{
    if (odf->table_depth++ > 0)
        return;
    table_rows_fini(&odf->rows);
    table_rows_init(&odf->rows);
    flow_break(&odf->flow, 2);
}

static void begin_cell(struct odf *odf, const struct xml_tag *tag)
{
    if (odf->table_depth != 1 || odf->is_cell_open)
        return;
    odf->is_cell_open = true;
    odf->column_n = xml_number(tag, "number-columns-spanned", TABLE_COLUMNS_MAX, 1);
    odf->row_n = xml_number(tag, "number-rows-spanned", TABLE_ROWS_SPANNED_MAX, 1);
    odf->outer_of_cell = odf->flow;
    buf_clear(&odf->cell);
    odf->flow = (struct flow){.out = &odf->cell, .cell_depth = 1};
}

static void end_cell(struct odf *odf)
{
    if (odf->table_depth != 1 || !odf->is_cell_open)
        return;
    odf->is_cell_open = false;
    odf->flow = odf->outer_of_cell;
    table_rows_put(&odf->rows, buf_str(&odf->cell), odf->column_n, odf->row_n);
}

static void end_row(struct odf *odf)
{
    struct str line;
    if (odf->table_depth != 1 || odf->is_cell_open)
        return;
    line = table_rows_end(&odf->rows);
    if (line.n > 0)
        flow_put_line(&odf->flow, line);
}

static void end_table(struct odf *odf)
{
    odf->table_depth -= odf->table_depth > 0;
    odf->was_list = false;
    flow_break(&odf->flow, 2);
}

static void on_table_start(struct xml_reader *reader, struct odf *odf, const struct xml_tag *tag)
{
    if (xml_is(tag, "table"))
        begin_table(odf);
    else if (xml_is(tag, "table-row") && odf->table_depth == 1)
        table_rows_begin(&odf->rows);
    else if (xml_is(tag, "table-cell"))
        begin_cell(odf, tag);
    else if (xml_is(tag, "covered-table-cell")) /* by one that has put it */
        xml_skip(reader);
}

/* ---- notes ---- */

/* A note goes to the end, and its mark is here. */
static void begin_note(struct odf *odf)
{
    char mark[16];
    if (odf->is_in_note)
        return;
    snprintf(mark, sizeof mark, "[%u]", ++odf->note_n);
    begin_paragraph(odf);
    flow_put(&odf->flow, str_of(mark));
    odf->is_in_note = true;
    odf->outer_of_note = odf->flow;
    if (odf->notes.n > 0)
        buf_lit(&odf->notes, "\n\n");
    buf_put(&odf->notes, str_of(mark));
    odf->flow = (struct flow){.out = &odf->notes, .has_begun = true, .spaces = 1, .cell_depth = 1};
}

static void end_note(struct odf *odf)
{
    if (odf->is_in_note)
        odf->flow = odf->outer_of_note;
    odf->is_in_note = false;
    odf->is_begun = true; /* the paragraph that it interrupted */
}

/* ---- slides ---- */

static void begin_page(struct odf *odf)
{
    if (odf->page_n++ > 0) {
        buf_put_char(odf->flow.out, '\f');
        odf->flow = (struct flow){.out = odf->flow.out};
    }
}

static void begin_frame(struct xml_reader *reader, struct odf *odf, const struct xml_tag *tag)
{
    static const char *const left_out[] = {"header", "footer", "date-time", "page-number", NULL};
    struct str class = xml_attribute(tag, "class");
    for (const char *const *name = left_out; *name != NULL; name++)
        if (str_eq(class, str_of(*name)))
            xml_skip(reader);
    odf->is_title = str_eq(class, STR("title"));
    odf->is_formula = false;
    if (odf->paragraph_depth == 0)
        flow_break(&odf->flow, 2);
}

/* ---- formulas ---- */

static void put_formula(struct odf *odf)
{
    struct str formula = buf_str(&odf->math.equation.text);
    odf->is_formula = formula.n > 0;
    if (odf->is_formula)
        put_text(odf, formula);
}

static void read_object(struct odf *odf, const struct xml_tag *tag)
{
    if (odf_math_read(&odf->math, odf->package, xml_attribute(tag, "href")))
        put_formula(odf);
}

/* ---- events ---- */

static bool is_left_out(const struct xml_tag *tag)
{
    static const struct {
        enum xml_space space;
        const char *name;
    } elements[] = {
        {XML_ODF_OFFICE, "annotation"},  {XML_ODF_OFFICE, "forms"},
        {XML_ODF_OFFICE, "scripts"},     {XML_ODF_TEXT, "tracked-changes"},
        {XML_ODF_TEXT, "note-citation"}, {XML_ODF_TEXT, "page-number"},
        {XML_ODF_TEXT, "page-count"},    {XML_ODF_TEXT, "sequence-decls"},
        {XML_ODF_TEXT, "hidden-text"},   {XML_ODF_TEXT, "index-title-template"},
    };
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (tag->space == elements[i].space && xml_is(tag, elements[i].name))
            return true;
    return false;
}

static void begin_span(struct odf *odf, const struct xml_tag *tag)
{
    char outer = (char)(odf->span_depth > 0 && odf->span_depth <= SPANS_MAX
                            ? odf->scripts[odf->span_depth - 1]
                            : 0);
    char own = odf_styles_script(odf->styles, xml_attribute(tag, "style-name"));
    if (odf->span_depth < SPANS_MAX)
        odf->scripts[odf->span_depth] = (char)(own != 0 ? own : outer);
    odf->span_depth++;
}

static void on_text_start(struct odf *odf, const struct xml_tag *tag)
{
    if (xml_is(tag, "p") || xml_is(tag, "h"))
        begin_text(odf, tag);
    else if (xml_is(tag, "list"))
        begin_list(odf, tag);
    else if (xml_is(tag, "list-item") || xml_is(tag, "list-header"))
        begin_item(odf, tag);
    else if (xml_is(tag, "span"))
        begin_span(odf, tag);
    else if (xml_is(tag, "s") || xml_is(tag, "tab"))
        flow_put(&odf->flow, STR(" "));
    else if (xml_is(tag, "line-break"))
        flow_break(&odf->flow, 1);
    else if (xml_is(tag, "note"))
        begin_note(odf);
    else if (xml_is(tag, "ruby-text"))
        put_text(odf, STR("("));
}

static void on_start(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct odf *odf = reader->data;
    if (tag->space == XML_ODF_OFFICE && xml_is(tag, "body")) {
        odf_styles_sort(odf->styles);
        odf->is_body = true;
    }
    if (is_left_out(tag)) {
        odf->has_page_number |=
            odf->is_header_open && (xml_is(tag, "page-number") || xml_is(tag, "page-count"));
        xml_skip(reader);
    } else if (odf->is_headers && tag->space == XML_ODF_STYLE &&
               (xml_is(tag, "header") || xml_is(tag, "footer"))) {
        odf->is_header_open = true;
    } else if (!odf->is_body && !odf->is_header_open) {
        odf_styles_start(odf->styles, tag);
    } else if (tag->space == XML_ODF_TEXT) {
        on_text_start(odf, tag);
    } else if (tag->space == XML_ODF_TABLE) {
        on_table_start(reader, odf, tag);
    } else if (tag->space == XML_ODF_DRAW && xml_is(tag, "page")) {
        begin_page(odf);
    } else if (tag->space == XML_ODF_DRAW && xml_is(tag, "frame")) {
        begin_frame(reader, odf, tag);
    } else if (tag->space == XML_ODF_PRESENTATION && xml_is(tag, "notes")) {
        odf->is_in_notes_page = odf->is_label_due = true;
    } else if (tag->space == XML_ODF_SVG && odf->is_formula) {
        xml_skip(reader);
    } else if (tag->space == XML_ODF_SVG && xml_is(tag, "desc")) {
        odf->is_in_alt = true;
    } else if (tag->space == XML_ODF_DRAW && xml_is(tag, "object")) {
        read_object(odf, tag);
    } else if (tag->space == XML_MATHML) {
        odf_math_start(&odf->math, reader, tag);
    }
}

static void on_text_end(struct odf *odf, const struct xml_tag *tag)
{
    if (xml_is(tag, "p") || xml_is(tag, "h"))
        end_text(odf);
    else if (xml_is(tag, "list"))
        odf->list_depth -= odf->list_depth > 0;
    else if (xml_is(tag, "span"))
        odf->span_depth -= odf->span_depth > 0;
    else if (xml_is(tag, "note"))
        end_note(odf);
    else if (xml_is(tag, "ruby-text"))
        put_text(odf, STR(")"));
}

static void on_end(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct odf *odf = reader->data;
    if (!odf->is_body && !odf->is_header_open)
        return;
    if (odf_math_is_open(&odf->math)) {
        if (odf_math_end(&odf->math))
            put_formula(odf);
        return;
    }
    if (tag->space == XML_ODF_TEXT)
        on_text_end(odf, tag);
    else if (tag->space == XML_ODF_TABLE && xml_is(tag, "table-cell"))
        end_cell(odf);
    else if (tag->space == XML_ODF_TABLE && xml_is(tag, "table-row"))
        end_row(odf);
    else if (tag->space == XML_ODF_TABLE && xml_is(tag, "table"))
        end_table(odf);
    else if (tag->space == XML_ODF_DRAW && xml_is(tag, "frame"))
        odf->is_title = false;
    else if (tag->space == XML_ODF_PRESENTATION && xml_is(tag, "notes"))
        odf->is_in_notes_page = odf->is_label_due = false;
    else if (tag->space == XML_ODF_SVG && xml_is(tag, "desc"))
        odf->is_in_alt = false;
    else if (tag->space == XML_ODF_STYLE && (xml_is(tag, "header") || xml_is(tag, "footer")))
        odf->is_header_open = false;
}

static void on_text(struct xml_reader *reader, struct str text)
{
    struct odf *odf = reader->data;
    if (odf_math_is_open(&odf->math))
        odf_math_text(&odf->math, text);
    else if (odf->paragraph_depth > 0 || (odf->is_in_alt && odf->is_body))
        put_text(odf, text);
}

/* ---- parts ---- */

static struct odf *make_odf(struct package *package, struct odf_styles *styles, struct buf *out)
{
    struct odf *odf = mem_zeroed(sizeof *odf);
    odf->package = package;
    odf_math_init(&odf->math);
    odf->styles = styles;
    odf->flow.out = out;
    buf_init(&odf->notes, EXTRACT_TEXT_MAX_BYTES);
    buf_init(&odf->cell, EXTRACT_TEXT_MAX_BYTES);
    table_rows_init(&odf->rows);
    return odf;
}

static void free_odf(struct odf *odf)
{
    buf_fini(&odf->notes);
    buf_fini(&odf->cell);
    table_rows_fini(&odf->rows);
    odf_math_fini(&odf->math);
    free(odf);
}

enum extract_fault odf_body_read(struct package *package, struct odf_styles *styles,
                                 struct buf *rough)
{
    struct odf *odf = make_odf(package, styles, rough);
    struct xml_handler handler = {
        .data = odf, .on_start = on_start, .on_end = on_end, .on_text = on_text};
    enum extract_fault fault = package_read_xml(package, STR("content.xml"), &handler);
    if (fault == EXTRACT_FAULT_NONE && !odf->is_body)
        fault = EXTRACT_FAULT_NOT_KIND;
    if (odf->notes.n > 0) {
        buf_lit(rough, "\n\n");
        buf_put(rough, buf_str(&odf->notes));
    }
    free_odf(odf);
    return fault;
}

enum extract_fault odf_headers_read(struct package *package, struct odf_styles *styles,
                                    struct buf *headers)
{
    struct odf *odf = make_odf(package, styles, headers);
    struct xml_handler handler = {
        .data = odf, .on_start = on_start, .on_end = on_end, .on_text = on_text};
    odf->is_headers = true;
    enum extract_fault fault = package_read_xml(package, STR("styles.xml"), &handler);
    free_odf(odf);
    return fault;
}
