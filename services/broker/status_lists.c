/* SPDX-License-Identifier: MIT
 * status_lists.c - see status.h. */
#include "services/broker/status.h"

#include "shared/base/clock.h"
#include "shared/base/json_scan.h"
#include "shared/queue/depth.h"

#include <stdlib.h>

enum { MEMBERS_MAX = 16 };

/* The members of what a node wrote. */
struct info {
    struct json_member members[MEMBERS_MAX];
    size_t n;
};

static void read_info(struct info *info, struct str text)
{
    const char *reason;
    size_t at;
    bool is_object;
    if (!json_scan_object(text, info->members, MEMBERS_MAX, &info->n, &reason, &at, &is_object))
        info->n = 0;
    else if (info->n > MEMBERS_MAX)
        info->n = MEMBERS_MAX;
}

static const struct json_span *member_of(const struct info *info, const char *name)
{
    for (size_t i = 0; i < info->n; i++)
        if (str_eq(info->members[i].name.raw, str_of(name)))
            return &info->members[i].value;
    return NULL;
}

static void put_seconds(struct buf *b, uint64_t ms)
{
    buf_printf(b, "%llu.%03llu", (unsigned long long)ms / 1000, (unsigned long long)ms % 1000);
}

/* --- engines ---------------------------------------------------------------------------------- */

/* One slot, or an engine of a single one. */
struct slot_row {
    struct str account, name, process, info; /* `process`: a name; n == 0: it says none */
    enum engine_state state;
    uint64_t age_ms, rests_until_ms;
};

static int compare_text(struct str one, struct str other)
{
    size_t n = one.n < other.n ? one.n : other.n;
    int order = n == 0 ? 0 : memcmp(one.at, other.at, n);
    return order != 0 ? order : (one.n > other.n) - (one.n < other.n);
}

/* By process; what names none is apart from those by its name. */
static int compare_slots(const void *left, const void *right)
{
    const struct slot_row *one = left, *other = right;
    int order = compare_text(one->account, other->account);
    if (order == 0)
        order = compare_text(one->process, other->process);
    return order != 0 || one->process.n > 0 ? order : compare_text(one->name, other->name);
}

static bool is_same_engine(const struct slot_row *one, const struct slot_row *other)
{
    return compare_slots(one, other) == 0;
}

static void read_slot(struct slot_row *row, struct lines *lines)
{
    struct str who = lines_next(lines), state = lines_next(lines);
    struct info info;
    *row = (struct slot_row){.account = str_cut(&who, ' '), .state = ENGINE_WAITING};
    row->name = who;
    row->age_ms = lines_next_u64(lines);
    row->info = lines_next(lines);
    for (unsigned i = 0; i < ENGINE_NR; i++)
        if (str_eq(state, str_of(engine_state_names[i])))
            row->state = i;
    read_info(&info, row->info);
    const struct json_span *process = member_of(&info, "Process"),
                           *until = member_of(&info, "RestingUntilMs");
    if (process != NULL && process->kind == JSON_SPAN_TEXT)
        row->process = process->raw;
    if (until == NULL || !str_parse_u64(until->raw, &row->rests_until_ms) ||
        row->rests_until_ms <= clock_wall_s() * 1000)
        row->rests_until_ms = 0;
}

/* Puts what operators see of its info: not what nodes have for each other. */
static void put_info(struct buf *b, struct str text)
{
    static const char *const shown[] = {"RestingUntilMs", "Models", "Reason"};
    struct info info;
    read_info(&info, text);
    const char *between = "{";
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        const struct json_span *value = member_of(&info, shown[i]);
        if (value == NULL)
            continue;
        bool is_text = value->kind == JSON_SPAN_TEXT;
        buf_printf(b, "%s\"%s\":%s", between, shown[i], is_text ? "\"" : "");
        buf_put(b, value->raw);
        buf_put(b, is_text ? STR("\"") : STR(""));
        between = ",";
    }
    buf_put(b, between[0] == '{' ? STR("{}") : STR("}"));
}

/* `slots`: all of one engine, n of them. */
static void put_engine(struct buf *b, const struct slot_row *slots, size_t n, struct str drained)
{
    uint64_t counts[ENGINE_NR] = {0}, until_ms = 0;
    const struct slot_row *newest = slots;
    bool is_drained = str_is_listed(drained, slots->account);
    for (size_t i = 0; i < n; i++) {
        counts[slots[i].state]++;
        newest = slots[i].age_ms < newest->age_ms ? &slots[i] : newest;
        until_ms = slots[i].rests_until_ms > until_ms ? slots[i].rests_until_ms : until_ms;
    }
    enum engine_state state = counts[ENGINE_WORKING] > 0   ? ENGINE_WORKING
                              : is_drained                 ? ENGINE_DRAINED
                              : counts[ENGINE_WAITING] > 0 ? ENGINE_WAITING
                                                           : ENGINE_RESTING;
    struct str name = slots->process.n > 0 ? slots->process : slots->name;
    buf_lit(b, "{\"User\":");
    buf_put_json_of_name(b, slots->account);
    buf_lit(b, ",\"Engine\":");
    if (str_eq(name, STR("-")))
        buf_lit(b, "null");
    else
        buf_put_json_of_name(b, name);
    buf_printf(
        b, ",\"State\":\"%s\",\"Slots\":{\"Waiting\":%llu,\"Working\":%llu,\"Resting\":%llu}",
        engine_state_names[state], (unsigned long long)counts[ENGINE_WAITING],
        (unsigned long long)counts[ENGINE_WORKING], (unsigned long long)counts[ENGINE_RESTING]);
    buf_lit(b, ",\"SeenSecondsAgo\":");
    put_seconds(b, newest->age_ms);
    buf_lit(b, ",\"Info\":");
    put_info(b, newest->info);
    buf_lit(b, ",\"RestingUntil\":");
    if (until_ms == 0)
        buf_lit(b, "null");
    else
        buf_put_json_time(b, until_ms);
    buf_put(b, is_drained ? STR(",\"Drained\":true}") : STR(",\"Drained\":false}"));
}

/* Each slot is known to one shard, that of its name. */
void status_put_engines(struct buf *b, struct request *r, const struct status *status)
{
    size_t n = 0, at = 0;
    for (unsigned shard = 0; shard < status->shard_n; shard++)
        n += status->engine_n[shard];
    struct slot_row *rows = request_alloc(r, (n + 1) * sizeof *rows);
    for (unsigned shard = 0; shard < status->shard_n; shard++) {
        struct lines lines = status->engines[shard];
        for (uint64_t i = 0; i < status->engine_n[shard]; i++)
            read_slot(&rows[at++], &lines);
    }
    qsort(rows, n, sizeof *rows, compare_slots);
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && is_same_engine(&rows[first], &rows[end]); end++)
            ;
        buf_put(b, first == 0 ? STR("") : STR(","));
        put_engine(b, &rows[first], end - first, status->drained);
    }
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* null where the node's record does not say it. */
static void put_of_info(struct buf *b, const struct info *info, const char *key, const char *name)
{
    const struct json_span *value = member_of(info, name);
    buf_printf(b, ",\"%s\":", key);
    if (value == NULL)
        buf_lit(b, "null");
    else
        buf_put_span(b, value);
}

static void put_node(struct buf *b, const struct status_node *node)
{
    struct info info;
    read_info(&info, node->info);
    buf_lit(b, "{\"Node\":");
    buf_put_json_of_name(b, node->id);
    put_of_info(b, &info, "Address", "address");
    put_of_info(b, &info, "Host", "host");
    put_of_info(b, &info, "Pid", "pid");
    put_of_info(b, &info, "Version", "version");
    buf_lit(b, ",\"SeenSecondsAgo\":");
    put_seconds(b, node->age_ms);
    buf_lit(b, ",\"Info\":");
    buf_put(b, node->info);
    buf_put_char(b, '}');
}

void status_put_nodes(struct buf *b, const struct status *status, bool is_gone)
{
    struct status_node node;
    const char *between = "";
    for (unsigned shard = 0; shard < status->shard_n; shard++)
        for (struct lines nodes = status->nodes[shard]; status_next_node(&nodes, &node);) {
            if (node.is_gone != is_gone || !status_is_first(status, shard, &node))
                continue;
            buf_put(b, str_of(between));
            put_node(b, &node);
            between = ",";
        }
}
