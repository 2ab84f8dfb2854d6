/* SPDX-License-Identifier: MIT
 * top_view.c - see top.h. From the top down: what matters most is what a small terminal shows. */
#include "services/users/cli/top.h"

#include "shared/base/shown.h"

#include "shared/base/mem.h"

#include <stdio.h>

enum {
    LINE_MAX_BYTES = 8192,
    TEXT_MAX_BYTES = 1024,
    MODELS_AT_LEAST = 3, /* lines that each list keeps when there is little room */
    VERBS_MAX = 12,
    LISTS = 4
};

/* A view that is being written. */
struct writer {
    struct buf *b;
    const struct top_view *view;
    struct buf line;
    unsigned n; /* lines so far */
};

/* --- lines ------------------------------------------------------------------------------------ */

/* The first `columns` characters: what was put is plain text of single cells. */
static struct str cut_to(struct str text, unsigned columns)
{
    size_t n = 0;
    for (unsigned cells = 0; n < text.n; n++)
        if (((unsigned char)text.at[n] & 0xc0) != 0x80 && columns > 0 && cells++ == columns)
            break;
    return (struct str){text.at, n};
}

static void end_line(struct writer *w, const char *colour)
{
    const struct top_view *view = w->view;
    if (view->lines == 0 || w->n < view->lines) {
        bool is_coloured = view->has_colours && colour != NULL;
        buf_put(w->b, w->n == 0 ? STR("") : STR("\n"));
        buf_put(w->b, is_coloured ? str_of(colour) : STR(""));
        buf_put(w->b, cut_to(buf_str(&w->line), view->columns));
        buf_put(w->b, is_coloured ? STR("\033[0m") : STR(""));
        w->n++;
    }
    buf_clear(&w->line);
}

#define BOLD "\033[1m"
#define RED "\033[31m"
#define DIM "\033[2m"

static void put_shown(struct writer *w, const char *name, const json_t *object, int width)
{
    struct str text = json_member_str(object, name);
    struct buf shown;
    buf_init(&shown, TEXT_MAX_BYTES);
    buf_put_shown(&shown, text.at == NULL ? STR("-") : text);
    struct str cut = cut_to(buf_str(&shown), (unsigned)width);
    size_t cells = 0;
    for (size_t i = 0; i < cut.n; i++)
        cells += ((unsigned char)cut.at[i] & 0xc0) != 0x80;
    buf_put(&w->line, cut);
    for (; cells < (size_t)width + 1; cells++)
        buf_put_char(&w->line, ' ');
    buf_fini(&shown);
}

static double number_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

/* Puts `words` and a count, or a question mark if nobody knows it. */
static void put_count(struct writer *w, const char *words, const json_t *object, const char *name)
{
    const json_t *count = json_object_get(object, name);
    buf_printf(&w->line, "%s ", words);
    if (json_is_integer(count))
        buf_put_u64(&w->line, (uint64_t)json_integer_value(count));
    else
        buf_put_char(&w->line, '?');
}

static long long count_of(const json_t *object, const char *name)
{
    return (long long)json_integer_value(json_object_get(object, name));
}

/* "4.2s", "3m12s", "2h05m", "3d04h" in six characters. */
static void put_age(struct writer *w, double seconds)
{
    char text[32];
    unsigned long long s = seconds > 0 ? (unsigned long long)seconds : 0;
    if (s < 60)
        snprintf(text, sizeof text, "%.1fs", seconds > 0 ? seconds : 0);
    else if (s < 3600)
        snprintf(text, sizeof text, "%llum%02llus", s / 60, s % 60);
    else if (s < 86400)
        snprintf(text, sizeof text, "%lluh%02llum", s / 3600, s / 60 % 60);
    else
        snprintf(text, sizeof text, "%llud%02lluh", s / 86400, s / 3600 % 24);
    buf_printf(&w->line, "%7s", text);
}

/* --- the parts -------------------------------------------------------------------------------- */

static void put_head(struct writer *w)
{
    const json_t *status = w->view->status, *depth = w->view->depth;
    const json_t *recent = json_object_get(status, "Recent"),
                 *redis = json_object_get(status, "Redis");
    const json_t *engines = json_object_get(depth, "Engines"),
                 *here = json_object_get(status, "Here");
    double span_s = number_of(recent, "Seconds");
    bool is_connected = str_eq(json_member_str(redis, "Status"), STR("connected"));
    buf_printf(&w->line, "parley top  %.*s  Redis ", STR_ARG(w->view->url));
    if (depth == NULL)
        buf_lit(&w->line, "AWAY");
    else
        buf_printf(&w->line, "%s, %.1f ms", is_connected ? "connected" : "DEGRADED",
                   number_of(redis, "RoundTripUs") / 1000);
    end_line(w, BOLD);
    if (w->view->notice != NULL) {
        buf_put(&w->line, str_of(w->view->notice));
        end_line(w, RED);
    }
    put_count(w, "waiting", depth, "Depth");
    buf_lit(&w->line, "   oldest");
    put_age(w, number_of(depth, "OldestSeconds"));
    put_count(w, "   claims", depth, "InFlight");
    put_count(w, "   lookups", depth, "OpenLookups");
    end_line(w, NULL);
    if (depth == NULL) {
        put_count(w, "this process: polls", here, "ParkedPolls");
        put_count(w, "   checks", here, "WaitingChecks");
        end_line(w, NULL);
        return;
    }
    buf_printf(&w->line, "added %.2f/s   done %.2f/s   failed %.2f/s   (last %.0f s)",
               span_s > 0 ? number_of(recent, "Added") / span_s : 0,
               number_of(recent, "DonePerSecond"),
               span_s > 0 ? number_of(recent, "Failed") / span_s : 0, span_s);
    end_line(w, NULL);
    buf_printf(&w->line, "slots: %lld waiting, %lld working, %lld resting, %lld drained",
               count_of(engines, "waiting"), count_of(engines, "working"),
               count_of(engines, "resting"), count_of(engines, "drained"));
    end_line(w, NULL);
}

static void put_differences(struct writer *w)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(w->view->status, "DifferentSettings"), i, one)
    {
        struct str setting = json_member_str(one, "Setting"), here = json_member_str(one, "Here"),
                   there = json_member_str(one, "There"), other = json_member_str(one, "OtherNode");
        struct buf line;
        buf_init(&line, LINE_MAX_BYTES);
        buf_printf(&line, "settings differ: %.*s is %.*s on %.*s and %.*s on %.*s",
                   STR_ARG(setting), STR_ARG(here), STR_ARG(w->view->url), STR_ARG(there),
                   STR_ARG(other));
        buf_put_shown(&w->line, buf_str(&line));
        buf_fini(&line);
        end_line(w, RED);
    }
}

/* A list of the view: its heading, and how a row of it is put. */
struct listing {
    const char *heading;
    json_t *rows; /* own */
    void (*put)(struct writer *w, const json_t *row);
    size_t shown_n;
};

static void put_model(struct writer *w, const json_t *row)
{
    put_shown(w, "Model", row, 40);
    buf_printf(&w->line, "%8lld ", count_of(row, "Depth"));
    put_age(w, number_of(row, "OldestSeconds"));
    end_line(w, NULL);
}

static void put_engine(struct writer *w, const json_t *row)
{
    const json_t *slots = json_object_get(row, "Slots");
    bool is_idle = str_eq(json_member_str(row, "State"), STR("resting")) ||
                   str_eq(json_member_str(row, "State"), STR("drained"));
    put_shown(w, "User", row, 16);
    put_shown(w, "Engine", row, 24);
    put_shown(w, "State", row, 8);
    buf_printf(&w->line, "%4lld %4lld %4lld ", count_of(slots, "Waiting"),
               count_of(slots, "Working"), count_of(slots, "Resting"));
    put_age(w, number_of(row, "SeenSecondsAgo"));
    end_line(w, is_idle ? DIM : NULL);
}

/* One that is gone is not added up with those that live, and colours may be off. */
static void put_node(struct writer *w, const json_t *row)
{
    bool is_gone = json_is_true(json_object_get(row, "IsGone"));
    put_shown(w, "Address", row, 30);
    buf_printf(&w->line, "%8lld ", count_of(row, "Pid"));
    put_shown(w, "Version", row, 10);
    if (is_gone)
        buf_lit(&w->line, "GONE ");
    else
        buf_printf(&w->line, "%4lld ", count_of(row, "Threads"));
    put_age(w, number_of(row, "SeenSecondsAgo"));
    if (is_gone)
        buf_lit(&w->line, " ago");
    end_line(w, is_gone || number_of(row, "SeenSecondsAgo") > 10 ? RED : NULL);
}

static void put_verb(struct writer *w, const json_t *row)
{
    double calls = number_of(row, "Calls");
    put_shown(w, "Verb", row, 26);
    buf_printf(&w->line, "%12.0f %9.0f us %8lld", calls,
               calls > 0 ? number_of(row, "Us") / calls : 0, count_of(row, "Errors"));
    end_line(w, NULL);
}

/* --- which rows, in which order --------------------------------------------------------------- */

static int by_depth(const void *left, const void *right)
{
    long long one = count_of(*(json_t *const *)left, "Depth"),
              other = count_of(*(json_t *const *)right, "Depth");
    return (other > one) - (other < one);
}

static int by_time(const void *left, const void *right)
{
    long long one = count_of(*(json_t *const *)left, "Us"),
              other = count_of(*(json_t *const *)right, "Us");
    return (other > one) - (other < one);
}

/* A sorted copy of a list, of at most `most` rows; its items are borrowed from the view. */
static json_t *sorted(const json_t *list, int (*compare)(const void *, const void *), size_t most)
{
    size_t n = json_array_size(list);
    json_t *copy = json_array(), **rows = mem_zeroed_n(n + 1, sizeof(json_t *));
    if (copy == NULL)
        abort();
    for (size_t i = 0; i < n; i++)
        rows[i] = json_array_get(list, i);
    qsort(rows, n, sizeof *rows, compare);
    for (size_t i = 0; i < n && i < most; i++)
        json_array_append(copy, rows[i]);
    free(rows);
    return copy;
}

/* Finds the row that has the same numbers and texts in `members`. */
static json_t *find_equal(json_t *rows, const json_t *row, const char *const *members)
{
    size_t i;
    json_t *one;
    json_array_foreach(rows, i, one)
    {
        const char *const *name = members;
        while (*name != NULL && !json_is_null(json_object_get(row, *name)) &&
               json_equal(json_object_get(one, *name), json_object_get(row, *name)))
            name++;
        if (*name == NULL)
            return one;
    }
    return NULL;
}

/* Each thread of a process is a node to the cluster; people start processes. */
static json_t *processes_of(const json_t *nodes)
{
    static const char *const same[] = {"Pid", "Host", NULL};
    json_t *all = json_array(), *node;
    size_t i;
    if (all == NULL)
        abort();
    json_array_foreach(nodes, i, node)
    {
        json_t *found = find_equal(all, node, same);
        if (found == NULL) {
            found = json_copy(node);
            json_object_set_new(found, "Threads", json_integer(0));
            json_array_append_new(all, found);
        }
        json_object_set_new(found, "Threads", json_integer(count_of(found, "Threads") + 1));
        if (number_of(node, "SeenSecondsAgo") < number_of(found, "SeenSecondsAgo"))
            json_object_set(found, "SeenSecondsAgo", json_object_get(node, "SeenSecondsAgo"));
    }
    return all;
}

/* Those that live, then those that are gone and that no other process has replaced at their
 * address. */
static json_t *list_processes(const json_t *status)
{
    static const char *const same[] = {"Address", NULL};
    json_t *all = processes_of(json_object_get(status, "Nodes"));
    json_t *gone = processes_of(json_object_get(status, "GoneNodes")), *one;
    size_t i;
    json_array_foreach(gone, i, one)
    {
        if (find_equal(all, one, same) != NULL)
            continue;
        json_object_set_new(one, "IsGone", json_true());
        json_array_append(all, one);
    }
    json_decref(gone);
    return all;
}

/* Shares the lines that are left: each list has its heading and a few rows, and the first ones get
 * what the others do not need. */
static void share_lines(struct listing *lists, unsigned lines_left)
{
    unsigned used = LISTS;
    for (unsigned i = 0; i < LISTS; i++) {
        size_t n = json_array_size(lists[i].rows);
        lists[i].shown_n = n < MODELS_AT_LEAST ? n : MODELS_AT_LEAST;
        used += (unsigned)lists[i].shown_n;
    }
    for (unsigned i = 0; i < LISTS; i++) {
        size_t more = json_array_size(lists[i].rows) - lists[i].shown_n;
        size_t room = lines_left > used ? lines_left - used : 0;
        more = more < room ? more : room;
        lists[i].shown_n += more;
        used += (unsigned)more;
    }
}

static void put_list(struct writer *w, const struct listing *list)
{
    size_t n = json_array_size(list->rows);
    buf_printf(&w->line, "%s", list->heading);
    if (list->shown_n < n)
        buf_printf(&w->line, "   (%zu of %zu)", list->shown_n, n);
    end_line(w, BOLD);
    for (size_t i = 0; i < list->shown_n; i++)
        list->put(w, json_array_get(list->rows, i));
}

void top_view_put(struct buf *b, const struct top_view *view)
{
    struct writer w = {.b = b, .view = view};
    const json_t *status = view->status;
    buf_init(&w.line, LINE_MAX_BYTES);
    put_head(&w);
    put_differences(&w);
    struct listing lists[LISTS] = {
        {"MODEL                                     WAITING  OLDEST",
         sorted(json_object_get(view->depth, "Models"), by_depth, SIZE_MAX), put_model, 0},
        {"ACCOUNT          ENGINE                   STATE    WAIT WORK REST    SEEN",
         json_incref(json_object_get(status, "Engines")), put_engine, 0},
        {"NODE                                PID VERSION    THRD    SEEN", list_processes(status),
         put_node, 0},
        {"VERB (this node)                  CALLS    PER CALL   ERRORS",
         sorted(json_object_get(status, "Verbs"), by_time, VERBS_MAX), put_verb, 0}};
    share_lines(lists, view->lines == 0 ? UINT32_MAX : view->lines > w.n ? view->lines - w.n : 0);
    for (unsigned i = 0; i < LISTS; i++) {
        put_list(&w, &lists[i]);
        json_decref(lists[i].rows);
    }
    buf_fini(&w.line);
}
