/* SPDX-License-Identifier: MIT
 * log.c - see log.h. */
#include "shared/base/log.h"

#include "shared/base/buf.h"
#include "shared/base/clock.h"

#include <unistd.h>

enum { LINE_MAX_BYTES = 16384 };

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

static void put_value(struct buf *line, const struct log_field *field)
{
    if (field->text.at == NULL)
        buf_put_u64(line, field->number);
    else if (str_is_utf8(field->text))
        buf_put_json(line, field->text);
    else
        buf_lit(line, "\"(not UTF-8)\"");
}

void log_fields(enum log_level level, const char *message, const struct log_field *fields)
{
    if (!log_is_on(level))
        return;
    struct buf line;
    buf_init(&line, LINE_MAX_BYTES);
    if (is_json) {
        buf_lit(&line, "{\"time\":\"");
        buf_put_timestamp(&line, clock_wall_s());
        buf_printf(&line, "Z\",\"level\":\"%s\",\"message\":", level_names[level]);
        buf_put_json(&line, str_of(message));
        for (; fields->name != NULL; fields++) {
            buf_printf(&line, ",\"%s\":", fields->name);
            put_value(&line, fields);
        }
        buf_put_char(&line, '}');
    } else {
        buf_put_timestamp(&line, clock_wall_s());
        buf_printf(&line, "Z %-5s %s", level_names[level], message);
        for (; fields->name != NULL; fields++) {
            buf_printf(&line, " %s=", fields->name);
            put_value(&line, fields);
        }
    }
    /* An overlong line is cut, its newline stays. */
    line.max++;
    line.is_over = false;
    buf_put_char(&line, '\n');
    ssize_t written = write(STDERR_FILENO, line.at, line.n);
    (void)written; /* nowhere left to complain */
    buf_fini(&line);
}
