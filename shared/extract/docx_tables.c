/* SPDX-License-Identifier: MIT
 * docx_tables.c - see docx_tables.h. */
#include "shared/extract/docx_tables.h"

#include "shared/base/mem.h"
#include "shared/extract/table_rows.h"

#include <stdlib.h>

enum { CELL_MAX_BYTES = 32 << 20, SPAN_MAX = TABLE_COLUMNS_MAX };

struct docx_table {
    struct table_rows rows;
    struct buf cell;
    struct flow outer; /* of what the table is in, while a cell is open */
    unsigned row_n, span;
    bool is_cell_open, is_continued, is_beside, is_row_deleted;
};

static struct docx_table *table_of(const struct docx_tables *tables)
{
    bool is_known = tables->depth > 0 && tables->depth <= DOCX_TABLES_MAX;
    return is_known ? tables->open[tables->depth - 1] : NULL;
}

static void free_table(struct docx_table *table)
{
    table_rows_fini(&table->rows);
    buf_fini(&table->cell);
    free(table);
}

void docx_tables_fini(struct docx_tables *tables)
{
    for (unsigned i = 0; i < tables->depth && i < DOCX_TABLES_MAX; i++)
        free_table(tables->open[i]);
}

static void begin_table(struct docx_tables *tables, struct flow *flow)
{
    flow_break(flow, 2);
    if (++tables->depth > DOCX_TABLES_MAX)
        return;
    struct docx_table *table = mem_zeroed(sizeof *table);
    table_rows_init(&table->rows);
    buf_init(&table->cell, CELL_MAX_BYTES);
    tables->open[tables->depth - 1] = table;
}

static void end_table(struct docx_tables *tables, struct flow *flow)
{
    struct docx_table *table = table_of(tables);
    if (table != NULL)
        free_table(table);
    tables->depth -= tables->depth > 0;
    flow_break(flow, 2);
}

static void begin_row(struct docx_table *table)
{
    table_rows_begin(&table->rows);
    table->is_row_deleted = false;
}

static void end_row(struct docx_table *table, struct flow *flow)
{
    struct str line = table_rows_end(&table->rows);
    if (line.n == 0 || table->is_row_deleted)
        return;
    if (flow->cell_depth == 0) {
        flow_put_line(flow, line);
    } else {
        if (table->row_n > 0)
            flow_put(flow, STR("; "));
        flow_put(flow, line);
    }
    table->row_n++;
}

static void begin_cell(struct docx_table *table, struct flow *flow)
{
    if (table->is_cell_open)
        return;
    table->is_cell_open = true;
    table->is_continued = table->is_beside = false;
    table->span = 1;
    table->outer = *flow;
    buf_clear(&table->cell);
    *flow = (struct flow){.out = &table->cell, .cell_depth = 1};
}

static void end_cell(struct docx_table *table, struct flow *flow)
{
    if (!table->is_cell_open)
        return;
    table->is_cell_open = false;
    *flow = table->outer;
    flow->out->is_over |= table->cell.is_over;
    if (table->is_beside)
        table_rows_put_beside(&table->rows);
    else if (table->is_continued)
        table_rows_repeat(&table->rows, table->span);
    else
        table_rows_put(&table->rows, buf_str(&table->cell), table->span, 1);
}

bool docx_tables_start(struct docx_tables *tables, struct flow *flow, const struct xml_tag *tag)
{
    struct docx_table *table = table_of(tables);
    if (xml_is(tag, "tbl"))
        begin_table(tables, flow);
    else if (table == NULL)
        return false;
    else if (xml_is(tag, "tr"))
        begin_row(table);
    else if (xml_is(tag, "gridBefore"))
        table_rows_skip(&table->rows, xml_number(tag, "val", SPAN_MAX, 1));
    else if (xml_is(tag, "tc"))
        begin_cell(table, flow);
    else if (xml_is(tag, "gridSpan"))
        table->span = xml_number(tag, "val", SPAN_MAX, 1);
    else if (xml_is(tag, "vMerge"))
        table->is_continued = !str_eq(xml_attribute(tag, "val"), STR("restart"));
    else if (xml_is(tag, "hMerge")) /* as Word 97 merged cells */
        table->is_beside = !str_eq(xml_attribute(tag, "val"), STR("restart"));
    else
        return false;
    return true;
}

bool docx_tables_end(struct docx_tables *tables, struct flow *flow, const struct xml_tag *tag)
{
    struct docx_table *table = table_of(tables);
    if (xml_is(tag, "tbl"))
        end_table(tables, flow);
    else if (table == NULL && (xml_is(tag, "tr") || xml_is(tag, "tc")))
        flow_break(flow, 1);
    else if (table != NULL && xml_is(tag, "tr"))
        end_row(table, flow);
    else if (table != NULL && xml_is(tag, "tc"))
        end_cell(table, flow);
    else
        return false;
    return true;
}

void docx_tables_delete_row(struct docx_tables *tables)
{
    struct docx_table *table = table_of(tables);
    if (table != NULL && !table->is_cell_open)
        table->is_row_deleted = true;
}
