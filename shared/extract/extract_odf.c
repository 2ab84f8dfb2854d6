/* SPDX-License-Identifier: MIT
 * extract_odf.c - OpenDocument (ISO/IEC 26300): texts and presentations by odf_body.h, and
 * spreadsheets as rows with their heads, without hidden sheets. Headers and footers of a text come
 * once, at the top. */
#include "shared/extract/odf_body.h"
#include "shared/extract/office.h"
#include "shared/extract/office_finish.h"
#include "shared/extract/sheet_rows.h"

enum { COLUMNS_MAX = 16384, ROWS_MAX = 1048576, REPEATS_MAX = 64, VALUE_MAX_BYTES = 65536 };

/* ---- spreadsheets ---- */

struct spreadsheet {
    struct sheet_rows rows;
    struct pool names;
    struct odf_styles styles;
    struct buf value;
    uint64_t row;
    unsigned column, repeat_n, row_n, text_depth;
    bool is_body, is_number;
};

static void begin_cell(struct spreadsheet *sheet, const struct xml_tag *tag)
{
    static const char *const texts[] = {"string", "boolean", "", NULL};
    struct str type = xml_attribute(tag, "value-type");
    sheet->is_number = true;
    for (const char *const *name = texts; *name != NULL; name++)
        if (str_eq(type, str_of(*name)))
            sheet->is_number = false;
    sheet->repeat_n = xml_number(tag, "number-columns-repeated", COLUMNS_MAX, 1);
    buf_clear(&sheet->value);
}

static void end_cell(struct spreadsheet *sheet)
{
    for (unsigned i = 0; sheet->value.n > 0 && i < sheet->repeat_n && i < REPEATS_MAX; i++)
        sheet_rows_put(&sheet->rows, sheet->column + i, buf_str(&sheet->value), sheet->is_number);
    sheet->column += sheet->repeat_n;
    buf_clear(&sheet->value);
}

static void begin_table(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct spreadsheet *sheet = reader->data;
    if (odf_styles_is_hidden(&sheet->styles, xml_attribute(tag, "style-name"))) {
        xml_skip(reader);
        return;
    }
    sheet_rows_begin(&sheet->rows, pool_keep(&sheet->names, xml_attribute(tag, "name")));
    sheet->row = 0;
}

static void on_sheet_start(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct spreadsheet *sheet = reader->data;
    if (!sheet->is_body)
        odf_styles_start(&sheet->styles, tag);
    if (tag->space == XML_ODF_OFFICE && xml_is(tag, "spreadsheet")) {
        odf_styles_sort(&sheet->styles);
        sheet->is_body = true;
    }
    if (tag->space == XML_ODF_OFFICE && xml_is(tag, "annotation"))
        xml_skip(reader);
    if (tag->space == XML_ODF_TEXT && xml_is(tag, "p")) {
        sheet->text_depth++;
        buf_put_char(&sheet->value, ' ');
    } else if (tag->space == XML_ODF_TEXT && (xml_is(tag, "s") || xml_is(tag, "line-break"))) {
        buf_put_char(&sheet->value, ' ');
    }
    if (tag->space != XML_ODF_TABLE)
        return;
    if (xml_is(tag, "table")) {
        begin_table(reader, tag);
    } else if (xml_is(tag, "table-row")) {
        sheet->row_n = xml_number(tag, "number-rows-repeated", ROWS_MAX, 1);
        sheet->column = 0;
    } else if (xml_is(tag, "table-cell") || xml_is(tag, "covered-table-cell")) {
        begin_cell(sheet, tag);
    }
}

/* A row that is repeated is put once. */
static void on_sheet_end(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct spreadsheet *sheet = reader->data;
    if (tag->space == XML_ODF_TEXT && xml_is(tag, "p"))
        sheet->text_depth -= sheet->text_depth > 0;
    if (tag->space != XML_ODF_TABLE)
        return;
    if (xml_is(tag, "table-cell") || xml_is(tag, "covered-table-cell")) {
        end_cell(sheet);
    } else if (xml_is(tag, "table-row")) {
        sheet->row++;
        sheet_rows_end(&sheet->rows, sheet->row);
        sheet->row += sheet->row_n - (sheet->row_n > 0);
    }
    if (sheet->rows.out->is_over)
        xml_stop(reader);
}

static void on_sheet_text(struct xml_reader *reader, struct str text)
{
    struct spreadsheet *sheet = reader->data;
    if (sheet->text_depth > 0)
        buf_put(&sheet->value, text);
}

static enum extract_fault put_spreadsheet(struct package *package, struct buf *rough)
{
    struct spreadsheet sheet = {.names.max_bytes = 1 << 20};
    struct xml_handler handler = {.data = &sheet,
                                  .on_start = on_sheet_start,
                                  .on_end = on_sheet_end,
                                  .on_text = on_sheet_text};
    sheet_rows_init(&sheet.rows, rough);
    odf_styles_init(&sheet.styles);
    buf_init(&sheet.value, VALUE_MAX_BYTES);
    enum extract_fault fault = package_read_xml(package, STR("content.xml"), &handler);
    if (fault == EXTRACT_FAULT_NONE && !sheet.is_body)
        fault = EXTRACT_FAULT_NOT_KIND;
    sheet_rows_fini(&sheet.rows);
    buf_fini(&sheet.value);
    odf_styles_fini(&sheet.styles);
    pool_fini(&sheet.names);
    return fault;
}

/* ---- texts and presentations ---- */

static enum extract_fault put_text(struct package *package, bool has_headers, struct buf *rough)
{
    struct odf_styles styles;
    struct buf headers;
    odf_styles_init(&styles);
    buf_init(&headers, EXTRACT_TEXT_MAX_BYTES);
    enum extract_fault fault = odf_headers_read(package, &styles, &headers);
    if (has_headers && headers.n > 0) {
        buf_put(rough, buf_str(&headers));
        buf_lit(rough, "\n\n");
    }
    if (fault == EXTRACT_FAULT_NONE)
        fault = odf_body_read(package, &styles, rough);
    buf_fini(&headers);
    odf_styles_fini(&styles);
    return fault;
}

enum odf_kind { ODF_TEXT, ODF_SHEETS, ODF_SLIDES };

static enum extract_fault put(struct buf *text, struct str bytes, enum odf_kind kind)
{
    struct package package;
    struct buf rough;
    enum extract_fault fault = package_open(&package, bytes);
    if (fault != EXTRACT_FAULT_NONE)
        return fault;
    buf_init(&rough, EXTRACT_TEXT_MAX_BYTES);
    fault = package_check_encrypted(&package, "META-INF/manifest.xml", "encryption-data");
    if (fault == EXTRACT_FAULT_NONE)
        fault = kind == ODF_SHEETS ? put_spreadsheet(&package, &rough)
                                   : put_text(&package, kind == ODF_TEXT, &rough);
    fault = kind == ODF_SLIDES ? office_finish_pages(text, &rough, fault)
                               : office_finish(text, &rough, fault);
    package_close(&package);
    buf_fini(&rough);
    return fault;
}

enum extract_fault extract_put_odt(struct buf *text, struct str bytes)
{
    return put(text, bytes, ODF_TEXT);
}

enum extract_fault extract_put_ods(struct buf *text, struct str bytes)
{
    return put(text, bytes, ODF_SHEETS);
}

enum extract_fault extract_put_odp(struct buf *text, struct str bytes)
{
    return put(text, bytes, ODF_SLIDES);
}
