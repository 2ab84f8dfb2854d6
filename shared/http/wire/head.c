/* SPDX-License-Identifier: MIT
 * head.c - see head.h. One pass, line by line. It runs for every request, so it finds lines with
 * memchr and compares only a few names twice. */
#include "shared/http/wire/head.h"

#include <string.h>
#include <strings.h>

static const char PREFACE[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
enum { PREFACE_N = sizeof PREFACE - 1, PREFACE_LINE_N = 16 };

/* RFC 9110, 5.6.2. */
static const bool is_token_char[256] = {
    ['!'] = true,         ['#'] = true,         ['$'] = true,         ['%'] = true, ['&'] = true,
    ['\''] = true,        ['*'] = true,         ['+'] = true,         ['-'] = true, ['.'] = true,
    ['^'] = true,         ['_'] = true,         ['`'] = true,         ['|'] = true, ['~'] = true,
    ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true,
};

static size_t token_n(const char *at, const char *end)
{
    const char *p = at;
    while (p < end && is_token_char[(unsigned char)*p])
        p++;
    return (size_t)(p - at);
}

/* Eight bytes at a time: does one lie below `least`, or is one DEL? May say yes in vain, since a
 * borrow reaches the byte after; never no in vain. */
static bool may_hold_control(const char *at, size_t n, unsigned char least)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t found = 0, word;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        memcpy(&word, at + i, 8);
        uint64_t del = word ^ (ones * 0x7f);
        found |= ((word - ones * least) & ~word & highs) | ((del - ones) & ~del & highs);
    }
    for (; i < n; i++)
        found |= (unsigned char)at[i] < least || at[i] == 0x7f;
    return found != 0;
}

static bool is_good_value(const char *at, size_t n)
{
    if (!may_hold_control(at, n, ' '))
        return true;
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)at[i] < ' ' && at[i] != '\t') || at[i] == 0x7f)
            return false;
    return true;
}

static bool is_good_target(const char *at, size_t n)
{
    for (size_t i = 0; n == 0 || i < n; i++)
        if (n == 0 || (unsigned char)at[i] <= ' ' || at[i] == 0x7f)
            return false;
    return true;
}

/* The first line without its end: METHOD target HTTP/1.x */
static bool read_line(const char *at, const char *end, struct head *head)
{
    static const char version[] = " HTTP/1.";
    enum { VERSION_N = sizeof version - 1 };
    size_t method_n = token_n(at, end);
    const char *target = at + method_n + 1, *tail = end - VERSION_N - 1;
    if (method_n == 0 || end - at < VERSION_N + 1 || tail < target || at[method_n] != ' ')
        return false;
    if (memcmp(tail, version, VERSION_N) != 0 || end[-1] < '0' || end[-1] > '9')
        return false;
    head->method = (struct str){at, method_n};
    head->target = (struct str){target, (size_t)(tail - target)};
    head->minor = (unsigned)(end[-1] - '0');
    return head->target.n > 0 && (!may_hold_control(target, head->target.n, ' ' + 1) ||
                                  is_good_target(target, head->target.n));
}

/* Can a first line begin like that? */
static bool may_begin_line(const char *at, const char *end)
{
    size_t method_n = token_n(at, end);
    const char *target = at + method_n + 1;
    if (at + method_n == end)
        return true;
    if (method_n == 0 || at[method_n] != ' ')
        return false;
    const char *space = target < end ? memchr(target, ' ', (size_t)(end - target)) : NULL;
    const char *target_end = space != NULL ? space : end;
    return target == target_end ? space == NULL
                                : is_good_target(target, (size_t)(target_end - target) -
                                                             (space == NULL && end[-1] == '\r'));
}

static struct str trim(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    while (at < end && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return (struct str){at, (size_t)(end - at)};
}

static bool is_name(const char *at, size_t n, const char *name, size_t name_n)
{
    return n == name_n && strncasecmp(at, name, n) == 0;
}
#define IS_NAME(literal) is_name(at, n, literal, sizeof literal - 1)

enum field { OTHER, HOST, LENGTH, ENCODING, EXPECT, UPGRADE, AUTHORIZATION, CALLER_KEY, API_KEY };

static enum field field_of(const char *at, size_t n)
{
    switch (at[0] | 0x20) {
    case 'h': return IS_NAME("host") ? HOST : OTHER;
    case 'c': return IS_NAME("content-length") ? LENGTH : OTHER;
    case 't': return IS_NAME("transfer-encoding") ? ENCODING : OTHER;
    case 'e': return IS_NAME("expect") ? EXPECT : OTHER;
    case 'u': return IS_NAME("upgrade") ? UPGRADE : OTHER;
    case 'a': return IS_NAME("authorization") ? AUTHORIZATION : OTHER;
    case 'x':
        if (IS_NAME("x-caller-key"))
            return CALLER_KEY;
        return IS_NAME("x-api-key") ? API_KEY : OTHER;
    default: return OTHER;
    }
}

static void keep_first(struct str *kept, struct str value)
{
    if (kept->at == NULL)
        *kept = value;
}

static void note(struct head *head, enum field field, struct str value)
{
    switch (field) {
    case OTHER: break;
    case HOST: head->host_n++; break;
    case LENGTH:
        head->length_n++;
        head->has_length = true;
        if (!str_parse_u64(value, &head->length))
            head->length = UINT64_MAX;
        break;
    case ENCODING:
        head->length_n++;
        head->is_chunked = true;
        break;
    case EXPECT: head->expects |= str_eq_nocase(value, STR("100-continue")); break;
    case UPGRADE: head->wants_h2c |= value.n >= 3 && strncasecmp(value.at, "h2c", 3) == 0; break;
    case AUTHORIZATION: keep_first(&head->authorization, value); break;
    case CALLER_KEY: keep_first(&head->caller_key, value); break;
    case API_KEY: keep_first(&head->api_key, value); break;
    }
}

static enum head_state read_field(const char *at, const char *end, struct head *head)
{
    size_t name_n = token_n(at, end);
    if (name_n == 0 || at + name_n == end || at[name_n] != ':')
        return HEAD_BROKEN;
    const char *value = at + name_n + 1;
    if (!is_good_value(value, (size_t)(end - value)))
        return HEAD_BROKEN;
    enum field field = field_of(at, name_n);
    if (field != OTHER)
        note(head, field, trim(value, end));
    return HEAD_GOOD;
}

static const char *line_end(const char *at, const char *newline)
{
    return newline > at && newline[-1] == '\r' ? newline - 1 : newline;
}

enum head_state head_read(const char *at, size_t n, struct head *ret_head)
{
    const char *p = at, *end = at + n, *newline;
    struct head head = {0};
    if (n >= 2 && p[0] == '\r' && p[1] == '\n') /* some clients end a body with it */
        p += 2;
    else if (n >= 1 && p[0] == '\n')
        p += 1;
    else if (n == 1 && p[0] == '\r')
        return HEAD_UNFINISHED;
    if (n >= PREFACE_LINE_N && memcmp(at, PREFACE, PREFACE_LINE_N) == 0) {
        size_t seen = n < PREFACE_N ? n : PREFACE_N;
        if (memcmp(at, PREFACE, seen) != 0)
            return HEAD_BROKEN;
        return n < PREFACE_N ? HEAD_UNFINISHED : HEAD_HTTP2;
    }
    newline = p == end ? NULL : memchr(p, '\n', (size_t)(end - p));
    if (newline == NULL)
        return may_begin_line(p, end) ? HEAD_UNFINISHED : HEAD_BROKEN;
    if (!read_line(p, line_end(p, newline), &head))
        return HEAD_BROKEN;
    for (unsigned fields = 0;; fields++) {
        p = newline + 1;
        newline = p == end ? NULL : memchr(p, '\n', (size_t)(end - p));
        if (newline == NULL)
            return HEAD_UNFINISHED;
        const char *line = line_end(p, newline);
        if (line == p)
            break;
        if (fields == HEAD_FIELDS_MAX)
            return HEAD_TOO_MANY;
        enum head_state state = read_field(p, line, &head);
        if (state != HEAD_GOOD)
            return state;
    }
    head.n = (size_t)(newline + 1 - at);
    *ret_head = head;
    return HEAD_GOOD;
}

static bool is_hidden(enum field field, unsigned what)
{
    return ((field == LENGTH || field == ENCODING) && (what & HEAD_BODY) != 0) ||
           (field == EXPECT && (what & HEAD_EXPECT) != 0) ||
           (field == UPGRADE && (what & HEAD_H2C) != 0);
}

void head_hide(char *at, size_t n, unsigned what)
{
    char *newline;
    for (char *p = at, *end = at + n;
         p < end && (newline = memchr(p, '\n', (size_t)(end - p))) != NULL; p = newline + 1) {
        size_t name_n = token_n(p, newline);
        if (name_n > 0 && p[name_n] == ':' && is_hidden(field_of(p, name_n), what))
            memset(p, 'x', name_n);
    }
}
