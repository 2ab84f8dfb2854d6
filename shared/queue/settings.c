/* SPDX-License-Identifier: MIT
 * settings.c - settings that should be the same on all nodes, and are not (queue.h). A lease's
 * length, a limit or a switch that differs by node makes a cluster behave as the load balancer
 * chooses. So each sync states this node's, and its reply has those of others that differ
 * (lua/queue/sync.lua). While nodes are restarted with a new setting they differ for a moment:
 * that is logged when two syncs in a row found it. */
#include "shared/queue/settings.h"

#include "shared/base/json_scan.h"
#include "shared/base/log.h"

enum { MEMBERS_MAX = 16, ADDRESS_MAX_BYTES = 512, DIFFERENCES_MAX_BYTES = 8192 };

struct settings {
    struct buf differences; /* as lines */
    bool have_differed;     /* in the last sync, too */
};

struct settings *settings_create(void)
{
    struct settings *settings = mem_zeroed(sizeof *settings);
    buf_init(&settings->differences, DIFFERENCES_MAX_BYTES);
    return settings;
}

void settings_destroy(struct settings *settings)
{
    buf_fini(&settings->differences);
    free(settings);
}

/* Takes "<name>=<value>" off a list. */
static bool next_setting(struct str *list, struct str *ret_name, struct str *ret_value)
{
    if (list->at == NULL || list->n == 0)
        return false;
    *ret_value = str_cut(list, ' ');
    *ret_name = str_cut(ret_value, '=');
    return true;
}

static bool find_setting(struct str list, struct str wanted, struct str *ret_value)
{
    struct str name;
    while (next_setting(&list, &name, ret_value))
        if (str_eq(name, wanted))
            return true;
    return false;
}

/* Puts what a person finds a node by: its address, else its id. */
static void put_place(struct buf *b, struct str node, struct str info)
{
    struct json_member members[MEMBERS_MAX];
    const char *reason;
    size_t n, at;
    bool is_object;
    if (json_scan_object(info, members, MEMBERS_MAX, &n, &reason, &at, &is_object))
        for (size_t i = 0; i < n && i < MEMBERS_MAX; i++)
            if (str_eq(members[i].name.raw, STR("address")) &&
                members[i].value.kind == JSON_SPAN_TEXT &&
                members[i].value.raw.n <= ADDRESS_MAX_BYTES) {
                buf_put_span_text(b, &members[i].value);
                return;
            }
    buf_put(b, node);
}

static bool is_listed(struct str differences, struct str name)
{
    struct lines lines = {differences};
    while (lines_are_left(&lines)) {
        struct str one = lines_next(&lines);
        for (int i = 0; i < 3; i++)
            (void)lines_next(&lines);
        if (str_eq(one, name))
            return true;
    }
    return false;
}

static void put_differences(struct buf *b, struct str mine, struct str node, struct str info,
                            struct str theirs)
{
    struct str name, value, other;
    while (next_setting(&mine, &name, &value)) {
        /* One that another version does not have differs from nothing. */
        if (!find_setting(theirs, name, &other) || str_eq(value, other) ||
            is_listed(buf_str(b), name))
            continue;
        buf_put(b, b->n == 0 ? STR("") : STR("\n"));
        buf_put(b, name);
        buf_put_char(b, '\n');
        buf_put(b, value);
        buf_put_char(b, '\n');
        buf_put(b, other);
        buf_put_char(b, '\n');
        put_place(b, node, info);
    }
}

static void log_differences(const struct queue *queue)
{
    struct lines lines = queue_differences(queue);
    if (!lines_are_left(&lines))
        log_write(LOG_INFO, "the nodes' settings agree again");
    while (lines_are_left(&lines)) {
        struct str name = lines_next(&lines), mine = lines_next(&lines), other = lines_next(&lines),
                   place = lines_next(&lines);
        log_write(LOG_WARN, "nodes differ in a setting that should be the same on all of them",
                  LOG_STR("setting", name), LOG_STR("here", mine), LOG_STR("there", other),
                  LOG_STR("node", str_of(queue->config.node_id)), LOG_STR("other_node", place));
    }
}

void settings_compare(struct queue *queue, struct lines *lines)
{
    struct settings *settings = queue->settings;
    struct buf now;
    if (queue->config.shared_settings == NULL)
        return;
    buf_init(&now, DIFFERENCES_MAX_BYTES);
    while (lines_are_left(lines)) {
        struct str node = lines_next(lines), info = lines_next(lines), theirs = lines_next(lines);
        put_differences(&now, str_of(queue->config.shared_settings), node, info, theirs);
    }
    bool has_any = now.n > 0, is_news = !str_eq(buf_str(&now), buf_str(&settings->differences));
    if (is_news && (!has_any || settings->have_differed)) {
        buf_clear(&settings->differences);
        buf_put(&settings->differences, buf_str(&now));
        log_differences(queue);
    }
    settings->have_differed = has_any;
    buf_fini(&now);
}

struct lines queue_differences(const struct queue *queue)
{
    struct str all = buf_str(&queue->settings->differences);
    return all.n == 0 ? (struct lines){{NULL, 0}} : (struct lines){all};
}
