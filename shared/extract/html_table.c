/* SPDX-License-Identifier: MIT
 * html_table.c - see html_table.h. */
#include "shared/extract/html_table.h"

enum { COLUMNS_MAX = 256, SPAN_MAX = 1000, CELL_MAX_BYTES = 2048, REPEATED_PER_BYTE = 8 };

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

/* A cell from above that reaches down into a column. */
struct span {
    struct str text; /* in `kept` */
    uint32_t rows;   /* that it still covers */
};

struct grid {
    struct flow *flow;
    html_put_line *put_line;
    const struct html_tree *tree;
    struct buf line, cell;
    struct buf kept; /* texts of cells that span rows; has its memory from the start */
    struct span spans[COLUMNS_MAX];
    size_t column;
    size_t budget_bytes; /* that may still be repeated */
    bool is_text_in, was_empty;
};

static void put_cell(struct grid *grid, struct str text)
{
    if (grid->column > 0)
        buf_put(&grid->line, grid->was_empty && grid->column > 1 ? STR("| ") : STR(" | "));
    buf_put(&grid->line, text);
    grid->was_empty = text.n == 0;
    grid->column++;
}

/* Repeats a text as long as the table stays of a size like that of its page. */
static struct str repeat(struct grid *grid, struct str text)
{
    if (text.n > grid->budget_bytes)
        return STR("");
    grid->budget_bytes -= text.n;
    return text;
}

/* Puts the cells from above that cover the next columns. */
static void put_covered(struct grid *grid)
{
    while (grid->column < COLUMNS_MAX && grid->spans[grid->column].rows > 0) {
        struct span *span = &grid->spans[grid->column];
        span->rows--;
        put_cell(grid, repeat(grid, span->text));
    }
}

static uint32_t span_of(const struct html_node *cell, const char *name)
{
    long n = html_node_number(cell, name, 1);
    return n < 1 ? 1 : n > SPAN_MAX ? SPAN_MAX : (uint32_t)n;
}

static void take_cell(struct grid *grid, uint32_t i)
{
    const struct html_node *node = &grid->tree->nodes[i];
    uint32_t columns = span_of(node, "colspan"), rows = span_of(node, "rowspan");
    put_covered(grid);
    buf_clear(&grid->cell);
    grid->put_line(&grid->cell, grid->tree, i);
    struct str text = str_trim(buf_str(&grid->cell)), kept = {NULL, 0};
    grid->is_text_in |= text.n > 0;
    if (rows > 1 && text.n <= grid->kept.max - grid->kept.n) {
        kept = (struct str){grid->kept.at + grid->kept.n, text.n};
        buf_put(&grid->kept, text);
    }
    for (uint32_t k = 0; k < columns && grid->column < COLUMNS_MAX; k++) {
        if (rows > 1)
            grid->spans[grid->column] = (struct span){kept, rows - 1};
        put_cell(grid, k == 0 ? text : repeat(grid, text));
    }
}

/* Returns how many cells are in the row, and the first of them. */
static size_t count_cells(const struct html_tree *tree, uint32_t row, uint32_t *ret_first)
{
    size_t n = 0;
    for (uint32_t i = row + 1; i < tree->nodes[row].end; i = tree->nodes[i].end)
        if (is_cell(tree->nodes[i].tag) && !tree->nodes[i].is_left_out && n++ == 0)
            *ret_first = i;
    return n;
}

static void put_row(struct grid *grid, uint32_t row)
{
    const struct html_node *nodes = grid->tree->nodes;
    uint32_t first = 0;
    size_t n = count_cells(grid->tree, row, &first);
    buf_clear(&grid->line);
    grid->column = 0;
    grid->is_text_in = false;
    if (n == 1 && grid->spans[0].rows == 0 && span_of(&nodes[first], "rowspan") == 1) {
        grid->put_line(&grid->line, grid->tree, first); /* a heading over all columns */
        grid->is_text_in = grid->line.n > 0;
    } else {
        for (uint32_t i = row + 1; i < nodes[row].end; i = nodes[i].end)
            if (is_cell(nodes[i].tag) && !nodes[i].is_left_out)
                take_cell(grid, i);
        put_covered(grid);
    }
    if (grid->is_text_in)
        flow_put_line(grid->flow, buf_str(&grid->line));
}

void html_table_put(struct flow *flow, const struct html_tree *tree, uint32_t table,
                    html_put_line *put_line)
{
    const struct html_node *nodes = tree->nodes;
    struct grid grid = {.flow = flow,
                        .put_line = put_line,
                        .tree = tree,
                        .budget_bytes = (size_t)nodes[table].text_n * REPEATED_PER_BYTE};
    buf_init(&grid.line, flow->out->max);
    buf_init(&grid.cell, flow->out->max);
    buf_init(&grid.kept, nodes[table].text_n + 1);
    (void)buf_reserve(&grid.kept, nodes[table].text_n + 1);
    for (uint32_t i = table + 1; i < nodes[table].end;) {
        GumboTag tag = nodes[i].tag;
        if (nodes[i].is_left_out || html_node_is_text(&nodes[i])) {
            i = nodes[i].end;
        } else if (tag == GUMBO_TAG_TR || tag == GUMBO_TAG_CAPTION) {
            if (tag == GUMBO_TAG_TR) {
                put_row(&grid, i);
            } else {
                buf_clear(&grid.line);
                put_line(&grid.line, tree, i);
                flow_put_line(flow, buf_str(&grid.line));
            }
            i = nodes[i].end;
        } else {
            i++;
        }
    }
    flow->out->is_over |= grid.line.is_over || grid.cell.is_over;
    buf_fini(&grid.line);
    buf_fini(&grid.cell);
    buf_fini(&grid.kept);
}
