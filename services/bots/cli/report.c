/* SPDX-License-Identifier: MIT
 * report.c - see report.h. Every text that is not a literal passes put_text: people, bots and files
 * wrote them. */
#include "services/bots/cli/report.h"

#include "services/bots/cli/report_parts.h"
#include "shared/base/html.h"

#include <math.h>

/* Limit of each text of a turn, so that 2,000 turns stay a page that a browser opens. */
enum { TEXT_MAX_BYTES = 4000 };

/* Without control characters, which HTML does not know, except for line ends and tabs. */
static void put_text(struct buf *b, struct str text)
{
    size_t from = 0;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if ((c >= ' ' || c == '\n' || c == '\t') && c != 0x7f)
            continue;
        buf_put_html(b, (struct str){text.at + from, i - from});
        buf_lit(b, "\xef\xbf\xbd");
        from = i + 1;
    }
    if (text.n > from)
        buf_put_html(b, (struct str){text.at + from, text.n - from});
}

/* The beginning of a long text, up to a whole character, and how much is left out. */
static void put_beginning(struct buf *b, struct str text)
{
    size_t n = text.n;
    if (n > TEXT_MAX_BYTES) {
        n = TEXT_MAX_BYTES;
        while (n > 0 && ((unsigned char)text.at[n] & 0xc0) == 0x80)
            n--;
    }
    put_text(b, (struct str){text.at, n});
    if (n < text.n)
        buf_printf(b, "… <em>(%llu more %s)</em>", COUNTED(text.n - n, "byte"));
}

static void put_entry(struct buf *b, const char *name, struct str value)
{
    if (value.n == 0)
        return;
    buf_printf(b, "<div><dt>%s</dt><dd dir=\"auto\">", name);
    put_text(b, value);
    buf_lit(b, "</dd></div>\n");
}

/* For people: a space in place of the T, whole seconds. */
static void put_moment(struct buf *b, const char *name, struct str moment)
{
    char shown[] = "YYYY-MM-DD hh:mm:ss UTC";
    const size_t day_n = 10, n = 19;
    if (moment.n <= n || moment.at[day_n] != 'T' || moment.at[moment.n - 1] != 'Z') {
        put_entry(b, name, moment);
        return;
    }
    memcpy(shown, moment.at, day_n);
    memcpy(shown + day_n + 1, moment.at + day_n + 1, n - day_n - 1);
    put_entry(b, name, str_of(shown));
}

/* --- head ------------------------------------------------------------------------------------- */

static void put_head(struct buf *b, const struct evaluated *e)
{
    buf_put(b, report_frame.head);
    buf_lit(b, "<title>Evaluation of ");
    put_text(b, e->bot);
    buf_lit(b, " - Parley</title>\n</head>\n<body>\n<main>\n<h1>Evaluation of <bdi>");
    put_text(b, e->bot);
    buf_lit(b, "</bdi></h1>\n");
}

static void put_interval(struct buf *b, const struct interval *interval)
{
    report_put_number(b, interval->low);
    buf_lit(b, " to ");
    report_put_number(b, interval->high);
}

static void put_result(struct buf *b, const struct evaluated *e)
{
    size_t n = json_array_size(e->turns), measured = evaluated_measured_n(e);
    buf_lit(b, "<p class=\"result\">");
    if (isnan(e->mean)) {
        buf_lit(b, "No turn was measured");
    } else {
        buf_lit(b, "Mean ");
        put_text(b, evaluated_measure_name(e->measure));
        buf_lit(b, " <strong>");
        report_put_number(b, e->mean);
        buf_lit(b, "</strong>");
    }
    if (e->has_interval) {
        buf_lit(b, ", 95 % interval ");
        put_interval(b, &e->interval);
    }
    if (!isnan(e->score))
        buf_printf(b, ", score <strong>%.1f</strong> of 100", e->score);
    buf_printf(b, "</p>\n<p>%zu of %llu %s measured, %zu failed.", measured,
               COUNTED_AS(n, "turn was", "turns were"), n - measured);
    if (str_eq(e->measure, STR("dot")))
        buf_lit(b, " The lower the distance, the nearer the bot's answers are to the originals.");
    else
        buf_lit(b, " At 0 the bot's answers mean the same as the originals; the larger the "
                   "distance, the less they do.");
    if (!str_eq(e->status, STR("done")))
        buf_lit(b, " The evaluation ended before its last turn.");
    buf_lit(b, "</p>\n");
}

static void put_about(struct buf *b, const struct evaluated *e)
{
    buf_lit(b, "<dl>\n");
    put_entry(b, "Evaluation", e->id);
    put_entry(b, "Bot", e->bot);
    put_entry(b, "Measure", evaluated_measure_name(e->measure));
    put_entry(b, "Status", e->status);
    put_moment(b, "Started", e->created);
    put_moment(b, "Last turn", e->updated);
    buf_lit(b, "</dl>\n");
}

/* --- curve ------------------------------------------------------------------------------------ */

static void put_curve(struct buf *b, const struct evaluated *e, const struct evaluated_pair *pair)
{
    if (json_array_size(e->turns) == 0)
        return;
    buf_lit(b, "<h2 id=\"curve\">Distance of each turn</h2>\n<figure>\n"
               "<div class=\"wide\" role=\"region\" aria-labelledby=\"curve\" tabindex=\"0\">\n");
    report_put_curve(b, e, pair);
    buf_lit(b, "</div>\n");
    report_put_legend(b, e, pair);
    buf_lit(b, "</figure>\n");
}

/* --- comparison ------------------------------------------------------------------------------- */

static void put_row_of(struct buf *b, const char *name, const struct evaluated *e)
{
    buf_printf(b, "<tr><th scope=\"row\">%s</th><td>", name);
    put_text(b, e->id);
    buf_lit(b, "</td><td dir=\"auto\">");
    put_text(b, e->bot);
    buf_lit(b, "</td><td class=\"number\">");
    if (isnan(e->mean))
        buf_lit(b, "none");
    else
        report_put_number(b, e->mean);
    buf_lit(b, "</td><td>");
    if (e->has_interval)
        put_interval(b, &e->interval);
    else
        buf_lit(b, "none");
    buf_printf(b, "</td><td class=\"number\">%zu</td></tr>\n",
               json_array_size(e->turns) - evaluated_measured_n(e));
}

static void put_comparison(struct buf *b, const struct evaluated *e,
                           const struct evaluated_pair *pair)
{
    if (pair->other == NULL)
        return;
    buf_lit(b, "<h2 id=\"compared\">Compared with an earlier run</h2>\n<p class=\"result\">");
    if (pair->difference.n > 0) {
        buf_lit(b, "Mean difference <strong>");
        report_put_number(b, pair->difference.mean);
        buf_lit(b, "</strong>");
    }
    if (pair->has_interval) {
        buf_lit(b, ", 95 % interval ");
        put_interval(b, &pair->interval);
    }
    buf_printf(b,
               "</p>\n<p>%s The difference is this run's distance less the other's, over the "
               "%llu %s that both have measured.</p>\n",
               evaluated_verdict(pair), COUNTED(pair->difference.n, "turn"));
    buf_lit(b, "<div class=\"wide\" role=\"region\" aria-labelledby=\"compared\" tabindex=\"0\">\n"
               "<table class=\"runs\">\n<caption>Both runs</caption>\n<thead><tr><th scope=\"col\">"
               "Run</th><th scope=\"col\">Evaluation</th><th scope=\"col\">Bot</th>"
               "<th scope=\"col\">Mean</th><th scope=\"col\">95 % interval</th><th scope=\"col\">"
               "Failed</th></tr></thead>\n<tbody>\n");
    put_row_of(b, "This run", e);
    put_row_of(b, "The other", pair->other);
    buf_lit(b, "</tbody>\n</table>\n</div>\n");
}

/* --- turns ------------------------------------------------------------------------------------ */

static void put_distance(struct buf *b, double distance)
{
    buf_lit(b, "<td class=\"number\">");
    if (isnan(distance))
        buf_lit(b, "failed");
    else
        report_put_number(b, distance);
    buf_lit(b, "</td>");
}

static void put_difference(struct buf *b, double difference)
{
    buf_lit(b, "<td class=\"number\">");
    if (isnan(difference))
        buf_lit(b, "none");
    else
        buf_printf(b, "%+.4f", fabs(difference) < 0.00005 ? 0 : difference);
    buf_lit(b, "</td>");
}

static void put_answer(struct buf *b, const struct evaluated_turn *turn)
{
    buf_lit(b, "<td dir=\"auto\">");
    if (turn->reason.n > 0) {
        buf_lit(b, "<em>Failed: ");
        put_beginning(b, turn->reason);
        buf_put(b, turn->answer.n > 0 ? STR("</em><br>\n") : STR("</em>"));
    }
    if (turn->answer.n > 0)
        put_beginning(b, turn->answer);
    buf_lit(b, "</td>");
}

static void put_turn(struct buf *b, const struct evaluated *e, const struct evaluated_pair *pair,
                     size_t i)
{
    const struct evaluated_turn turn = evaluated_turn(e, i);
    buf_printf(b, "<tr><th scope=\"row\">%zu</th>", turn.number);
    put_distance(b, turn.distance);
    if (pair->other != NULL) {
        double other = evaluated_turn(pair->other, i).distance;
        put_distance(b, other);
        put_difference(b, turn.distance - other);
    }
    buf_lit(b, "<td dir=\"auto\">");
    put_beginning(b, turn.question);
    buf_lit(b, "</td>");
    put_answer(b, &turn);
    buf_lit(b, "<td dir=\"auto\">");
    put_beginning(b, turn.original);
    if (turn.original_n > 1)
        buf_printf(b, " <em>(%s%llu %s)</em>", turn.original.n > 0 ? "the nearest of " : "",
                   COUNTED(turn.original_n, "original"));
    buf_lit(b, "</td></tr>\n");
}

static void put_turns(struct buf *b, const struct evaluated *e, const struct evaluated_pair *pair)
{
    size_t n = json_array_size(e->turns);
    if (n == 0)
        return;
    buf_lit(b, "<h2 id=\"turns\">Turns</h2>\n"
               "<div class=\"wide\" role=\"region\" aria-labelledby=\"turns\" tabindex=\"0\">\n"
               "<table class=\"turns\">\n<caption>Each turn with its message, the bot's answer and "
               "the original "
               "answer</caption>\n<thead><tr><th scope=\"col\" class=\"turn\">Turn</th>"
               "<th scope=\"col\" class=\"number\">Distance</th>");
    if (pair->other != NULL)
        buf_lit(b, "<th scope=\"col\" class=\"number\">The other</th>"
                   "<th scope=\"col\" class=\"number\">Difference</th>");
    buf_lit(b, "<th scope=\"col\">Message</th><th scope=\"col\">Answer</th><th "
               "scope=\"col\">Original</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < n; i++)
        put_turn(b, e, pair, i);
    buf_lit(b, "</tbody>\n</table>\n</div>\n");
}

void report_put(struct buf *b, const struct evaluated *e, const struct evaluated_pair *pair)
{
    put_head(b, e);
    put_result(b, e);
    put_about(b, e);
    put_curve(b, e, pair);
    put_comparison(b, e, pair);
    put_turns(b, e, pair);
    buf_put(b, report_frame.foot);
}
