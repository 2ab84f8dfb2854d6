/* SPDX-License-Identifier: MIT
 * extract_xlsx.c - XLSX (SpreadsheetML of ECMA-376): the sheets in their order, as rows with their
 * heads (sheet_rows.h). Values are those that the file has; nothing is computed. Hidden sheets are
 * left out. Only cells that are in the file cost anything, wherever they are. */
#include "shared/base/mem.h"
#include "shared/extract/drawing_texts.h"
#include "shared/extract/office.h"
#include "shared/extract/office_finish.h"
#include "shared/extract/sheet_rows.h"
#include "shared/extract/xlsx_formats.h"

#include <stdlib.h>

enum {
    SHEETS_MAX = 16384,
    NAMES_MAX_BYTES = 4 << 20,
    STRINGS_MAX_BYTES = 64 << 20,
    VALUE_MAX_BYTES = 65536,
    COLUMNS_MAX = 16384,
    ROWS_MAX = 1048576,
};

struct sheet_name {
    struct str name, relation;
};

struct workbook {
    struct package package;
    struct relations relations;
    struct xlsx_formats formats;
    struct pool names;
    struct sheet_name *sheets;
    size_t sheet_n;
    bool is_workbook;
    /* The strings that cells share, one after the other; string i ends at string_ends[i]. */
    struct buf strings;
    uint32_t *string_ends;
    size_t string_n;
};

/* ---- the workbook ---- */

static void on_workbook_start(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct workbook *workbook = reader->data;
    struct str state = xml_attribute(tag, "state"), base = xml_attribute(tag, "date1904");
    if (tag->space != XML_SHEETS)
        return;
    workbook->is_workbook = true;
    if (xml_is(tag, "workbookPr"))
        workbook->formats.is_1904 = str_eq(base, STR("1")) || str_eq(base, STR("true"));
    if (!xml_is(tag, "sheet") || workbook->sheet_n == SHEETS_MAX ||
        (state.n > 0 && !str_eq(state, STR("visible"))))
        return;
    workbook->sheets = mem_grow(workbook->sheets, workbook->sheet_n, sizeof *workbook->sheets);
    workbook->sheets[workbook->sheet_n++] =
        (struct sheet_name){pool_keep(&workbook->names, xml_attribute(tag, "name")),
                            pool_keep(&workbook->names, xml_relation(tag, "id"))};
}

/* ---- shared strings ---- */

struct strings {
    struct workbook *workbook;
    bool is_text;
};

static void on_string_start(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct strings *strings = reader->data;
    if (tag->space != XML_SHEETS)
        return;
    if (xml_is(tag, "rPh")) /* how the string is read aloud */
        xml_skip(reader);
    else if (xml_is(tag, "t"))
        strings->is_text = true;
}

static void on_string_end(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct strings *strings = reader->data;
    struct workbook *workbook = strings->workbook;
    if (tag->space != XML_SHEETS)
        return;
    if (xml_is(tag, "t"))
        strings->is_text = false;
    if (!xml_is(tag, "si"))
        return;
    workbook->string_ends =
        mem_grow(workbook->string_ends, workbook->string_n, sizeof *workbook->string_ends);
    workbook->string_ends[workbook->string_n++] = (uint32_t)workbook->strings.n;
}

static void on_string_text(struct xml_reader *reader, struct str text)
{
    struct strings *strings = reader->data;
    if (strings->is_text)
        buf_put(&strings->workbook->strings, text);
}

static enum extract_fault read_strings(struct workbook *workbook)
{
    struct strings strings = {.workbook = workbook};
    struct xml_handler handler = {.data = &strings,
                                  .on_start = on_string_start,
                                  .on_end = on_string_end,
                                  .on_text = on_string_text};
    struct str part = relations_target(&workbook->relations, "sharedStrings");
    return package_read_xml(&workbook->package, part, &handler);
}

static struct str shared_string(const struct workbook *workbook, struct str number)
{
    uint64_t i;
    if (!str_parse_u64(str_trim(number), &i) || i >= workbook->string_n)
        return STR("");
    size_t from = i == 0 ? 0 : workbook->string_ends[i - 1];
    return (struct str){workbook->strings.at + from, workbook->string_ends[i] - from};
}

/* ---- sheets ---- */

enum cell_type { CELL_NUMBER, CELL_SHARED, CELL_INLINE, CELL_TEXT, CELL_BOOLEAN };

struct sheet {
    struct workbook *workbook;
    struct sheet_rows *rows;
    struct buf value, shown;
    uint64_t row;
    unsigned column, style;
    enum cell_type type;
    bool is_value;
};

/* The column of "BC12", counted from 0. */
static unsigned column_of(struct str reference, unsigned otherwise)
{
    unsigned column = 0;
    size_t i;
    for (i = 0; i < reference.n && i < 3 && reference.at[i] >= 'A' && reference.at[i] <= 'Z'; i++)
        column = column * 26 + (unsigned)(reference.at[i] - 'A') + 1;
    return i == 0 || column > COLUMNS_MAX ? otherwise : column - 1;
}

static enum cell_type type_of(struct str type)
{
    static const struct {
        struct str name;
        enum cell_type type;
    } types[] = {{{"s", 1}, CELL_SHARED}, {{"inlineStr", 9}, CELL_INLINE},
                 {{"str", 3}, CELL_TEXT}, {{"d", 1}, CELL_TEXT},
                 {{"e", 1}, CELL_TEXT},   {{"b", 1}, CELL_BOOLEAN}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_eq(type, types[i].name))
            return types[i].type;
    return CELL_NUMBER;
}

static void begin_cell(struct sheet *sheet, const struct xml_tag *tag)
{
    sheet->column = column_of(xml_attribute(tag, "r"), sheet->column + 1);
    sheet->style = xml_number(tag, "s", INT32_MAX, 0);
    sheet->type = type_of(xml_attribute(tag, "t"));
    buf_clear(&sheet->value);
    sheet->value.is_over = false;
}

static void put_number(struct sheet *sheet)
{
    double value;
    struct str text = str_trim(buf_str(&sheet->value));
    buf_clear(&sheet->shown);
    if (str_parse_double(text, &value))
        xlsx_put_value(&sheet->shown, &sheet->workbook->formats, sheet->style, value);
    else
        buf_put(&sheet->shown, text);
    sheet_rows_put(sheet->rows, sheet->column, buf_str(&sheet->shown), true);
}

static void end_cell(struct sheet *sheet)
{
    struct str value = buf_str(&sheet->value);
    if (value.n == 0)
        return;
    switch (sheet->type) {
    case CELL_NUMBER: put_number(sheet); break;
    case CELL_SHARED: value = shared_string(sheet->workbook, value); break;
    case CELL_BOOLEAN: value = str_eq(value, STR("1")) ? STR("TRUE") : STR("FALSE"); break;
    case CELL_INLINE:
    case CELL_TEXT: break;
    }
    if (sheet->type != CELL_NUMBER)
        sheet_rows_put(sheet->rows, sheet->column, value, false);
}

static void on_sheet_start(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct sheet *sheet = reader->data;
    if (tag->space != XML_SHEETS)
        return;
    if (xml_is(tag, "row")) {
        sheet->row = xml_number(tag, "r", ROWS_MAX, (unsigned)sheet->row + 1);
        sheet->column = (unsigned)-1;
    } else if (xml_is(tag, "c")) {
        begin_cell(sheet, tag);
    } else if (xml_is(tag, "v") || xml_is(tag, "t")) {
        sheet->is_value = true;
    } else if (xml_is(tag, "rPh") || xml_is(tag, "f")) {
        xml_skip(reader);
    }
}

static void on_sheet_end(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct sheet *sheet = reader->data;
    if (tag->space != XML_SHEETS)
        return;
    if (xml_is(tag, "v") || xml_is(tag, "t"))
        sheet->is_value = false;
    else if (xml_is(tag, "c"))
        end_cell(sheet);
    else if (xml_is(tag, "row"))
        sheet_rows_end(sheet->rows, sheet->row);
    else if (xml_is(tag, "sheetData") || sheet->rows->out->is_over)
        xml_stop(reader);
}

static void on_sheet_text(struct xml_reader *reader, struct str text)
{
    struct sheet *sheet = reader->data;
    if (sheet->is_value)
        buf_put(&sheet->value, text);
    if (sheet->rows->out->is_over)
        xml_stop(reader);
}

static enum extract_fault put_sheet(struct workbook *workbook, struct str part,
                                    struct sheet_rows *rows)
{
    struct sheet sheet = {.workbook = workbook, .rows = rows};
    struct xml_handler handler = {.data = &sheet,
                                  .on_start = on_sheet_start,
                                  .on_end = on_sheet_end,
                                  .on_text = on_sheet_text};
    buf_init(&sheet.value, VALUE_MAX_BYTES);
    buf_init(&sheet.shown, VALUE_MAX_BYTES);
    enum extract_fault fault = package_read_xml(&workbook->package, part, &handler);
    buf_fini(&sheet.value);
    buf_fini(&sheet.shown);
    return fault;
}

static enum extract_fault put_sheets(struct workbook *workbook, struct buf *rough)
{
    struct sheet_rows rows;
    struct flow flow = {.out = rough};
    enum extract_fault fault = EXTRACT_FAULT_NONE;
    sheet_rows_init(&rows, rough);
    for (size_t i = 0; fault == EXTRACT_FAULT_NONE && i < workbook->sheet_n && !rough->is_over;
         i++) {
        const struct relation *relation =
            relations_find(&workbook->relations, workbook->sheets[i].relation);
        sheet_rows_begin(&rows, workbook->sheets[i].name);
        if (relation != NULL)
            fault = put_sheet(workbook, relation->target, &rows);
    }
    sheet_rows_fini(&rows);
    flow.has_begun = rough->n > 0;
    return fault == EXTRACT_FAULT_NONE
               ? drawing_texts_read_all(&workbook->package, STR("xl/"), &flow)
               : fault;
}

/* ---- the file ---- */

static enum extract_fault read_workbook(struct workbook *workbook, struct buf *rough)
{
    struct relations relations;
    struct xml_handler handler = {.data = workbook, .on_start = on_workbook_start};
    struct package *package = &workbook->package;
    enum extract_fault fault = relations_read(package, STR(""), &relations);
    struct str main = relations_target(&relations, "officeDocument");
    if (fault == EXTRACT_FAULT_NONE)
        fault = package_read_xml(package, main, &handler);
    if (fault == EXTRACT_FAULT_NONE && !workbook->is_workbook)
        fault = EXTRACT_FAULT_NOT_KIND;
    if (fault == EXTRACT_FAULT_NONE)
        fault = relations_read(package, main, &workbook->relations);
    if (fault == EXTRACT_FAULT_NONE)
        fault = xlsx_formats_read(package, relations_target(&workbook->relations, "styles"),
                                  &workbook->formats);
    if (fault == EXTRACT_FAULT_NONE)
        fault = read_strings(workbook);
    if (fault == EXTRACT_FAULT_NONE)
        fault = put_sheets(workbook, rough);
    relations_fini(&relations);
    return fault;
}

enum extract_fault extract_put_xlsx(struct buf *text, struct str bytes)
{
    struct workbook workbook = {.names.max_bytes = NAMES_MAX_BYTES};
    struct buf rough;
    enum extract_fault fault = package_open(&workbook.package, bytes);
    if (fault != EXTRACT_FAULT_NONE)
        return fault;
    buf_init(&rough, EXTRACT_TEXT_MAX_BYTES);
    buf_init(&workbook.strings, STRINGS_MAX_BYTES);
    fault = office_finish(text, &rough, read_workbook(&workbook, &rough));
    buf_fini(&workbook.strings);
    free(workbook.string_ends);
    free(workbook.sheets);
    pool_fini(&workbook.names);
    xlsx_formats_fini(&workbook.formats);
    relations_fini(&workbook.relations);
    package_close(&workbook.package);
    buf_fini(&rough);
    return fault;
}
