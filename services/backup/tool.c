/* SPDX-License-Identifier: MIT
 * tool.c - see tool.h. */
#include "services/backup/tool.h"

#include "services/backup/archive.h"
#include "shared/base/clock.h"
#include "shared/base/log_options.h"
#include "shared/redis/start.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 30000,
    PROGRESS_MS = 250,
    PAGE_MAX_BYTES = 64 << 20,
    PATTERN_MAX_BYTES = 1024,
};

bool tool_complain(const struct tool *tool, const char *format, ...)
{
    va_list list;
    tool_clear_progress(tool);
    fputs("parley: ", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    return false;
}

bool tool_complain_redis(const struct tool *tool)
{
    if (redis_is_interrupted())
        return tool_complain(tool, "interrupted");
    return tool_complain(tool, "Redis: %s", sync_error(tool->sync));
}

static bool read_settings(struct tool *tool)
{
    const struct config *c = tool->config;
    if (c->argument_n != 1)
        return tool_complain(tool, "%s (see parley %s --help)",
                             c->argument_n == 0 ? "which file?" : "one file at a time",
                             tool->command);
    if (!redis_read_options(c, &tool->map))
        return false;
    log_read_options(c);
    tool->prefix = str_of(tool->map.prefixes[0]);
    tool->path = c->arguments[0];
    tool->is_json = config_number(c, "json");
    return true;
}

int tool_start(struct tool *tool, const char *command, const struct config *config)
{
    *tool = (struct tool){.command = command, .config = config};
    if (!read_settings(tool))
        return 2;
    bool is_backup = strcmp(command, "backup") == 0; /* it reads: from a replica, too */
    if (!(is_backup ? redis_check_login : redis_check_start)(&tool->map))
        return 1;
    tool->sync =
        sync_create(&(struct sync_config){.address = shard_server(&tool->map, 0),
                                          .prefix = tool->prefix.at,
                                          .name = is_backup ? "parley-backup" : "parley-restore",
                                          .patience_ms = PATIENCE_MS});
    redis_stop_on_signals(tool->sync);
    signal(SIGXFSZ, SIG_IGN); /* a file as large as `ulimit -f` allows is an error of write() */
    return -1;
}

void tool_fini(struct tool *tool)
{
    redis_ignore_signals();
    sync_destroy(tool->sync);
}

void tool_show_progress(struct tool *tool, const char *doing)
{
    uint64_t now_ms = clock_mono_ms();
    if (tool->is_json || now_ms < tool->shown_ms + PROGRESS_MS || !isatty(STDERR_FILENO))
        return;
    tool->shown_ms = now_ms;
    fprintf(stderr, "\r%s: %llu topics, %llu documents, %llu other keys, %llu MiB", doing,
            (unsigned long long)tool->topic_n, (unsigned long long)tool->document_n,
            (unsigned long long)tool->key_n, (unsigned long long)(tool->bytes >> 20));
}

void tool_clear_progress(const struct tool *tool)
{
    if (tool->shown_ms > 0)
        fputs("\r\033[K", stderr);
}

/* What SCAN takes for the keys that begin so. */
static void put_pattern(struct buf *pattern, struct str prefix, const char *start)
{
    for (size_t i = 0; i < prefix.n; i++) {
        if (memchr("*?[]\\", prefix.at[i], 5) != NULL)
            buf_put_char(pattern, '\\');
        buf_put_char(pattern, prefix.at[i]);
    }
    buf_put(pattern, str_of(start));
    buf_put_char(pattern, '*');
}

/* One page of SCAN, kept as parts: an answer is gone with the next call. */
static bool read_page(struct tool *tool, struct str pattern, char cursor[24], struct buf *names)
{
    struct sync_answer answer;
    struct str words[] = {STR("SCAN"), str_of(cursor), STR("MATCH"),
                          pattern,     STR("COUNT"),   STR("1000")};
    buf_clear(names);
    if (sync_command(tool->sync, words, 6, 0, &answer) != ERR_OK)
        return tool_complain_redis(tool);
    if (answer.n == 0 || answer.at[0].n >= 24)
        return tool_complain(tool, "Redis: SCAN answered no cursor");
    for (size_t i = 1; i < answer.n; i++)
        if (str_has_prefix(answer.at[i], tool->prefix))
            archive_put_part(names, (struct str){answer.at[i].at + tool->prefix.n,
                                                 answer.at[i].n - tool->prefix.n});
    memcpy(cursor, answer.at[0].at, answer.at[0].n);
    cursor[answer.at[0].n] = 0;
    return true;
}

bool tool_each_key(struct tool *tool, const char *start, bool (*visit)(void *data, struct str name),
                   void *data)
{
    struct buf pattern, names;
    char cursor[24] = "0";
    bool is_good = true;
    buf_init(&pattern, PATTERN_MAX_BYTES);
    buf_init(&names, PAGE_MAX_BYTES);
    put_pattern(&pattern, tool->prefix, start);
    do {
        is_good = read_page(tool, buf_str(&pattern), cursor, &names);
        struct str rest = buf_str(&names), name;
        while (is_good && archive_cut_part(&rest, &name))
            is_good = visit(data, name);
    } while (is_good && strcmp(cursor, "0") != 0);
    buf_fini(&names);
    buf_fini(&pattern);
    return is_good;
}
