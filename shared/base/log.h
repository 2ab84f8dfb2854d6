/* SPDX-License-Identifier: MIT
 *
 * log: one line per event on standard error, as JSON or as text. A line is written with one
 * write(2), so lines of different threads never mix. Values are escaped, so no raw input reaches a
 * line. A field that would make the line longer than 16 KiB is omitted, and the line says `cut`.
 * Never pass secrets. Any thread; call log_setup once, before threads start.
 *
 *     log_write(LOG_WARN, "redis lost", LOG_S("reason", reason), LOG_U("retry_ms", ms));
 */
#ifndef PARLEY_BASE_LOG_H
#define PARLEY_BASE_LOG_H

#include "shared/base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_LEVEL_NR };

struct log_field {
    const char *name; /* NULL ends a list */
    struct str text;  /* used when text.at is not NULL */
    uint64_t number;
};

#define LOG_S(key, value) ((struct log_field){.name = (key), .text = log_text(value)})
#define LOG_STR(key, value) ((struct log_field){.name = (key), .text = (value)})
#define LOG_U(key, value) ((struct log_field){.name = (key), .number = (uint64_t)(value)})

/* Used by LOG_S: never NULL, so a missing text is logged as empty and not as a number. */
static inline struct str log_text(const char *text)
{
    return str_of(text == NULL ? "" : text);
}

/* `minimum`: lines below it are dropped. */
void log_setup(enum log_level minimum, bool as_json);
bool log_parse_level(struct str name, enum log_level *ret_level) must_check;
bool log_is_on(enum log_level level);

/* Writes one line. `fields` is borrowed and ends with a field whose name is NULL. */
void log_fields(enum log_level level, const char *message, const struct log_field *fields);
#define log_write(level, message, ...)                                                             \
    log_fields(level, message, (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){0}})

/* Limits a repeating problem to one log line a minute, with a count. One per problem and owner;
 * zeroed storage is ready to use; used by one thread at a time. */
struct log_limit {
    uint64_t said_ms;     /* of the last line; 0: there was none */
    uint64_t times;       /* since that line */
    uint32_t reason_hash; /* of that line */
};
/* Counts one occurrence. Returns true if it is to be logged: the first time, a minute after the
 * last line, or a second after it if the reason has changed. `ret_times`: occurrences since that
 * line, including this one. */
bool log_limit_passes(struct log_limit *limit, const char *reason, uint64_t *ret_times) must_check;

#endif
