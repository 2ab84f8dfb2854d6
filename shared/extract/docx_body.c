/* SPDX-License-Identifier: MIT
 * docx_body.c - see docx_body.h (WordprocessingML of ECMA-376). What a paragraph is, is known from
 * its properties, which come first; it begins with its first text. A cell of a table has a flow of
 * its own, until its row is put as a line.
 *
 * Left out are deleted, moved and hidden text, and what fields are made of. */
#include "shared/extract/docx_body.h"

#include "shared/base/mem.h"
#include "shared/extract/docx_equations.h"
#include "shared/extract/docx_fields.h"
#include "shared/extract/docx_paragraph.h"
#include "shared/extract/docx_script.h"
#include "shared/extract/docx_symbols.h"
#include "shared/extract/docx_tables.h"
#include "shared/extract/drawing_texts.h"
#include "shared/extract/numbers.h"
#include "shared/text/fold.h"
#include "shared/text/text.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    BOXES_MAX = 16,
    RUNS_MAX = 8,
    RUBY_MAX_BYTES = 4096,
};

struct paragraph {
    struct docx_paragraph properties;
    bool are_properties_open, is_begun, has_page_number;
    /* Where its text begins, to take it back. */
    struct flow flow_before;
    size_t from;
};

struct run {
    bool is_hidden;
    char script; /* '^', '_' or 0 */
    char shift;  /* the same, by its position alone */
};

struct body {
    struct docx *docx;
    struct flow flow;
    struct paragraph paragraph, boxed[BOXES_MAX]; /* boxed: those that text boxes interrupt */
    struct run runs[RUNS_MAX];
    struct docx_tables tables;
    unsigned run_depth, box_depth;
    struct equation equation;
    struct docx_fields fields;
    struct buf ruby;
    struct flow ruby_outer;
    bool is_in_ruby;
    bool is_text, is_instruction, is_page_field, drops_page_numbers;
    bool was_list, joins_previous, is_after_picture, is_box_checked;
    struct docx_script script;
    unsigned note;                  /* its number, until it is put; 0: none */
    char mark[DOCX_MARK_MAX_BYTES]; /* of the paragraph, which the flow borrows */
};

/* ---- paragraphs ---- */

static struct run *run_of(struct body *body)
{
    return &body->runs[body->run_depth < RUNS_MAX ? body->run_depth : RUNS_MAX - 1];
}

static void begin_properties(struct body *body)
{
    docx_script_end(&body->script, &body->flow);
    body->paragraph = (struct paragraph){.flow_before = body->flow, .from = body->flow.out->n};
    docx_paragraph_init(&body->paragraph.properties);
}

static void resolve(struct body *body)
{
    docx_paragraph_resolve(&body->paragraph.properties, &body->docx->styles,
                           &body->docx->numbering);
}

/* Puts its mark; in the cell of a table only a number. */
static void put_mark(struct body *body)
{
    const struct docx_paragraph *properties = &body->paragraph.properties;
    docx_paragraph_mark(properties, body->note, body->mark);
    body->note = 0;
    if (body->flow.cell_depth == 0)
        flow_mark(&body->flow, str_of(body->mark));
    else if (properties->mark == DOCX_NUMBER)
        flow_put(&body->flow, str_of(properties->number));
}

/* The first text of a paragraph: by now it is known what it is. */
static void begin_paragraph(struct body *body)
{
    struct paragraph *paragraph = &body->paragraph;
    if (paragraph->is_begun)
        return;
    paragraph->is_begun = true;
    if (body->joins_previous) {
        body->joins_previous = false;
        paragraph->properties.is_resolved = true; /* its number is not printed */
        return;
    }
    resolve(body);
    bool is_list = docx_paragraph_is_item(&paragraph->properties);
    flow_break(&body->flow, is_list && body->was_list ? 1 : 2);
    body->was_list = is_list;
    put_mark(body);
}

/* Puts the number of a paragraph that is nothing else, as in the first column of many tables. */
static void put_lone_number(struct body *body)
{
    const struct docx_paragraph *properties = &body->paragraph.properties;
    if (body->flow.cell_depth > 0 && properties->mark == DOCX_NUMBER && !properties->joins_next)
        begin_paragraph(body);
}

static void end_paragraph(struct body *body)
{
    struct paragraph *paragraph = &body->paragraph;
    struct buf *out = body->flow.out;
    docx_script_end(&body->script, &body->flow);
    docx_fields_end_paragraph(&body->fields);
    if (!paragraph->properties.joins_next || paragraph->is_begun)
        resolve(body);
    put_lone_number(body);
    if (paragraph->has_page_number && out->n >= paragraph->from &&
        numbers_is_page_label((struct str){out->at + paragraph->from, out->n - paragraph->from})) {
        out->n = paragraph->from;
        body->flow = paragraph->flow_before;
    }
    if (paragraph->properties.joins_next && paragraph->is_begun) {
        body->joins_previous = true;
        return;
    }
    flow_mark(&body->flow, STR(""));
    flow_break(&body->flow, 1);
}

/* ---- text ---- */

static bool is_word_at_front(struct str text)
{
    struct folded first;
    return fold_next(text, &first) > 0 && first.kind == FOLD_WORD;
}

static void put_text(struct body *body, struct str text)
{
    if (body->is_page_field && body->drops_page_numbers)
        return;
    docx_script_begin(&body->script, &body->flow, run_of(body)->script, text);
    if (body->is_after_picture && is_word_at_front(text))
        flow_put(&body->flow, STR(" "));
    body->is_after_picture = false;
    flow_put(&body->flow, text);
}

/* The text that stands for a picture, apart from the words around it. */
static void put_alt_text(struct body *body, struct str text)
{
    text = drawing_alt_text(text);
    if (text.n == 0 || body->run_depth == 0 || run_of(body)->is_hidden)
        return;
    begin_paragraph(body);
    if (docx_is_word_char(docx_last_char(&body->flow)))
        flow_put(&body->flow, STR(" "));
    flow_put(&body->flow, text);
    body->is_after_picture = true;
}

static void put_symbol(struct body *body, const struct xml_tag *tag)
{
    struct buf symbol;
    buf_init(&symbol, 8);
    docx_put_symbol(&symbol, xml_attribute(tag, "font"), xml_attribute(tag, "char"));
    if (symbol.n > 0)
        put_text(body, buf_str(&symbol));
    buf_fini(&symbol);
}

static void put_reference(struct body *body, const struct xml_tag *tag)
{
    char mark[16];
    struct str own_mark = xml_attribute(tag, "customMarkFollows");
    docx_script_end(&body->script, &body->flow);
    if (own_mark.n > 0 && !str_eq(own_mark, STR("0")) && !str_eq(own_mark, STR("false")))
        return; /* it follows as text, here and in the note */
    bool is_endnote = xml_is(tag, "endnoteReference");
    unsigned id = xml_number(tag, "id", INT32_MAX, DOCX_UNSET);
    unsigned number = docx_notes_add(&body->docx->notes, id, is_endnote);
    if (number > 0)
        flow_put(&body->flow,
                 (struct str){mark, (size_t)snprintf(mark, sizeof mark, "[%u]", number)});
}

static void begin_note(struct xml_reader *reader, struct body *body, const struct xml_tag *tag)
{
    struct str type = xml_attribute(tag, "type");
    unsigned id = xml_number(tag, "id", INT32_MAX, DOCX_UNSET);
    body->note = docx_notes_find(&body->docx->notes, id, xml_is(tag, "endnote"));
    if (type.n > 0 && !str_eq(type, STR("normal")))
        xml_skip(reader); /* a line that parts notes from the text */
}

/* ---- events ---- */

static void begin_run(struct body *body)
{
    body->run_depth++;
    *run_of(body) = (struct run){0};
    begin_paragraph(body);
}

static void begin_ruby_text(struct body *body)
{
    if (body->is_in_ruby)
        return;
    body->is_in_ruby = true;
    body->ruby_outer = body->flow;
    buf_clear(&body->ruby);
    body->flow = (struct flow){.out = &body->ruby, .cell_depth = 1};
}

static void end_ruby_text(struct body *body)
{
    if (body->is_in_ruby)
        body->flow = body->ruby_outer;
    body->is_in_ruby = false;
}

/* The reading after what it belongs to: 水(みず). */
static void end_ruby(struct body *body)
{
    if (body->ruby.n == 0)
        return;
    flow_put(&body->flow, STR("("));
    flow_put(&body->flow, buf_str(&body->ruby));
    flow_put(&body->flow, STR(")"));
    buf_clear(&body->ruby);
}

static bool is_page_instruction(struct str s)
{
    static const char *const words[] = {"PAGE", "NUMPAGES", "SECTIONPAGES", NULL};
    struct str word = str_trim(s);
    word = str_cut(&word, ' ');
    for (const char *const *known = words; *known != NULL; known++)
        if (str_eq_nocase(word, str_of(*known)))
            return true;
    return false;
}

static void set_page_field(struct body *body, bool is_page_field)
{
    body->is_page_field = is_page_field;
    body->paragraph.has_page_number |= is_page_field && body->drops_page_numbers;
}

static void read_field(struct body *body, struct str type)
{
    struct str shown = docx_fields_read(&body->fields, type);
    if (str_eq(type, STR("end")))
        set_page_field(body, false);
    if (shown.n > 0 && !docx_fields_hide(&body->fields) && !run_of(body)->is_hidden)
        put_text(body, shown);
}

/* LibreOffice writes raised letters as a position and a size. */
static char shift_of(struct str position)
{
    return (char)(position.n == 0 || *position.at == '0' ? 0 : *position.at == '-' ? '_' : '^');
}

/* Takes what is in a run: its properties and its content. */
static void on_run_start(struct body *body, const struct xml_tag *tag)
{
    struct run *run = run_of(body);
    struct str value = xml_attribute(tag, "val");
    if (xml_is(tag, "vanish"))
        run->is_hidden = xml_is_on(tag);
    else if (xml_is(tag, "vertAlign"))
        run->script = (char)(str_eq(value, STR("superscript")) ? '^'
                             : str_eq(value, STR("subscript")) ? '_'
                                                               : 0);
    else if (xml_is(tag, "position"))
        run->shift = shift_of(value);
    else if (xml_is(tag, "sz") && run->script == 0)
        run->script = run->shift;
    else if (xml_is(tag, "instrText"))
        body->is_instruction = true;
    else if (xml_is(tag, "fldChar"))
        read_field(body, xml_attribute(tag, "fldCharType"));
    else if (xml_is(tag, "checkBox"))
        body->is_box_checked = false;
    else if (xml_is(tag, "default") || xml_is(tag, "checked"))
        body->is_box_checked = xml_is_on(tag);
    else if (xml_is(tag, "rt"))
        begin_ruby_text(body);
    if (run->is_hidden)
        return;
    if (xml_is(tag, "t"))
        body->is_text = true;
    else if (xml_is(tag, "tab") || xml_is(tag, "ptab"))
        flow_put(&body->flow, STR(" "));
    else if (xml_is(tag, "br") || xml_is(tag, "cr"))
        flow_break(&body->flow, 1);
    else if (xml_is(tag, "noBreakHyphen"))
        flow_put(&body->flow, STR("-"));
    else if (xml_is(tag, "sym"))
        put_symbol(body, tag);
    else if (xml_is(tag, "footnoteReference") || xml_is(tag, "endnoteReference"))
        put_reference(body, tag);
}

static void begin_box(struct body *body)
{
    if (body->box_depth < BOXES_MAX)
        body->boxed[body->box_depth] = body->paragraph;
    body->box_depth++;
}

static void end_box(struct body *body)
{
    if (--body->box_depth < BOXES_MAX)
        body->paragraph = body->boxed[body->box_depth];
    body->paragraph.has_page_number = false; /* the box is not taken back with it */
    flow_break(&body->flow, 1);
}

/* Returns whether an element holds nothing that people read. */
static bool is_left_out(const struct body *body, const struct xml_tag *tag)
{
    static const char *const names[] = {"tabs",      "moveFrom",    "sectPr",     "pPrChange",
                                        "rPrChange", "tblPrChange", "trPrChange", "tcPrChange",
                                        "sdtPr",     NULL};
    for (const char *const *name = names; *name != NULL; name++)
        if (xml_is(tag, *name))
            return true;
    return xml_is(tag, "del") && !body->paragraph.are_properties_open;
}

static void on_word_start(struct xml_reader *reader, struct body *body, const struct xml_tag *tag)
{
    body->docx->is_document = true;
    if (xml_is(tag, "del"))
        docx_tables_delete_row(&body->tables);
    if (is_left_out(body, tag))
        xml_skip(reader);
    else if (xml_is(tag, "p"))
        begin_properties(body);
    else if (xml_is(tag, "pPr"))
        body->paragraph.are_properties_open = true;
    else if (body->paragraph.are_properties_open)
        docx_paragraph_read(&body->paragraph.properties, tag);
    else if (xml_is(tag, "r"))
        begin_run(body);
    else if (xml_is(tag, "txbxContent"))
        begin_box(body);
    else if (xml_is(tag, "footnote") || xml_is(tag, "endnote"))
        begin_note(reader, body, tag);
    else if (xml_is(tag, "fldSimple"))
        set_page_field(body, is_page_instruction(xml_attribute(tag, "instr")));
    else if (!docx_tables_start(&body->tables, &body->flow, tag) && body->run_depth > 0)
        on_run_start(body, tag);
}

static void on_start(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct body *body = reader->data;
    if (equation_is_open(&body->equation)) {
        equation_start(&body->equation, tag);
    } else if (tag->space == XML_MATH && xml_is(tag, "oMath")) {
        begin_paragraph(body);
        docx_script_end(&body->script, &body->flow);
        equation_start(&body->equation, tag);
    } else if (tag->space == XML_WORD) {
        on_word_start(reader, body, tag);
    } else if (tag->space == XML_WORD_DRAWING && xml_is(tag, "docPr")) {
        put_alt_text(body, xml_attribute(tag, "descr"));
    } else if (tag->space == XML_DRAWING_OLD) {
        put_alt_text(body, xml_attribute(tag, "alt"));
    }
}

static void end_equation(struct body *body)
{
    flow_put(&body->flow, buf_str(&body->equation.text));
    equation_clear(&body->equation);
}

static void on_end(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct body *body = reader->data;
    if (equation_is_open(&body->equation)) {
        if (equation_end(&body->equation, tag))
            end_equation(body);
        return;
    }
    if (tag->space != XML_WORD)
        return;
    if (xml_is(tag, "t"))
        body->is_text = false;
    else if (xml_is(tag, "instrText"))
        body->is_instruction = false;
    else if (xml_is(tag, "r"))
        body->run_depth -= body->run_depth > 0;
    else if (xml_is(tag, "pPr"))
        body->paragraph.are_properties_open = false;
    else if (xml_is(tag, "p"))
        end_paragraph(body);
    else if (xml_is(tag, "txbxContent"))
        end_box(body);
    else if (xml_is(tag, "fldSimple"))
        set_page_field(body, false);
    else if (xml_is(tag, "checkBox") && !run_of(body)->is_hidden)
        put_text(body, body->is_box_checked ? STR("\xe2\x98\x92") : STR("\xe2\x98\x90"));
    else if (xml_is(tag, "rt"))
        end_ruby_text(body);
    else if (xml_is(tag, "ruby"))
        end_ruby(body);
    else if (docx_tables_end(&body->tables, &body->flow, tag))
        body->was_list = false;
}

static void read_instruction(struct body *body, struct str text)
{
    docx_fields_add(&body->fields, text);
    if (is_page_instruction(text))
        set_page_field(body, true);
}

static void on_text(struct xml_reader *reader, struct str text)
{
    struct body *body = reader->data;
    if (equation_is_open(&body->equation))
        equation_text(&body->equation, text);
    else if (body->is_text && !docx_fields_hide(&body->fields))
        put_text(body, text);
    else if (body->is_instruction)
        read_instruction(body, text);
}

/* ---- parts ---- */

static void begin_body(struct body *body, struct docx *docx, struct buf *rough)
{
    *body = (struct body){
        .docx = docx,
        .flow = {.out = rough, .has_begun = rough->n > 0, .newlines = rough->n > 0 ? 2 : 0}};
    begin_properties(body);
    equation_init(&body->equation);
    buf_init(&body->ruby, RUBY_MAX_BYTES);
}

static void end_body(struct body *body)
{
    docx_tables_fini(&body->tables);
    equation_fini(&body->equation);
    buf_fini(&body->ruby);
}

enum extract_fault docx_body_read(struct package *package, struct str part, struct docx *docx,
                                  bool drops_page_numbers, struct buf *rough)
{
    struct body *body = mem_alloc(sizeof *body);
    struct xml_handler handler = {
        .data = body, .on_start = on_start, .on_end = on_end, .on_text = on_text};
    begin_body(body, docx, rough);
    body->drops_page_numbers = drops_page_numbers;
    enum extract_fault fault = package_read_xml(package, part, &handler);
    end_body(body);
    free(body);
    return fault;
}

bool docx_body_read_xml(struct str xml, struct docx *docx, struct buf *rough)
{
    struct body *body = mem_alloc(sizeof *body);
    struct xml_handler handler = {
        .data = body, .on_start = on_start, .on_end = on_end, .on_text = on_text};
    begin_body(body, docx, rough);
    bool is_good = xml_read(&handler, xml);
    end_body(body);
    free(body);
    return is_good;
}
