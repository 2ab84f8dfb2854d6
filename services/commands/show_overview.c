/* SPDX-License-Identifier: MIT
 * show_overview.c - see show_overview.h. Everything is read from one object in the form of GET
 * /api/status (show_status.h); what it does not have, nobody was asked about. */
#include "services/commands/show_overview.h"

#include "services/commands/show_status.h"
#include "shared/base/shown.h"

#include <stdio.h>

enum {
    TEXT_MAX_BYTES = 1 << 20,
    PROCESSES_MAX = 4096,
    HUNG_S = 15, /* three syncs of a node */
    MINUTE_S = 60,
    HOUR_S = 3600,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2
};

/* The printed text, and what it is made of. */
struct overview {
    const json_t *status;
    long long waiting_slots, working_slots, resting_slots;
    long long processes, threads;
    json_t *troubles; /* texts */
};

static long long count_of(const json_t *object, const char *name)
{
    return (long long)json_integer_value(json_object_get(object, name));
}

static double seconds_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

/* --- troubles --------------------------------------------------------------------------------- */

static void note_trouble(struct overview *o, const struct buf *text)
{
    struct buf shown;
    buf_init(&shown, TEXT_MAX_BYTES);
    buf_put_shown(&shown, buf_str(text));
    json_array_append_new(o->troubles, json_stringn(shown.n > 0 ? shown.at : "", shown.n));
    buf_fini(&shown);
}

static void put_seconds(struct buf *b, double seconds)
{
    unsigned long long s = seconds > 0 ? (unsigned long long)seconds : 0;
    if (s < MINUTE_S)
        buf_printf(b, "%.1f s", seconds > 0 ? seconds : 0);
    else if (s < HOUR_S)
        buf_printf(b, "%llu min %llu s", s / MINUTE_S, s % MINUTE_S);
    else
        buf_printf(b, "%llu h %llu min", s / HOUR_S, s % HOUR_S / MINUTE_S);
}

static void put_member(struct buf *b, const json_t *object, const char *name)
{
    struct str text = json_member_str(object, name);
    buf_put(b, text.at == NULL ? STR("?") : text);
}

static void note_node(struct overview *o, const json_t *node, const char *what)
{
    struct buf text;
    buf_init(&text, TEXT_MAX_BYTES);
    buf_lit(&text, "node ");
    put_member(&text, json_object_get(node, "Info"), "address");
    buf_printf(&text, " (pid %lld) %s ", count_of(json_object_get(node, "Info"), "pid"), what);
    put_seconds(&text, seconds_of(node, "SeenSecondsAgo"));
    buf_lit(&text, " ago");
    note_trouble(o, &text);
    buf_fini(&text);
}

/* An engine of which somebody has said that it gets no questions. */
static void note_drained(struct overview *o, const json_t *engine)
{
    struct buf text;
    buf_init(&text, TEXT_MAX_BYTES);
    buf_lit(&text, "account ");
    put_member(&text, engine, "User");
    buf_lit(&text, " is drained: its engines get no questions (POST /api/drain-engine ends that)");
    note_trouble(o, &text);
    buf_fini(&text);
}

static void note_count(struct overview *o, const char *name, const char *one, const char *many)
{
    long long n = count_of(json_object_get(o->status, "Work"), name);
    struct buf text;
    if (n == 0)
        return;
    buf_init(&text, TEXT_MAX_BYTES);
    buf_printf(&text, "%lld %s", n, n == 1 ? one : many);
    note_trouble(o, &text);
    buf_fini(&text);
}

static void note_settings(struct overview *o)
{
    const json_t *one;
    size_t i;
    json_array_foreach(json_object_get(o->status, "DifferentSettings"), i, one)
    {
        struct buf text;
        buf_init(&text, TEXT_MAX_BYTES);
        buf_lit(&text, "nodes differ in the setting ");
        put_member(&text, one, "Setting");
        buf_lit(&text, ": ");
        put_member(&text, one, "Here");
        buf_lit(&text, ", but ");
        put_member(&text, one, "There");
        buf_lit(&text, " on ");
        put_member(&text, one, "OtherNode");
        note_trouble(o, &text);
        buf_fini(&text);
    }
}

static void note_redis(struct overview *o)
{
    const json_t *redis = json_object_get(o->status, "Redis");
    struct str state = json_member_str(redis, "Status");
    struct str trouble = json_member_str(redis, "Trouble");
    struct buf text;
    if (trouble.n == 0 && str_eq(state, STR("connected")))
        return;
    buf_init(&text, TEXT_MAX_BYTES);
    buf_lit(&text, "Redis: ");
    if (trouble.n > 0)
        buf_put(&text, trouble);
    else
        buf_put(&text, str_eq(state, STR("away")) ? STR("no shard answers")
                                                  : STR("some shards do not answer"));
    note_trouble(o, &text);
    buf_fini(&text);
}

static void note_queue(struct overview *o)
{
    static const char none[] = "questions wait, and no engine is there";
    long long slots = o->waiting_slots + o->working_slots + o->resting_slots;
    if (count_of(o->status, "Depth") > 0 && slots == 0)
        json_array_append_new(o->troubles, json_string(none));
    note_count(o, "FailedQuestions", "question has failed: GET /api/queue?State=Failed lists it",
               "questions have failed: GET /api/queue?State=Failed lists them");
    note_count(o, "UnreadableJobs",
               "document waits for an indexer that can read its file (poppler-utils for PDF)",
               "documents wait for an indexer that can read their files (poppler-utils for PDF)");
}

/* --- counting --------------------------------------------------------------------------------- */

static void count_engines(struct overview *o)
{
    const json_t *engine, *other = NULL;
    size_t i;
    json_array_foreach(json_object_get(o->status, "Engines"), i, engine)
    {
        const json_t *slots = json_object_get(engine, "Slots");
        o->waiting_slots += count_of(slots, "Waiting");
        o->working_slots += count_of(slots, "Working");
        o->resting_slots += count_of(slots, "Resting");
        if (!json_is_true(json_object_get(engine, "Drained")))
            continue;
        if (!json_equal(json_object_get(engine, "User"), json_object_get(other, "User")))
            note_drained(o, engine);
        other = engine; /* engines of one account are neighbours */
    }
}

static bool is_same(const json_t *one, const json_t *other, const char *name)
{
    const json_t *value = json_object_get(json_object_get(one, "Info"), name);
    return value != NULL &&
           json_equal(value, json_object_get(json_object_get(other, "Info"), name));
}

/* Returns whether an earlier row of the list is of the same process. */
static bool is_known(const json_t *list, size_t before, const json_t *node)
{
    size_t i = 0;
    while (i < before && !(is_same(json_array_get(list, i), node, "pid") &&
                           is_same(json_array_get(list, i), node, "host")))
        i++;
    return i < before;
}

static bool is_replaced(const json_t *alive, const json_t *gone)
{
    size_t i = 0;
    while (i < json_array_size(alive) && !is_same(json_array_get(alive, i), gone, "address"))
        i++;
    return i < json_array_size(alive);
}

static void count_nodes(struct overview *o)
{
    const json_t *alive = json_object_get(o->status, "Nodes"), *node;
    const json_t *gone = json_object_get(o->status, "GoneNodes");
    size_t i;
    json_array_foreach(alive, i, node)
    {
        bool is_first = i >= PROCESSES_MAX || !is_known(alive, i, node);
        o->threads++;
        o->processes += is_first;
        if (is_first && seconds_of(node, "SeenSecondsAgo") > HUNG_S)
            note_node(o, node, "is stuck: it was last seen");
    }
    json_array_foreach(gone, i, node)
    {
        if (!is_known(gone, i, node) && !is_replaced(alive, node))
            note_node(o, node, "is gone: it was last seen");
    }
}

/* --- printing --------------------------------------------------------------------------------- */

static void print_queue(const struct overview *o)
{
    const json_t *recent = json_object_get(o->status, "Recent");
    struct buf oldest;
    if (json_is_null(json_object_get(o->status, "Depth"))) {
        puts("queue        unknown");
        return;
    }
    buf_init(&oldest, TEXT_MAX_BYTES);
    if (json_is_number(json_object_get(o->status, "OldestSeconds"))) {
        buf_lit(&oldest, ", the oldest for ");
        put_seconds(&oldest, seconds_of(o->status, "OldestSeconds"));
    }
    printf("queue        %lld waiting%.*s; %llu %s with engines; %llu %s\n",
           count_of(o->status, "Depth"), STR_ARG(buf_str(&oldest)),
           COUNTED(count_of(o->status, "InFlight"), "claim"),
           COUNTED(count_of(o->status, "OpenLookups"), "open lookup"));
    printf("             %lld added, %lld done, %lld failed in the last %lld s\n",
           count_of(recent, "Added"), count_of(recent, "Done"), count_of(recent, "Failed"),
           count_of(recent, "Seconds"));
    buf_fini(&oldest);
}

static void print_work(const struct overview *o)
{
    const json_t *work = json_object_get(o->status, "Work");
    const json_t *accounts = json_object_get(o->status, "Accounts");
    if (json_is_object(accounts))
        printf("accounts     %lld frontend, %lld user, %lld engine, %lld operator\n",
               count_of(accounts, "frontend"), count_of(accounts, "user"),
               count_of(accounts, "engine"), count_of(accounts, "operator"));
    if (!json_is_object(work))
        return;
    printf("documents    %lld being indexed\n", count_of(work, "IndexingJobs"));
    if (json_is_integer(json_object_get(work, "Runs")))
        printf("runs         %lld of workflows, also those that wait for a person; ",
               count_of(work, "Runs"));
    else
        printf("runs         many of workflows; ");
    printf("%llu %s, %llu %s\n", COUNTED(count_of(work, "Evaluations"), "evaluation"),
           COUNTED_AS(count_of(work, "Batches"), "batch", "batches"));
    printf("bots         %llu %s on the way\n", COUNTED(count_of(work, "Deliveries"), "message"));
}

static void print_lines(const struct overview *o)
{
    const json_t *trouble;
    size_t i;
    print_queue(o);
    if (json_is_array(json_object_get(o->status, "Engines")))
        printf("engines      %llu %s: %lld waiting, %lld working, %lld resting\n",
               COUNTED(o->waiting_slots + o->working_slots + o->resting_slots, "slot"),
               o->waiting_slots, o->working_slots, o->resting_slots);
    if (json_is_array(json_object_get(o->status, "Nodes")))
        printf("nodes        %llu %s, %llu %s\n", COUNTED_AS(o->processes, "process", "processes"),
               COUNTED(o->threads, "thread"));
    print_work(o);
    if (json_array_size(o->troubles) == 0)
        puts("troubles     none");
    json_array_foreach(o->troubles, i, trouble)
    {
        printf("%-13s%.*s\n", i == 0 ? "troubles" : "", STR_ARG(json_str(trouble)));
    }
}

static void print_json(const struct overview *o)
{
    struct buf out;
    json_t *json = json_copy((json_t *)(uintptr_t)o->status);
    json_object_set(json, "Troubles", o->troubles);
    buf_init(&out, SIZE_MAX / 2);
    buf_put_json_value(&out, json);
    printf("%.*s\n", STR_ARG(buf_str(&out)));
    buf_fini(&out);
    json_decref(json);
}

/* --- the run ---------------------------------------------------------------------------------- */

static bool is_flag(const struct config *config, const char *name)
{
    const char *source = config_get(config, name)->source;
    return source != NULL && strcmp(source, "flag") == 0;
}

/* A node, if it is known which, unless Redis is named on the command line. */
static bool asks_node(const struct config *config)
{
    const char *url = config_text(config, "url");
    return url != NULL && url[0] != 0 && !is_flag(config, "redis");
}

int show_overview(const struct config *config)
{
    json_t *status = NULL;
    if (is_flag(config, "redis") && is_flag(config, "url")) {
        fputs("parley: --url asks a node and --redis asks Redis: give one of them (see parley show "
              "--help)\n",
              stderr);
        return EXIT_USAGE;
    }
    int code = asks_node(config) ? show_status_of_node(config, &status)
                                 : show_status_of_redis(config, &status);
    if (code != 0)
        return code;
    struct overview o = {.status = status, .troubles = json_array()};
    note_redis(&o);
    count_nodes(&o);
    count_engines(&o);
    note_queue(&o);
    note_settings(&o);
    if (config_number(config, "json"))
        print_json(&o);
    else
        print_lines(&o);
    json_decref(o.troubles);
    json_decref(status);
    return fflush(stdout) == 0 ? 0 : EXIT_FAILED;
}
