/* SPDX-License-Identifier: MIT
 * log.c - see log.h. */
#include "shared/base/log.h"

#include "shared/base/buf.h"
#include "shared/base/clock.h"
#include "shared/base/hash.h"

#include <unistd.h>

/* TAIL_BYTES stay free for what ends a line that had to drop fields. */
enum { LINE_MAX_BYTES = 16384, TAIL_BYTES = 32, LIMIT_MS = 60000, LIMIT_CHANGED_MS = 1000 };

static const char *const level_names[LOG_LEVEL_NR] = {"debug", "info", "warn", "error"};
static enum log_level minimum_level = LOG_INFO;
static bool is_json;

void log_setup(enum log_level minimum, bool as_json)
{
    minimum_level = minimum;
    is_json = as_json;
}

bool log_parse_level(struct str name, enum log_level *ret_level)
{
    for (int i = 0; i < LOG_LEVEL_NR; i++)
        if (str_eq(name, str_of(level_names[i]))) {
            *ret_level = (enum log_level)i;
            return true;
        }
    return false;
}

bool log_is_on(enum log_level level)
{
    return level >= minimum_level;
}

static void put_field(struct buf *line, const struct log_field *field)
{
    buf_printf(line, is_json ? ",\"%s\":" : " %s=", field->name);
    if (field->text.at == NULL)
        buf_put_u64(line, field->number);
    else if (str_is_utf8(field->text))
        buf_put_json(line, field->text);
    else
        buf_lit(line, "\"(not UTF-8)\"");
}

/* A field that does not fit is left out whole, so that a JSON line stays JSON. */
static bool put_fields(struct buf *line, const struct log_field *fields)
{
    bool is_cut = false;
    for (; fields->name != NULL; fields++) {
        size_t n = line->n;
        put_field(line, fields);
        if (line->is_over) {
            line->n = n;
            line->is_over = false;
            is_cut = true;
        }
    }
    return !is_cut;
}

/* With milliseconds: the lines of several processes are put in order by it. */
static void put_time(struct buf *line)
{
    uint64_t now_ms = clock_wall_ms();
    buf_put_timestamp(line, now_ms / 1000);
    buf_printf(line, ".%03uZ", (unsigned)(now_ms % 1000));
}

void log_fields(enum log_level level, const char *message, const struct log_field *fields)
{
    if (!log_is_on(level))
        return;
    struct buf line;
    buf_init(&line, LINE_MAX_BYTES - TAIL_BYTES);
    if (is_json) {
        buf_lit(&line, "{\"time\":\"");
        put_time(&line);
        buf_printf(&line, "\",\"level\":\"%s\",\"message\":", level_names[level]);
        buf_put_json(&line, str_of(message));
    } else {
        put_time(&line);
        buf_printf(&line, " %-5s %s", level_names[level], message);
    }
    bool is_whole = put_fields(&line, fields);
    line.max += TAIL_BYTES;
    if (!is_whole)
        buf_put(&line, is_json ? STR(",\"cut\":true") : STR(" cut=true"));
    buf_put(&line, is_json ? STR("}\n") : STR("\n"));
    ssize_t written = write(STDERR_FILENO, line.at, line.n);
    (void)written; /* nowhere left to complain */
    buf_fini(&line);
}

bool log_limit_passes(struct log_limit *limit, const char *reason, uint64_t *ret_times)
{
    uint64_t now_ms = clock_mono_ms();
    uint32_t hash = hash_fnv32(str_of(reason), 0);
    uint64_t pause_ms = hash == limit->reason_hash ? LIMIT_MS : LIMIT_CHANGED_MS;
    limit->times++;
    if (limit->said_ms != 0 && now_ms < limit->said_ms + pause_ms)
        return false;
    *ret_times = limit->times;
    *limit = (struct log_limit){.said_ms = now_ms, .reason_hash = hash};
    return true;
}
