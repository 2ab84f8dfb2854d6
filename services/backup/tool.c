/* SPDX-License-Identifier: MIT
 * tool.c - see tool.h. */
#include "services/backup/tool.h"

#include "services/backup/archive.h"
#include "shared/base/log_options.h"
#include "shared/redis/start.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

enum {
    PATIENCE_MS = 30000,
    PAGE_MAX_BYTES = 64 << 20,
    PATTERN_MAX_BYTES = 1024,
};

bool tool_complain(struct tool *tool, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    status_line_complain(&tool->progress, format, list);
    va_end(list);
    return false;
}

bool tool_complain_redis(struct tool *tool)
{
    if (redis_is_interrupted())
        return tool_complain(tool, "interrupted");
    return tool_complain(tool, "%s", blocking_problem(tool->blocking));
}

static bool read_settings(struct tool *tool)
{
    const struct config *c = tool->config;
    if (c->argument_n != 1)
        return tool_complain(tool, "%s (see parley %s --help)",
                             c->argument_n == 0 ? "which file?" : "give one file at a time",
                             tool->command);
    if (!redis_read_options(c, &tool->map))
        return false;
    log_read_options(c);
    tool->path = c->arguments[0];
    tool->is_json = tool->progress.is_off = config_number(c, "json");
    return true;
}

void tool_use(struct tool *tool, unsigned shard)
{
    tool->shard = shard;
    tool->blocking = tool->connections[shard % tool->map.server_n];
    tool->prefix = str_of(tool->map.prefixes[shard]);
    blocking_use(tool->blocking, tool->prefix.at);
}

int tool_start(struct tool *tool, const char *command, const struct config *config)
{
    *tool = (struct tool){.command = command, .config = config};
    bool is_backup = strcmp(command, "backup") == 0;
    if (!read_settings(tool))
        return 2;
    /* A backup reads: from replicas, too. A restore decides on the number of shards by its file. */
    if (!(is_backup ? redis_check_login : redis_check_servers)(&tool->map))
        return 1;
    redis_note_signals();
    signal(SIGXFSZ, SIG_IGN); /* a file as large as `ulimit -f` allows is an error of write() */
    return -1;
}

bool tool_connect(struct tool *tool)
{
    bool is_backup = strcmp(tool->command, "backup") == 0;
    if (is_backup && !redis_await_agreement(&tool->map, false, PATIENCE_MS))
        return false;
    redis_connect_all(&tool->map, is_backup ? "parley-backup" : "parley-restore", PATIENCE_MS,
                      tool->connections);
    tool_use(tool, 0);
    return true;
}

void tool_fini(struct tool *tool)
{
    redis_ignore_signals();
    redis_disconnect_all(&tool->map, tool->connections);
}

void tool_show_progress(struct tool *tool, const char *doing)
{
    status_line_show(&tool->progress, "%s: %llu %s, %llu %s, %llu other %s, %llu MiB", doing,
                     COUNTED(tool->topic_n, "topic"), COUNTED(tool->document_n, "document"),
                     COUNTED(tool->key_n, "key"), (unsigned long long)(tool->bytes >> 20));
}

/* --- keys ------------------------------------------------------------------------------------- */

static void put_pattern(struct buf *pattern, struct str literal)
{
    for (size_t i = 0; i < literal.n; i++) {
        if (memchr("*?[]\\", literal.at[i], 5) != NULL)
            buf_put_char(pattern, '\\');
        buf_put_char(pattern, literal.at[i]);
    }
}

/* One page of SCAN, kept as parts: an answer is gone with the next call. *connection is that of the
 * page before: on another one everything is read from the start. */
static bool read_page(struct tool *tool, struct str pattern, char cursor[24], unsigned *connection,
                      struct buf *keys)
{
    struct blocking_answer answer;
    struct str words[] = {STR("SCAN"), str_of(cursor), STR("MATCH"),
                          pattern,     STR("COUNT"),   STR("1000")};
    buf_clear(keys);
    for (;;) {
        if (blocking_command(tool->blocking, words, 6, 0, &answer) != ERR_OK)
            return tool_complain_redis(tool);
        bool is_same = blocking_connection_n(tool->blocking) == *connection;
        *connection = blocking_connection_n(tool->blocking);
        if (is_same || strcmp(cursor, "0") == 0)
            break;
        strcpy(cursor, "0");
        words[1] = str_of(cursor);
    }
    if (answer.n == 0 || answer.at[0].n >= 24)
        return tool_complain(tool, "Redis: SCAN answered no cursor");
    for (size_t i = 1; i < answer.n; i++)
        archive_put_part(keys, answer.at[i]);
    memcpy(cursor, answer.at[0].at, answer.at[0].n);
    cursor[answer.at[0].n] = 0;
    return true;
}

/* Visits a page of the server in use. */
typedef bool visit_page(struct tool *tool, struct str keys, const void *visiting);

static bool each_page(struct tool *tool, struct str pattern, visit_page *visit,
                      const void *visiting)
{
    struct buf keys;
    bool is_good = true;
    buf_init(&keys, PAGE_MAX_BYTES);
    for (unsigned server = 0; is_good && server < tool->map.server_n; server++) {
        char cursor[24] = "0";
        unsigned connection = 0;
        do {
            tool_use(tool, server);
            is_good = read_page(tool, pattern, cursor, &connection, &keys) &&
                      visit(tool, buf_str(&keys), visiting);
        } while (is_good && strcmp(cursor, "0") != 0);
    }
    buf_fini(&keys);
    return is_good;
}

struct visiting {
    struct str start;
    bool (*visit)(void *data, struct str name);
    void *data;
};

static bool visit_shard(struct tool *tool, struct str rest, const struct visiting *v)
{
    struct str key;
    bool is_good = true;
    while (is_good && archive_cut_part(&rest, &key))
        if (str_has_prefix(key, tool->prefix)) {
            struct str name = {key.at + tool->prefix.n, key.n - tool->prefix.n};
            is_good = !str_has_prefix(name, v->start) || v->visit(v->data, name);
        }
    return is_good;
}

/* Shard after shard, so that the archive names each of them once a page. */
static bool visit_shards(struct tool *tool, struct str keys, const void *visiting)
{
    unsigned server = tool->shard;
    bool is_good = true;
    for (unsigned i = server; is_good && i < tool->map.n; i += tool->map.server_n) {
        tool_use(tool, i);
        is_good = visit_shard(tool, keys, visiting);
    }
    return is_good;
}

static bool visit_keys(struct tool *tool, struct str rest, const void *visiting)
{
    const struct visiting *v = visiting;
    struct str key;
    bool is_good = true;
    while (is_good && archive_cut_part(&rest, &key))
        is_good = v->visit(v->data, key);
    return is_good;
}

bool tool_each_key(struct tool *tool, const char *start, bool (*visit)(void *data, struct str name),
                   void *data)
{
    struct visiting visiting = {.start = str_of(start), .visit = visit, .data = data};
    struct buf pattern;
    buf_init(&pattern, PATTERN_MAX_BYTES);
    if (tool->map.n == 1) {
        put_pattern(&pattern, str_of(tool->map.prefixes[0]));
    } else {
        put_pattern(&pattern, shard_map_stem(&tool->map));
        buf_lit(&pattern, "*}:");
    }
    put_pattern(&pattern, str_of(start));
    buf_put_char(&pattern, '*');
    bool is_good = each_page(tool, buf_str(&pattern), visit_shards, &visiting);
    tool_use(tool, 0);
    buf_fini(&pattern);
    return is_good;
}

bool tool_each_of_prefix(struct tool *tool, bool (*visit)(void *data, struct str key), void *data)
{
    struct visiting visiting = {.visit = visit, .data = data};
    struct buf pattern;
    buf_init(&pattern, PATTERN_MAX_BYTES);
    put_pattern(&pattern, shard_map_stem(&tool->map));
    buf_put_char(&pattern, '*');
    bool is_good = each_page(tool, buf_str(&pattern), visit_keys, &visiting);
    tool_use(tool, 0);
    buf_fini(&pattern);
    return is_good;
}
