/* SPDX-License-Identifier: MIT
 * report_curve.c - the distance of each turn as a line with markers, the mean as a dashed line with
 * its interval as a band, failed turns as crosses in a row of their own below the line.
 *
 * Runs differ by the form of their markers and lines, so the curve can be read without color. All
 * sizes are in units of the drawing, WIDTH of them across. */
#include "services/bots/cli/report_parts.h"

#include "shared/base/html.h"

#include <math.h>

enum {
    WIDTH = 900,
    TOP = 34,
    LEFT = 64,
    RIGHT = 884,
    PLOT = 260,
    ROW_GAP = 10,
    ROW = 22,          /* of failed turns, one for each run */
    FOOT = 44,         /* numbers and name of the axis */
    MARKERS_MAX = 250, /* of more turns they would hide the line */
    TICKS = 6,
    LISTED_MAX = 20
};

struct curve {
    struct buf *b;
    const struct evaluated *one, *other; /* other: NULL without a comparison */
    size_t n;                            /* turns across */
    double low, high;                    /* of the axis */
    double bottom, axis, end;            /* of the plot, of the rows below it, of the drawing */
    double step;                         /* between ticks */
    bool has_rows;
};

void report_put_number(struct buf *b, double value)
{
    /* A rounded zero has no sign. */
    buf_printf(b, "%.4f", fabs(value) < 0.00005 ? 0 : value);
}

/* 1, 2 or 5 times a power of ten, so that about TICKS of them span `range`. */
static double step_of(double range)
{
    double raw = range / TICKS, power = pow(10, floor(log10(raw))), digits = raw / power;
    return power * (digits <= 1 ? 1 : digits <= 2 ? 2 : digits <= 5 ? 5 : 10);
}

static void widen(struct curve *c, const struct evaluated *e)
{
    for (size_t i = 0; e != NULL && i < json_array_size(e->turns); i++) {
        double distance = evaluated_turn(e, i).distance;
        c->has_rows |= isnan(distance);
        c->low = fmin(c->low, distance); /* fmin and fmax pass over NAN */
        c->high = fmax(c->high, distance);
    }
}

/* The band of the mean may reach further than any turn. */
static void widen_for_band(struct curve *c)
{
    if (!c->one->has_interval)
        return;
    c->low = fmin(c->low, c->one->interval.low);
    c->high = fmax(c->high, c->one->interval.high);
}

static void set_scale(struct curve *c)
{
    c->n = json_array_size(c->one->turns);
    widen(c, c->one);
    widen(c, c->other);
    widen_for_band(c);
    if (c->high - c->low < 1e-9)
        c->high = c->low + 1;
    c->step = step_of(c->high - c->low);
    c->low = c->step * floor(c->low / c->step + 1e-9);
    c->high = c->step * ceil(c->high / c->step - 1e-9);
    c->bottom = TOP + PLOT;
    c->axis = c->bottom;
    if (c->has_rows)
        c->axis += ROW_GAP + ROW * (c->other == NULL ? 1 : 2);
    c->end = c->axis + FOOT;
}

static double x_of(const struct curve *c, size_t i)
{
    double room = RIGHT - LEFT - 16;
    return c->n < 2 ? (LEFT + RIGHT) / 2.0 : LEFT + 8 + room * (double)i / (double)(c->n - 1);
}

static double y_of(const struct curve *c, double distance)
{
    return c->bottom - PLOT * (distance - c->low) / (c->high - c->low);
}

/* The middle of a row. */
static double row_of(const struct curve *c, bool is_other)
{
    return c->bottom + ROW_GAP + ROW * (is_other ? 1.5 : 0.5);
}

/* --- axes ------------------------------------------------------------------------------------- */

static void put_y_axis(struct curve *c)
{
    int digits = c->step >= 1 ? 0 : (int)ceil(-log10(c->step) - 1e-9);
    int n = (int)lround((c->high - c->low) / c->step);
    for (int i = 0; i <= n; i++) {
        double value = c->low + i * c->step, y = y_of(c, value);
        buf_printf(c->b, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>", LEFT, y, RIGHT);
        buf_printf(c->b, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.*f</text>\n", LEFT - 10,
                   y + 5, digits, fabs(value) < c->step / 2 ? 0 : value);
    }
    buf_printf(c->b, "<text x=\"%d\" y=\"16\">", 8);
    buf_put_html(c->b, evaluated_measure_name(c->one->measure));
    buf_lit(c->b, "</text>\n");
}

static void put_x_axis(struct curve *c)
{
    double y = c->axis;
    size_t step = (size_t)fmax(1, step_of((double)c->n));
    buf_printf(c->b, "<path class=\"axis\" d=\"M%d %.1fH%d\"/>\n", LEFT, y, RIGHT);
    for (size_t number = 1; number <= c->n; number = number == 1 && step > 1 ? step : number + step)
        buf_printf(c->b,
                   "<path class=\"axis\" d=\"M%.1f %.1fv5\"/><text x=\"%.1f\" y=\"%.1f\" "
                   "text-anchor=\"middle\">%zu</text>\n",
                   x_of(c, number - 1), y, x_of(c, number - 1), y + 21, number);
    buf_printf(c->b, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">turn</text>\n", RIGHT, y + 38);
    int row_n = !c->has_rows ? 0 : c->other == NULL ? 1 : 2;
    for (int i = 0; i < row_n; i++)
        buf_printf(c->b, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 10,
                   row_of(c, i) + 5, i == 0 ? "failed" : "other");
}

/* --- runs ------------------------------------------------------------------------------------- */

static void put_band(struct curve *c)
{
    if (!c->one->has_interval)
        return;
    double top = y_of(c, c->one->interval.high), bottom = y_of(c, c->one->interval.low);
    buf_printf(c->b, "<rect class=\"band\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/>\n",
               LEFT, top, RIGHT - LEFT, fmax(1, bottom - top));
}

static bool is_dense(const struct curve *c)
{
    return c->n > MARKERS_MAX;
}

/* Across a dense line it needs a rim to be seen. */
static void put_mean(struct curve *c)
{
    double y = y_of(c, c->one->mean);
    if (isnan(c->one->mean))
        return;
    if (is_dense(c))
        buf_printf(c->b, "<path class=\"rim\" d=\"M%d %.1fH%d\"/>", LEFT, y, RIGHT);
    buf_printf(c->b, "<path class=\"mean\" d=\"M%d %.1fH%d\"/>\n", LEFT, y, RIGHT);
}

/* Interrupted where turns failed. */
static void put_line(struct curve *c, const struct evaluated *e, const char *class)
{
    bool is_down = false, has_any = false;
    for (size_t i = 0; i < json_array_size(e->turns); i++) {
        double distance = evaluated_turn(e, i).distance;
        if (isnan(distance)) {
            is_down = false;
            continue;
        }
        if (!has_any)
            buf_printf(c->b, "<path class=\"line %s%s\" d=\"", class, is_dense(c) ? " dense" : "");
        buf_printf(c->b, "%s%.1f %.1f", is_down ? "L" : "M", x_of(c, i), y_of(c, distance));
        is_down = has_any = true;
    }
    if (has_any)
        buf_lit(c->b, "\"/>\n");
}

static bool is_measured(const struct evaluated *e, size_t i)
{
    return i < json_array_size(e->turns) && !isnan(evaluated_turn(e, i).distance);
}

static void put_marker(struct curve *c, bool is_other, double x, double y)
{
    if (is_other)
        buf_printf(c->b,
                   "<rect class=\"dot other\" x=\"%.1f\" y=\"%.1f\" width=\"7\" height=\"7\">",
                   x - 3.5, y - 3.5);
    else
        buf_printf(c->b, "<circle class=\"dot one\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\">", x, y);
}

/* A turn between two failed ones has no line, so it has a marker in any case. The titles are what a
 * browser shows under the pointer. */
static void put_markers(struct curve *c, const struct evaluated *e, bool is_other)
{
    for (size_t i = 0; i < json_array_size(e->turns); i++) {
        const struct evaluated_turn turn = evaluated_turn(e, i);
        bool is_alone = (i == 0 || !is_measured(e, i - 1)) && !is_measured(e, i + 1);
        double x = x_of(c, i), y = row_of(c, is_other);
        if (isnan(turn.distance)) {
            buf_printf(c->b,
                       "<path class=\"failed%s\" d=\"M%.1f %.1fl8 8m0 -8l-8 8\"><title>turn %zu "
                       "failed</title></path>\n",
                       is_other ? " other" : "", x - 4, y - 4, turn.number);
        } else if (!is_dense(c) || is_alone) {
            put_marker(c, is_other, x, y_of(c, turn.distance));
            buf_printf(c->b, "<title>turn %zu: %.4f</title>%s\n", turn.number, turn.distance,
                       is_other ? "</rect>" : "</circle>");
        }
    }
}

/* --- words ------------------------------------------------------------------------------------ */

static void put_extremes(struct curve *c)
{
    size_t least = SIZE_MAX, most = SIZE_MAX;
    const struct evaluated *e = c->one;
    for (size_t i = 0; i < json_array_size(e->turns); i++) {
        double distance = evaluated_turn(e, i).distance;
        if (isnan(distance))
            continue;
        if (least == SIZE_MAX || distance < evaluated_turn(e, least).distance)
            least = i;
        if (most == SIZE_MAX || distance > evaluated_turn(e, most).distance)
            most = i;
    }
    if (least == SIZE_MAX) {
        buf_lit(c->b, " No turn was measured.");
        return;
    }
    buf_printf(c->b, " Lowest: %.4f at turn %zu. Highest: %.4f at turn %zu.",
               evaluated_turn(e, least).distance, least + 1, evaluated_turn(e, most).distance,
               most + 1);
}

static void put_failed(struct curve *c)
{
    size_t listed = 0;
    for (size_t i = 0; i < json_array_size(c->one->turns) && listed < LISTED_MAX; i++)
        if (!is_measured(c->one, i))
            buf_printf(c->b, "%s%zu", listed++ == 0 ? " Failed turns: " : ", ", i + 1);
    if (listed > 0)
        buf_printf(c->b, "%s.", c->one->failed_n > listed ? " and more" : "");
}

static void put_description(struct curve *c)
{
    buf_printf(c->b, "<desc id=\"curve-text\">A line from turn 1 to turn %zu.", c->n);
    put_extremes(c);
    if (!isnan(c->one->mean))
        buf_printf(c->b, " Mean: %.4f.", c->one->mean);
    put_failed(c);
    if (c->other != NULL)
        buf_lit(c->b, " A second line shows the run it is compared with.");
    buf_lit(c->b, " The table of turns has every number.</desc>\n");
}

void report_put_curve(struct buf *b, const struct evaluated *evaluated,
                      const struct evaluated_pair *pair)
{
    struct curve c = {.b = b, .one = evaluated, .other = pair->other};
    set_scale(&c);
    buf_printf(b,
               "<svg viewBox=\"0 0 %d %.0f\" role=\"img\" aria-labelledby=\"curve-name\" "
               "aria-describedby=\"curve-text\">\n<title id=\"curve-name\">",
               WIDTH, c.end);
    buf_put_html(b, evaluated_measure_name(evaluated->measure));
    buf_lit(b, " of each turn</title>\n");
    put_description(&c);
    put_y_axis(&c);
    put_band(&c);
    put_x_axis(&c);
    if (!is_dense(&c))
        put_mean(&c);
    if (c.other != NULL) {
        put_line(&c, c.other, "other");
        put_markers(&c, c.other, true);
    }
    put_line(&c, c.one, "one");
    put_markers(&c, c.one, false);
    if (is_dense(&c))
        put_mean(&c);
    buf_lit(b, "</svg>\n");
}

void report_put_legend(struct buf *b, const struct evaluated *evaluated,
                       const struct evaluated_pair *pair)
{
    struct curve c = {.b = b, .one = evaluated, .other = pair->other};
    set_scale(&c);
    buf_printf(b, "<figcaption>%s: this run.",
               is_dense(&c) ? "Solid line" : "Circles on a solid line");
    if (c.other != NULL)
        buf_printf(b, " %s: the run it is compared with.",
                   is_dense(&c) ? "Dotted line" : "Squares on a dotted line");
    if (!isnan(evaluated->mean))
        buf_printf(b, " Dashed line: the mean of this run%s.",
                   evaluated->has_interval ? ", with its 95 % interval as a band" : "");
    if (c.has_rows)
        buf_lit(b, " Crosses below the curve: failed turns");
    if (c.has_rows && c.other != NULL)
        buf_lit(b, ", those of the other run in the second row");
    buf_put(b, c.has_rows ? STR(".</figcaption>\n") : STR("</figcaption>\n"));
}
