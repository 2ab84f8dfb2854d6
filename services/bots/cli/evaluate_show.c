/* SPDX-License-Identifier: MIT
 * evaluate_show.c - prints for `parley evaluate`. Texts are those of people and bots, so no control
 * character of them is printed; each is cut to its column. */
#include "services/bots/cli/evaluate.h"

#include "shared/base/clock.h"
#include "shared/base/shown.h"

#include <math.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    COLUMNS_DEFAULT = 120,
    COLUMNS_MAX = 400,
    TEXTS = 3, /* message, answer, original */
    TEXT_COLUMNS_MIN = 12,
    GAP = 2,             /* between texts */
    NUMBER_COLUMNS = 11, /* with the space in front */
    BAR_MAX = 40,
    STATUS_BYTES = 160,
    MS_PER_S = 1000,
    SECONDS = 60,
    TENTHS = 10,
    EQUAL_MIN = 3, /* turns in a row that fail alike: one line */
    SHOWN_MAX_BYTES = 1 << 20
};

static unsigned columns_of(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return COLUMNS_DEFAULT;
    return size.ws_col < COLUMNS_MAX ? size.ws_col : COLUMNS_MAX;
}

/* --- progress --------------------------------------------------------------------------------- */

static size_t failed_so_far(const struct evaluated *run)
{
    return json_array_size(run->turns) - evaluated_measured_n(run);
}

/* A plain line for each tenth of the turns, for logs. */
static void show_line(struct evaluate_cli *cli)
{
    size_t n = json_array_size(cli->run.turns), all = cli->run.turn_n;
    if (n == cli->said_n || all == 0 || (n < all && n * TENTHS / all == cli->said_n * TENTHS / all))
        return;
    fprintf(stderr, "%zu of %llu %s, %zu failed\n", n, COUNTED(all, "turn"),
            failed_so_far(&cli->run));
    cli->said_n = n;
}

/* "1:05 left", from the turns since this command follows the run. */
static void put_time_left(const struct evaluate_cli *cli, char *at, size_t size)
{
    size_t n = json_array_size(cli->run.turns);
    uint64_t passed_ms = clock_mono_ms() - cli->started_ms;
    at[0] = 0;
    if (n <= cli->started_n)
        return;
    uint64_t left_s = passed_ms * (cli->run.turn_n - n) / (n - cli->started_n) / MS_PER_S;
    snprintf(at, size, ", %llu:%02llu left", (unsigned long long)left_s / SECONDS,
             (unsigned long long)left_s % SECONDS);
}

static void show_bar(struct evaluate_cli *cli)
{
    size_t n = json_array_size(cli->run.turns), all = cli->run.turn_n;
    char status[STATUS_BYTES], left[SECONDS], bar[BAR_MAX + 1];
    put_time_left(cli, left, sizeof left);
    int used = snprintf(status, sizeof status, "%zu of %llu %s, %zu failed%s", n,
                        COUNTED(all, "turn"), failed_so_far(&cli->run), left);
    int room = (int)columns_of(STDERR_FILENO) - used - 4; /* brackets, a space, the cursor */
    int width = room > BAR_MAX ? BAR_MAX : room;
    if (width < TENTHS || all == 0) {
        status_line_show(&cli->calls.progress, "%s", status);
        return;
    }
    int done = (int)((size_t)width * n / all);
    for (int i = 0; i < width; i++)
        bar[i] = i < done ? '#' : '-';
    bar[width] = 0;
    status_line_show(&cli->calls.progress, "[%s] %s", bar, status);
}

void evaluate_cli_show_begin(struct evaluate_cli *cli)
{
    size_t n = json_array_size(cli->run.turns);
    fprintf(stderr, "evaluation %s: %llu %s", cli->id, COUNTED(cli->run.turn_n, "turn"));
    if (cli->is_known && n > 0 && !evaluated_is_over(&cli->run))
        fprintf(stderr, ", resumed at turn %zu", n + 1);
    fputc('\n', stderr);
}

void evaluate_cli_show_progress(struct evaluate_cli *cli)
{
    if (isatty(STDERR_FILENO))
        show_bar(cli);
    else
        show_line(cli);
}

/* --- table ------------------------------------------------------------------------------------ */

static bool is_first_byte(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

/* Puts the text on one line of exactly `width` columns, or at most that if it is the last. */
static void print_cut(struct str text, unsigned width, bool is_last)
{
    struct buf shown;
    size_t end = 0, cut = 0;
    unsigned n = 0;
    buf_init(&shown, SHOWN_MAX_BYTES);
    for (struct str rest = text; rest.at != NULL;) { /* a line end is a space here */
        buf_put_shown(&shown, str_cut(&rest, '\n'));
        if (rest.at != NULL)
            buf_put_char(&shown, ' ');
    }
    for (end = 0; end < shown.n; end++) {
        if (!is_first_byte(shown.at[end]))
            continue;
        if (n == width)
            break;
        if (n == width - 1)
            cut = end;
        n++;
    }
    if (end < shown.n)
        printf("%.*s…", (int)cut, shown.at);
    else
        printf("%.*s", STR_ARG(buf_str(&shown)));
    if (!is_last)
        printf("%*s", (int)(width - n) + GAP, "");
    buf_fini(&shown);
}

static void print_number(double value, bool has_sign, const char *otherwise)
{
    double shown = fabs(value) < 0.00005 ? 0 : value;
    if (isnan(value))
        printf("%*s ", NUMBER_COLUMNS - 1, otherwise);
    else
        printf(has_sign ? "%+*.4f " : "%*.4f ", NUMBER_COLUMNS - 1, shown);
}

static void print_turn(const struct evaluate_cli *cli, size_t i, unsigned width)
{
    const struct evaluated_turn turn = evaluated_turn(&cli->run, i);
    struct str answer = turn.reason.n > 0 ? turn.reason : turn.answer;
    printf("%5zu ", turn.number);
    print_number(turn.distance, false, "failed");
    if (cli->pair.other != NULL) {
        double other = evaluated_turn(cli->pair.other, i).distance;
        print_number(other, false, "failed");
        print_number(turn.distance - other, true, "-");
    }
    print_cut(turn.question, width, false);
    print_cut(answer, width, false);
    print_cut(turn.original, width, true);
    putchar('\n');
}

/* How many turns from that one on have failed for one reason. */
static size_t count_equal(const struct evaluate_cli *cli, size_t from)
{
    struct str reason = evaluated_turn(&cli->run, from).reason;
    size_t i = from;
    while (reason.n > 0 && i < json_array_size(cli->run.turns) &&
           str_eq(evaluated_turn(&cli->run, i).reason, reason))
        i++;
    return i - from;
}

/* "1-13  failed  13 turns: the reason", which is the same for all and not cut. */
static void print_equal(const struct evaluate_cli *cli, size_t from, size_t n)
{
    struct buf shown;
    buf_init(&shown, SHOWN_MAX_BYTES);
    buf_put_shown(&shown, evaluated_turn(&cli->run, from).reason);
    char turns[48];
    snprintf(turns, sizeof turns, "%zu-%zu", from + 1, from + n);
    printf("%5s ", turns);
    print_number(NAN, false, "failed");
    printf("%llu %s: %.*s\n", COUNTED(n, "turn"), STR_ARG(buf_str(&shown)));
    buf_fini(&shown);
}

static void print_table(const struct evaluate_cli *cli)
{
    bool has_other = cli->pair.other != NULL;
    unsigned numbers = 6 + NUMBER_COLUMNS * (has_other ? 3 : 1);
    unsigned all = columns_of(STDOUT_FILENO);
    unsigned gaps = GAP * (TEXTS - 1);
    unsigned width = all > numbers + gaps ? (all - numbers - gaps) / TEXTS : 0;
    if (width < TEXT_COLUMNS_MIN)
        width = TEXT_COLUMNS_MIN;
    printf(" turn   distance ");
    if (has_other)
        printf("   against difference ");
    print_cut(STR("message"), width, false);
    print_cut(STR("answer"), width, false);
    print_cut(STR("original"), width, true);
    putchar('\n');
    for (size_t i = 0, n; i < json_array_size(cli->run.turns); i += n) {
        n = count_equal(cli, i);
        if (n >= EQUAL_MIN) {
            print_equal(cli, i, n);
        } else {
            n = 1;
            print_turn(cli, i, width);
        }
    }
}

static void print_interval(bool has_one, const struct interval *interval)
{
    if (has_one)
        printf(", 95 %% interval %.4f to %.4f", interval->low, interval->high);
}

static void print_pair(const struct evaluated_pair *pair)
{
    if (pair->other == NULL)
        return;
    printf("against %.*s: ", STR_ARG(pair->other->id));
    if (pair->difference.n > 0)
        printf("mean difference %+.4f", pair->difference.mean);
    else
        printf("no common turns");
    print_interval(pair->has_interval, &pair->interval);
    printf(" (%llu %s)\n%s\n", COUNTED(pair->difference.n, "turn"), evaluated_verdict(pair));
}

void evaluate_cli_show_result(const struct evaluate_cli *cli)
{
    const struct evaluated *run = &cli->run;
    size_t n = json_array_size(run->turns), measured = evaluated_measured_n(run);
    print_table(cli);
    putchar('\n');
    if (isnan(run->mean))
        printf("no turn was measured");
    else
        printf("mean %.*s %.4f", STR_ARG(evaluated_measure_name(run->measure)), run->mean);
    print_interval(run->has_interval, &run->interval);
    if (!isnan(run->score))
        printf(", score %.1f of 100", run->score);
    printf(" (%zu of %llu %s measured, %zu failed)\n", measured, COUNTED(n, "turn"), n - measured);
    print_pair(&cli->pair);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *pair_json(const struct evaluated_pair *pair)
{
    json_t *json =
        json_pack("{s:o,s:I}", "id", json_incref(json_object_get(pair->other->head, "id")), "turns",
                  (json_int_t)pair->difference.n);
    json_object_set_new(json, "difference",
                        pair->difference.n > 0 ? json_real(pair->difference.mean) : json_null());
    json_object_set_new(json, "interval",
                        pair->has_interval
                            ? json_pack("[f,f]", pair->interval.low, pair->interval.high)
                            : json_null());
    return json;
}

void evaluate_cli_show_json(const struct evaluate_cli *cli)
{
    struct buf out;
    json_t *json = json_copy(cli->run.head);
    json_object_set(json, "turns", cli->run.turns);
    if (cli->pair.other != NULL)
        json_object_set_new(json, "against", pair_json(&cli->pair));
    buf_init(&out, SIZE_MAX / 2);
    buf_put_json_value(&out, json);
    printf("%.*s\n", STR_ARG(buf_str(&out)));
    buf_fini(&out);
    json_decref(json);
}
