/* SPDX-License-Identifier: MIT
 * reader.c - see reader.h. */
#include "services/workflow/trees/reader.h"

#include "shared/base/nearest.h"
#include "shared/base/shown.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { MS_PER_S = 1000 };

/* In place of the last characters, where one may be incomplete. */
static void mark_cut(char reason[TREES_REASON_BYTES])
{
    static const char mark[] = "...";
    size_t n = TREES_REASON_BYTES - sizeof mark;
    while (n > 0 && ((unsigned char)reason[n] & 0xc0) == 0x80)
        n--;
    memcpy(reason + n, mark, sizeof mark);
}

__attribute__((format(printf, 3, 0))) static void note(struct reader *r, size_t line,
                                                       const char *format, va_list args)
{
    struct trees_faults *faults = r->faults;
    if (faults->n < TREES_FAULTS_MAX) {
        struct trees_fault *fault = &faults->list[faults->n];
        int n = vsnprintf(fault->reason, sizeof fault->reason, format, args);
        fault->line = line;
        if (n >= (int)sizeof fault->reason)
            mark_cut(fault->reason);
    }
    faults->n++;
}

bool reader_fault_at(struct reader *r, size_t line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note(r, line, format, args);
    va_end(args);
    return false;
}

bool reader_fault(struct reader *r, const yaml_node_t *where, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note(r, where == NULL ? 0 : reader_line(where), format, args);
    va_end(args);
    return false;
}

const char *reader_show(struct reader *r, struct str text)
{
    enum { MOST = 40 }; /* a byte becomes at most three */
    struct buf b;
    char *room = r->shown[r->shown_at++ % READER_SHOWN_N];
    bool is_cut = text.n > MOST;
    buf_init(&b, READER_SHOWN_BYTES);
    buf_put_shown(&b, (struct str){text.at, is_cut ? MOST : text.n});
    snprintf(room, READER_SHOWN_BYTES, "%.*s%s", STR_ARG(buf_str(&b)), is_cut ? "..." : "");
    buf_fini(&b);
    return room;
}

const char *reader_meant(struct reader *r, struct str meant, const char *otherwise)
{
    char *room = r->shown[r->shown_at++ % READER_SHOWN_N];
    if (meant.at == NULL)
        return otherwise;
    snprintf(room, READER_SHOWN_BYTES, ": did you mean %.*s?", STR_ARG(meant));
    return room;
}

struct str reader_nearest_agent(const struct reader *r, struct str name)
{
    struct nearest nearest = nearest_begin(name);
    for (size_t i = 0; i < r->trees->agent_n; i++)
        nearest_try(&nearest, r->trees->agents[i].name);
    return nearest_end(&nearest);
}

const yaml_node_t *reader_node(const struct reader *r, int index)
{
    return yaml_document_get_node(&r->trees->document, index);
}

size_t reader_line(const yaml_node_t *node)
{
    return node->start_mark.line + 1;
}

bool reader_is_name(struct str text, size_t max_bytes)
{
    for (size_t i = 0; i < text.n; i++)
        if (!((text.at[i] | 0x20) >= 'a' && (text.at[i] | 0x20) <= 'z') &&
            !(text.at[i] >= '0' && text.at[i] <= '9') && text.at[i] != '.' && text.at[i] != '_' &&
            text.at[i] != '-')
            return false;
    return text.n > 0 && text.n <= max_bytes;
}

/* The number in front of a unit, and the unit's milliseconds; false: no duration. */
static bool parse_duration(struct str text, double *ret_ms)
{
    static const struct {
        struct str name;
        double ms;
    } units[] = {{STR("ms"), 1},     {STR("s"), 1e3},     {STR("m"), 60e3},
                 {STR("h"), 3600e3}, {STR("d"), 86400e3}, {STR(""), 1e3}};
    double number;
    size_t n = 0;
    while (n < text.n && ((text.at[n] >= '0' && text.at[n] <= '9') || text.at[n] == '.'))
        n++;
    struct str unit = str_trim((struct str){text.at + n, text.n - n});
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (str_eq(unit, units[i].name) && str_parse_double((struct str){text.at, n}, &number)) {
            *ret_ms = number * units[i].ms;
            return isfinite(*ret_ms);
        }
    return false;
}

static void put_duration(char room[32], uint64_t ms)
{
    if (ms < MS_PER_S)
        snprintf(room, 32, "%llums", (unsigned long long)ms);
    else if (ms % 86400000 == 0)
        snprintf(room, 32, "%llud", (unsigned long long)ms / 86400000);
    else if (ms % 3600000 == 0)
        snprintf(room, 32, "%lluh", (unsigned long long)ms / 3600000);
    else
        snprintf(room, 32, "%llus", (unsigned long long)ms / MS_PER_S);
}

bool reader_duration(struct reader *r, const yaml_node_t *key, const yaml_node_t *value,
                     uint64_t min_ms, uint64_t max_ms, uint64_t *ret_ms)
{
    double ms;
    char least[32], most[32];
    struct str text = yaml_tree_scalar(value);
    put_duration(least, min_ms);
    put_duration(most, max_ms);
    if (text.at == NULL || !parse_duration(text, &ms))
        return reader_fault(r, value,
                            "'%s' takes a time such as 5, 0.5 (seconds), 500ms, 30s, 10m or 24h",
                            reader_show(r, yaml_tree_scalar(key)));
    if (ms < (double)min_ms || ms > (double)max_ms)
        return reader_fault(r, value, "'%s' is out of range: %s to %s, not %s",
                            reader_show(r, yaml_tree_scalar(key)), least, most,
                            reader_show(r, text));
    *ret_ms = (uint64_t)llround(ms);
    return true;
}

bool reader_bool(struct reader *r, const yaml_node_t *key, const yaml_node_t *value,
                 bool *ret_value)
{
    struct str text = yaml_tree_scalar(value);
    bool is_on = str_eq_nocase(text, STR("true")) || str_eq_nocase(text, STR("yes")) ||
                 str_eq_nocase(text, STR("on"));
    bool is_off = str_eq_nocase(text, STR("false")) || str_eq_nocase(text, STR("no")) ||
                  str_eq_nocase(text, STR("off"));
    if (!is_on && !is_off)
        return reader_fault(r, value, "'%s' takes true or false",
                            reader_show(r, yaml_tree_scalar(key)));
    *ret_value = is_on;
    return true;
}

bool reader_number(struct reader *r, const yaml_node_t *key, const yaml_node_t *value, uint64_t min,
                   uint64_t max, unsigned *ret_value)
{
    uint64_t number;
    if (!str_parse_u64(yaml_tree_scalar(value), &number) || number < min || number > max)
        return reader_fault(r, value, "'%s' takes a whole number from %llu to %llu",
                            reader_show(r, yaml_tree_scalar(key)), (unsigned long long)min,
                            (unsigned long long)max);
    *ret_value = (unsigned)number;
    return true;
}

bool reader_text(struct reader *r, const yaml_node_t *key, const yaml_node_t *value,
                 size_t max_bytes, struct str *ret_text)
{
    struct str text = yaml_tree_scalar(value);
    if (text.at == NULL || yaml_tree_is_null(value) || text.n == 0 || text.n > max_bytes)
        return reader_fault(r, value, "'%s' takes a text of 1 to %zu bytes",
                            reader_show(r, yaml_tree_scalar(key)), max_bytes);
    *ret_text = text;
    return true;
}

unsigned reader_member(struct reader *r, const yaml_node_t *key, const char *const *names,
                       unsigned n)
{
    struct buf known;
    struct str name = yaml_tree_scalar(key);
    struct nearest nearest = nearest_begin(name);
    unsigned i = 0;
    while (i < n && !str_eq(name, str_of(names[i])))
        i++;
    if (i < n || name.at == NULL)
        return i; /* what is no text is noted elsewhere */
    buf_init(&known, TREES_REASON_BYTES);
    for (unsigned k = 0; k < n; k++) {
        buf_printf(&known, "%s%s", k == 0 ? ": use " : k + 1 < n ? ", " : " and ", names[k]);
        nearest_try(&nearest, str_of(names[k]));
    }
    buf_terminate(&known);
    reader_fault(r, key, "unknown member '%s'%s", reader_show(r, name),
                 reader_meant(r, nearest_end(&nearest), known.at));
    buf_fini(&known);
    return n;
}
