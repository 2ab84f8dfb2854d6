/* SPDX-License-Identifier: MIT
 * pptx_slide.c - see pptx_slide.h (PresentationML and DrawingML of ECMA-376). A slide is a list of
 * shapes. Those that hold a place of the layout say which: title, body, footer. Left out are
 * hidden shapes, dates, footers and slide numbers. */
#include "shared/extract/pptx_slide.h"

#include "shared/base/mem.h"
#include "shared/extract/docx_equations.h"
#include "shared/extract/drawing_texts.h"
#include "shared/extract/flow.h"
#include "shared/extract/numbers.h"
#include "shared/extract/table_rows.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LEVELS = 9,
    DRAWINGS_MAX = 64,
    PLACE_MAX_BYTES = 16,
    MARK_MAX_BYTES = 32,
    TITLE_MAX_BYTES = 4096,
    NUMBER_MAX = 32767,
};

enum bullet { BULLET_OF_PLACE, BULLET_NONE, BULLET_SIGN, BULLET_NUMBER };

struct slide {
    struct flow flow, outer; /* outer: of the slide, while a cell or the title is open */
    struct buf title, cell;
    struct table_rows rows;
    struct equation equation;
    struct pool texts;
    struct str drawings[DRAWINGS_MAX]; /* relationships of charts and SmartArt */
    size_t drawing_n;
    /* The shape that is open. */
    char place[PLACE_MAX_BYTES];
    bool has_place, is_hidden, is_picture, is_notes, is_title_open, is_cell_open;
    unsigned column_n, row_n; /* that the cell spans */
    unsigned numbers[LEVELS];
    /* The paragraph that is open. */
    bool is_begun, is_text, is_field;
    char script, last_script; /* '^', '_' or 0 */
    unsigned level, start;
    enum bullet bullet;
    enum number_form form;
    char before, after; /* signs around its number; 0: none */
    char mark[MARK_MAX_BYTES];
};

/* ---- shapes ---- */

static bool is_place(const struct slide *slide, const char *const *places)
{
    for (; *places != NULL; places++)
        if (strcmp(slide->place, *places) == 0)
            return true;
    return false;
}

static bool is_left_out(const struct slide *slide)
{
    static const char *const always[] = {"dt", "ftr", "sldNum", "hdr", NULL};
    static const char *const notes[] = {"body", NULL};
    return slide->is_hidden || is_place(slide, always) ||
           (slide->is_notes && !is_place(slide, notes));
}

static void begin_shape(struct slide *slide, const struct xml_tag *tag)
{
    slide->place[0] = 0;
    slide->has_place = slide->is_hidden = false;
    slide->is_picture = !xml_is(tag, "sp");
    memset(slide->numbers, 0, sizeof slide->numbers);
    flow_break(&slide->flow, 2);
}

/* A title has a flow of its own: it comes first, wherever it is among the shapes. */
static void begin_title(struct slide *slide)
{
    static const char *const titles[] = {"title", "ctrTitle", NULL};
    if (slide->is_notes || slide->is_title_open || slide->is_cell_open || !is_place(slide, titles))
        return;
    slide->is_title_open = true;
    slide->outer = slide->flow;
    slide->flow = (struct flow){
        .out = &slide->title, .has_begun = slide->title.n > 0, .spaces = 1, .cell_depth = 1};
}

static void end_title(struct slide *slide)
{
    if (slide->is_title_open)
        slide->flow = slide->outer;
    slide->is_title_open = false;
}

static void read_place(struct slide *slide, const struct xml_tag *tag)
{
    struct str type = xml_attribute(tag, "type");
    slide->has_place = true;
    snprintf(slide->place, sizeof slide->place, "%.*s", (int)type.n, type.n == 0 ? "" : type.at);
}

static void put_alt_text(struct slide *slide, const struct xml_tag *tag)
{
    slide->is_hidden = str_eq(xml_attribute(tag, "hidden"), STR("1"));
    if (!slide->is_picture || slide->is_hidden || slide->is_notes)
        return;
    flow_put(&slide->flow, drawing_alt_text(xml_attribute(tag, "descr")));
    flow_break(&slide->flow, 2);
}

static void keep_drawing(struct slide *slide, struct str relation)
{
    if (relation.n > 0 && slide->drawing_n < DRAWINGS_MAX)
        slide->drawings[slide->drawing_n++] = pool_keep(&slide->texts, relation);
}

/* ---- paragraphs ---- */

static void begin_paragraph(struct slide *slide)
{
    slide->is_begun = false;
    slide->level = 0;
    slide->start = 1;
    slide->bullet = BULLET_OF_PLACE;
    slide->script = slide->last_script = 0;
}

/* "arabicPeriod", "alphaLcParenR", "romanUcParenBoth". */
static void read_number(struct slide *slide, struct str type)
{
    static const struct {
        struct str name;
        enum number_form form;
    } forms[] = {{{"alphaLc", 7}, NUMBER_LOWER_LETTER}, {{"alphaUc", 7}, NUMBER_UPPER_LETTER},
                 {{"romanLc", 7}, NUMBER_LOWER_ROMAN},  {{"romanUc", 7}, NUMBER_UPPER_ROMAN},
                 {{"circleNum", 9}, NUMBER_CIRCLED},    {{"ea1Chs", 6}, NUMBER_CHINESE}};
    bool has_both = str_holds(type, STR("ParenBoth")), has_right = str_holds(type, STR("ParenR")),
         has_dot = str_holds(type, STR("Period"));
    slide->form = NUMBER_DECIMAL;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (str_has_prefix(type, forms[i].name))
            slide->form = forms[i].form;
    slide->bullet = BULLET_NUMBER;
    slide->before = (char)(has_both ? '(' : 0);
    slide->after = (char)(has_both || has_right ? ')' : has_dot ? '.' : 0);
}

static enum bullet bullet_of(const struct slide *slide)
{
    static const char *const listed[] = {"", "body", "obj", NULL};
    if (slide->bullet != BULLET_OF_PLACE)
        return slide->bullet;
    return slide->has_place && !slide->is_notes && is_place(slide, listed) ? BULLET_SIGN
                                                                           : BULLET_NONE;
}

static void make_mark(struct slide *slide, enum bullet bullet)
{
    struct buf mark;
    unsigned *number = &slide->numbers[slide->level];
    *number = bullet != BULLET_NUMBER ? 0 : *number == 0 ? slide->start : *number + 1;
    for (unsigned i = slide->level + 1; i < LEVELS; i++)
        slide->numbers[i] = 0;
    buf_init(&mark, MARK_MAX_BYTES - 1);
    if (bullet == BULLET_SIGN)
        buf_lit(&mark, "- ");
    if (bullet == BULLET_NUMBER) {
        if (slide->before != 0)
            buf_put_char(&mark, slide->before);
        numbers_put(&mark, slide->form, *number);
        if (slide->after != 0)
            buf_put_char(&mark, slide->after);
        buf_put_char(&mark, ' ');
    }
    snprintf(slide->mark, sizeof slide->mark, "%.*s", (int)mark.n, mark.n == 0 ? "" : mark.at);
    buf_fini(&mark);
}

/* The first text of a paragraph: by now it is known what it is. */
static void begin_text(struct slide *slide)
{
    if (slide->is_begun)
        return;
    slide->is_begun = true;
    begin_title(slide);
    if (slide->is_title_open || slide->is_cell_open)
        return;
    make_mark(slide, bullet_of(slide));
    flow_break(&slide->flow, 1);
    flow_mark(&slide->flow, str_of(slide->mark));
}

/* ---- tables ---- */

static void begin_cell(struct slide *slide, const struct xml_tag *tag)
{
    bool is_covered = str_eq(xml_attribute(tag, "hMerge"), STR("1")) ||
                      str_eq(xml_attribute(tag, "vMerge"), STR("1"));
    if (slide->is_cell_open)
        return;
    slide->is_cell_open = true;
    slide->column_n = is_covered ? 0 : xml_number(tag, "gridSpan", TABLE_COLUMNS_MAX, 1);
    slide->row_n = xml_number(tag, "rowSpan", TABLE_ROWS_SPANNED_MAX, 1);
    slide->outer = slide->flow;
    buf_clear(&slide->cell);
    slide->flow = (struct flow){.out = &slide->cell, .cell_depth = 1};
}

static void end_cell(struct slide *slide)
{
    if (!slide->is_cell_open)
        return;
    slide->is_cell_open = false;
    slide->flow = slide->outer;
    if (slide->column_n > 0) /* else it is covered by another one, which has put it */
        table_rows_put(&slide->rows, buf_str(&slide->cell), slide->column_n, slide->row_n);
}

static void end_row(struct slide *slide)
{
    struct str line = table_rows_end(&slide->rows);
    if (line.n > 0 && !slide->is_cell_open)
        flow_put_line(&slide->flow, line);
}

static void begin_table(struct slide *slide)
{
    table_rows_fini(&slide->rows);
    table_rows_init(&slide->rows);
    flow_break(&slide->flow, 2);
}

/* ---- events ---- */

static void on_shape_start(struct slide *slide, const struct xml_tag *tag)
{
    if (xml_is(tag, "sp") || xml_is(tag, "pic") || xml_is(tag, "graphicFrame"))
        begin_shape(slide, tag);
    else if (xml_is(tag, "cNvPr"))
        put_alt_text(slide, tag);
    else if (xml_is(tag, "ph"))
        read_place(slide, tag);
}

/* Thousandths of a percent that letters are raised by. */
static char script_of(struct str baseline)
{
    bool is_none = baseline.n == 0 || str_eq(baseline, STR("0")) || str_eq(baseline, STR("0%"));
    return (char)(is_none ? 0 : *baseline.at == '-' ? '_' : '^');
}

static void on_text_start(struct slide *slide, const struct xml_tag *tag)
{
    struct str type = xml_attribute(tag, "type");
    if (xml_is(tag, "p"))
        begin_paragraph(slide);
    else if (xml_is(tag, "r"))
        slide->script = 0;
    else if (xml_is(tag, "rPr"))
        slide->script = script_of(xml_attribute(tag, "baseline"));
    else if (xml_is(tag, "pPr"))
        slide->level = xml_number(tag, "lvl", LEVELS - 1, 0);
    else if (xml_is(tag, "buNone"))
        slide->bullet = BULLET_NONE;
    else if (xml_is(tag, "buChar") || xml_is(tag, "buBlip"))
        slide->bullet = BULLET_SIGN;
    else if (xml_is(tag, "buAutoNum")) {
        slide->start = xml_number(tag, "startAt", NUMBER_MAX, 1);
        read_number(slide, type.n == 0 ? STR("arabicPeriod") : type);
    } else if (xml_is(tag, "fld"))
        slide->is_field = str_eq(type, STR("slidenum")) || str_has_prefix(type, STR("datetime"));
    else if (xml_is(tag, "t"))
        slide->is_text = !slide->is_field && !is_left_out(slide);
    else if (xml_is(tag, "br"))
        flow_break(&slide->flow, 1);
    else if (xml_is(tag, "tbl"))
        begin_table(slide);
    else if (xml_is(tag, "tr"))
        table_rows_begin(&slide->rows);
    else if (xml_is(tag, "tc"))
        begin_cell(slide, tag);
}

static void on_start(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct slide *slide = reader->data;
    if (equation_is_open(&slide->equation))
        equation_start(&slide->equation, tag);
    else if (tag->space == XML_SLIDES)
        on_shape_start(slide, tag);
    else if (tag->space == XML_DRAWING)
        on_text_start(slide, tag);
    else if (tag->space == XML_MATH && xml_is(tag, "oMath"))
        equation_start(&slide->equation, tag);
    else if (tag->space == XML_CHART && xml_is(tag, "chart"))
        keep_drawing(slide, xml_relation(tag, "id"));
    else if (tag->space == XML_DIAGRAM && xml_is(tag, "relIds"))
        keep_drawing(slide, xml_relation(tag, "dm"));
}

static void put_text(struct slide *slide, struct str text)
{
    struct flow *flow = &slide->flow;
    begin_text(slide);
    bool is_close = flow->newlines == 0 && flow->spaces == 0 && flow->out->n > 0;
    if (slide->script != 0 && slide->script != slide->last_script && is_close)
        flow_put(flow, (struct str){&slide->script, 1});
    slide->last_script = slide->script;
    flow_put(flow, text);
}

static void on_end(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct slide *slide = reader->data;
    if (equation_is_open(&slide->equation)) {
        if (!equation_end(&slide->equation, tag))
            return;
        if (!is_left_out(slide) && slide->equation.text.n > 0)
            put_text(slide, buf_str(&slide->equation.text));
        equation_clear(&slide->equation);
    } else if (tag->space == XML_SLIDES && xml_is(tag, "sp")) {
        end_title(slide);
        flow_break(&slide->flow, 2);
    } else if (tag->space != XML_DRAWING) {
        return;
    } else if (xml_is(tag, "t")) {
        slide->is_text = false;
    } else if (xml_is(tag, "fld")) {
        slide->is_field = false;
    } else if (xml_is(tag, "p")) {
        flow_mark(&slide->flow, STR(""));
        flow_break(&slide->flow, 1);
    } else if (xml_is(tag, "tc")) {
        end_cell(slide);
    } else if (xml_is(tag, "tr")) {
        end_row(slide);
    } else if (xml_is(tag, "tbl")) {
        flow_break(&slide->flow, 2);
    }
}

static void on_text(struct xml_reader *reader, struct str text)
{
    struct slide *slide = reader->data;
    if (equation_is_open(&slide->equation))
        equation_text(&slide->equation, text);
    else if (slide->is_text)
        put_text(slide, text);
}

/* ---- slides ---- */

static struct slide *make_slide(struct buf *out)
{
    struct slide *slide = mem_zeroed(sizeof *slide);
    slide->flow.out = out;
    slide->texts.max_bytes = 1 << 16;
    buf_init(&slide->title, TITLE_MAX_BYTES);
    buf_init(&slide->cell, EXTRACT_TEXT_MAX_BYTES);
    table_rows_init(&slide->rows);
    equation_init(&slide->equation);
    return slide;
}

static void free_slide(struct slide *slide)
{
    buf_fini(&slide->title);
    buf_fini(&slide->cell);
    table_rows_fini(&slide->rows);
    equation_fini(&slide->equation);
    pool_fini(&slide->texts);
    free(slide);
}

static enum extract_fault read_part(struct package *package, struct str part, struct slide *slide)
{
    struct xml_handler handler = {
        .data = slide, .on_start = on_start, .on_end = on_end, .on_text = on_text};
    return package_read_xml(package, part, &handler);
}

static enum extract_fault put_notes(struct package *package, struct str part, struct buf *rough)
{
    struct buf out;
    if (part.n == 0)
        return EXTRACT_FAULT_NONE;
    buf_init(&out, EXTRACT_TEXT_MAX_BYTES);
    struct slide *notes = make_slide(&out);
    notes->is_notes = true;
    enum extract_fault fault = read_part(package, part, notes);
    if (out.n > 0) {
        buf_put(rough, rough->n > 0 ? STR("\n\nNotes: ") : STR("Notes: "));
        buf_put(rough, buf_str(&out));
    }
    free_slide(notes);
    buf_fini(&out);
    return fault;
}

static enum extract_fault put_drawings(struct package *package, const struct relations *relations,
                                       struct slide *slide)
{
    enum extract_fault fault = EXTRACT_FAULT_NONE;
    for (size_t i = 0; fault == EXTRACT_FAULT_NONE && i < slide->drawing_n; i++) {
        const struct relation *relation = relations_find(relations, slide->drawings[i]);
        if (relation != NULL)
            fault = drawing_texts_read(package, relation->target, &slide->flow);
    }
    return fault;
}

enum extract_fault pptx_slide_read(struct package *package, struct str part, struct buf *rough)
{
    struct relations relations;
    struct buf out;
    buf_init(&out, EXTRACT_TEXT_MAX_BYTES);
    struct slide *slide = make_slide(&out);
    enum extract_fault fault = relations_read(package, part, &relations);
    if (fault == EXTRACT_FAULT_NONE)
        fault = read_part(package, part, slide);
    if (fault == EXTRACT_FAULT_NONE)
        fault = put_drawings(package, &relations, slide);
    if (slide->title.n > 0) {
        buf_lit(rough, "## ");
        buf_put(rough, buf_str(&slide->title));
        buf_put(rough, out.n > 0 ? STR("\n\n") : STR(""));
    }
    buf_put(rough, buf_str(&out));
    if (fault == EXTRACT_FAULT_NONE)
        fault = put_notes(package, relations_target(&relations, "notesSlide"), rough);
    relations_fini(&relations);
    free_slide(slide);
    buf_fini(&out);
    return fault;
}
