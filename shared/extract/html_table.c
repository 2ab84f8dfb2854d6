/* SPDX-License-Identifier: MIT
 * html_table.c - see html_table.h. */
#include "shared/extract/html_table.h"

#include "shared/extract/table_rows.h"

enum { SPAN_MAX = 1000, CELL_MAX_BYTES = 2048 };

/* ---- which tables are data ---- */

static bool is_cell(GumboTag tag)
{
    return tag == GUMBO_TAG_TD || tag == GUMBO_TAG_TH;
}

/* Elements that no cell of data has. */
static bool is_of_layout(GumboTag tag)
{
    return (tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6) || tag == GUMBO_TAG_PRE ||
           tag == GUMBO_TAG_FORM || tag == GUMBO_TAG_ARTICLE || tag == GUMBO_TAG_SECTION;
}

bool html_table_is_data(const struct html_tree *tree, uint32_t table)
{
    const struct html_node *nodes = tree->nodes;
    const char *role = html_node_find(&nodes[table], "role");
    uint32_t cell_n = 0, row_n = 0;
    if (nodes[table].is_table_in ||
        (role != NULL && (strcmp(role, "presentation") == 0 || strcmp(role, "none") == 0)))
        return false;
    for (uint32_t i = table + 1; i < nodes[table].end; i++) {
        if (nodes[i].is_left_out)
            continue;
        if (is_of_layout(nodes[i].tag) ||
            (is_cell(nodes[i].tag) && nodes[i].text_n > CELL_MAX_BYTES))
            return false;
        cell_n += is_cell(nodes[i].tag);
        row_n += nodes[i].tag == GUMBO_TAG_TR;
    }
    return cell_n > row_n;
}

/* ---- lines ---- */

struct lines {
    struct flow *flow;
    html_put_line *put_line;
    const struct html_tree *tree;
    struct table_rows rows;
    struct buf cell;
    uint32_t group; /* of the last row: thead, tbody or tfoot */
};

static unsigned span_of(const struct html_node *cell, const char *name)
{
    long n = html_node_number(cell, name, 1);
    return n < 1 ? 1 : n > SPAN_MAX ? SPAN_MAX : (unsigned)n;
}

/* 0 means to the end of the group. */
static unsigned rows_of(const struct html_node *cell)
{
    return html_node_number(cell, "rowspan", 1) == 0 ? SPAN_MAX : span_of(cell, "rowspan");
}

/* Returns the text of an element as a line, which is valid until the next. */
static struct str line_of(struct lines *lines, uint32_t i)
{
    buf_clear(&lines->cell);
    lines->put_line(&lines->cell, lines->tree, i);
    return str_trim(buf_str(&lines->cell));
}

static void put_row(struct lines *lines, uint32_t row)
{
    const struct html_node *nodes = lines->tree->nodes;
    if (nodes[row].parent != lines->group)
        table_rows_end_spans(&lines->rows);
    lines->group = nodes[row].parent;
    table_rows_begin(&lines->rows);
    for (uint32_t i = row + 1; i < nodes[row].end; i = nodes[i].end)
        if (is_cell(nodes[i].tag) && !nodes[i].is_left_out)
            table_rows_put(&lines->rows, line_of(lines, i), span_of(&nodes[i], "colspan"),
                           rows_of(&nodes[i]));
    struct str line = table_rows_end(&lines->rows);
    if (line.n > 0)
        flow_put_line(lines->flow, line);
}

void html_table_put(struct flow *flow, const struct html_tree *tree, uint32_t table,
                    html_put_line *put_line)
{
    const struct html_node *nodes = tree->nodes;
    struct lines lines = {.flow = flow, .put_line = put_line, .tree = tree};
    table_rows_init(&lines.rows);
    buf_init(&lines.cell, flow->out->max);
    for (uint32_t i = table + 1; i < nodes[table].end && !flow->out->is_over;) {
        GumboTag tag = nodes[i].tag;
        bool is_part =
            tag == GUMBO_TAG_TR || tag == GUMBO_TAG_CAPTION || html_node_is_text(&nodes[i]);
        if (!nodes[i].is_left_out && tag == GUMBO_TAG_TR)
            put_row(&lines, i);
        else if (!nodes[i].is_left_out && tag == GUMBO_TAG_CAPTION)
            flow_put_line(flow, line_of(&lines, i));
        i = is_part || nodes[i].is_left_out ? nodes[i].end : i + 1;
    }
    flow->out->is_over |= lines.rows.line.is_over || lines.cell.is_over;
    table_rows_fini(&lines.rows);
    buf_fini(&lines.cell);
}
