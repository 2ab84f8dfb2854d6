/* SPDX-License-Identifier: MIT
 * response.c - see response.h.
 *
 * JSON values are skipped, not parsed: a string ends at the first quote with an even number of
 * backslashes before it (memchr does the walking), a container where its brackets balance. That
 * is enough to find a member of an answer that the node wrote, and a malformed one ends in
 * "no such member". Of a chunked body extensions are passed over and trailers refused. */
#include "services/bench/response.h"

struct head {
    bool has_length, is_chunked, is_last;
    uint64_t length;
};

static bool read_header(struct str line, struct head *head)
{
    struct str value = line, name = str_cut(&value, ':');
    if (value.at == NULL)
        return false;
    value = str_trim(value);
    if (str_eq_nocase(name, STR("content-length"))) {
        head->has_length = true;
        return str_parse_u64(value, &head->length) && head->length <= BENCH_BODY_MAX_BYTES;
    }
    if (str_eq_nocase(name, STR("transfer-encoding")))
        head->is_chunked = str_eq_nocase(value, STR("chunked"));
    if (str_eq_nocase(name, STR("connection")))
        head->is_last = str_eq_nocase(value, STR("close"));
    return true;
}

/* `text` is the head without its last empty line. */
static bool read_lines(struct str text, int *ret_status, struct head *ret_head)
{
    struct str line = str_cut(&text, '\n');
    uint64_t status;
    if (line.n < 12 || !str_has_prefix(line, STR("HTTP/1.")) || line.at[8] != ' ' ||
        !str_parse_u64((struct str){line.at + 9, 3}, &status))
        return false;
    *ret_head = (struct head){.is_last = line.at[7] == '0'};
    while (text.at != NULL) {
        line = str_cut(&text, '\n');
        /* Only names with these initials matter. */
        if (line.n > 0 && strchr("cCtT", line.at[0]) != NULL && !read_header(line, ret_head))
            return false;
    }
    *ret_status = (int)status;
    return true;
}

static enum bench_response_outcome read_head(const char *at, size_t n, size_t *ret_head_n,
                                             int *ret_status, struct head *ret_head)
{
    const char *end = n < 4 ? NULL : memmem(at, n, "\r\n\r\n", 4);
    if (end == NULL)
        return n > BENCH_HEAD_MAX_BYTES ? BENCH_RESPONSE_BROKEN : BENCH_RESPONSE_PARTIAL;
    *ret_head_n = (size_t)(end - at) + 4;
    bool is_ok = *ret_head_n <= BENCH_HEAD_MAX_BYTES &&
                 read_lines((struct str){at, (size_t)(end - at)}, ret_status, ret_head);
    return is_ok ? BENCH_RESPONSE_WHOLE : BENCH_RESPONSE_BROKEN;
}

/* Returns the length of the head if it is whole, and has this status; 0 otherwise. */
static size_t find_head(const char *at, size_t n, int expected, struct head *ret_head)
{
    size_t head_n;
    int status;
    bool is_whole = read_head(at, n, &head_n, &status, ret_head) == BENCH_RESPONSE_WHOLE;
    return is_whole && status == expected ? head_n : 0;
}

size_t bench_response_stream_head(const char *at, size_t n)
{
    struct head head;
    size_t head_n = find_head(at, n, 200, &head);
    return head_n > 0 && head.is_chunked ? head_n : 0;
}

size_t bench_response_switch_head(const char *at, size_t n)
{
    struct head head;
    return find_head(at, n, 101, &head);
}

/* Reads the size line of a chunk at `at`. Returns the bytes it takes up, 0 when it is not whole
 * yet, or -1 when it is broken. */
static long read_chunk_size(const char *at, size_t n, size_t *ret_size)
{
    const char *end = memmem(at, n < 64 ? n : 64, "\r\n", 2);
    if (end == NULL)
        return n < 64 ? 0 : -1;
    size_t size = 0, digits = 0;
    for (; at + digits < end; digits++) {
        char c = at[digits];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            break;
        size = size * 16 + (size_t)digit;
        if (size > BENCH_BODY_MAX_BYTES)
            return -1;
    }
    if (digits == 0 || (at + digits < end && at[digits] != ';' && at[digits] != ' '))
        return -1;
    *ret_size = size;
    return end + 2 - at;
}

enum bench_response_outcome bench_response_chunk(const char *at, size_t n, struct str *ret_data,
                                                 size_t *ret_size)
{
    size_t size = 0;
    long line_n = read_chunk_size(at, n, &size);
    if (line_n < 0)
        return BENCH_RESPONSE_BROKEN;
    if (line_n == 0 || n < (size_t)line_n + size + 2)
        return BENCH_RESPONSE_PARTIAL;
    if (memcmp(at + line_n + size, "\r\n", 2) != 0)
        return BENCH_RESPONSE_BROKEN;
    *ret_data = (struct str){at + line_n, size};
    *ret_size = (size_t)line_n + size + 2;
    return BENCH_RESPONSE_WHOLE;
}

/* Walks the chunks at `at`, and moves them together if `is_joining`. WHOLE sets the body's length
 * and the bytes that the chunks take up. */
static enum bench_response_outcome walk_chunks(char *at, size_t n, bool is_joining,
                                               size_t *ret_body_n, size_t *ret_taken)
{
    size_t taken = 0, body_n = 0, size;
    struct str data;
    for (;;) {
        enum bench_response_outcome outcome =
            bench_response_chunk(at + taken, n - taken, &data, &size);
        if (outcome != BENCH_RESPONSE_WHOLE)
            return outcome;
        if (body_n + data.n > BENCH_BODY_MAX_BYTES)
            return BENCH_RESPONSE_BROKEN;
        if (is_joining)
            memmove(at + body_n, data.at, data.n);
        body_n += data.n;
        taken += size;
        if (data.n == 0) {
            *ret_body_n = body_n;
            *ret_taken = taken;
            return BENCH_RESPONSE_WHOLE;
        }
    }
}

enum bench_response_outcome bench_response_parse(char *at, size_t n,
                                                 struct bench_response *ret_response)
{
    size_t head_n, body_n = 0, taken = 0;
    struct head head;
    int status;
    enum bench_response_outcome outcome = read_head(at, n, &head_n, &status, &head);
    if (outcome != BENCH_RESPONSE_WHOLE)
        return outcome;
    char *body = at + head_n;
    if (head.is_chunked) {
        outcome = walk_chunks(body, n - head_n, false, &body_n, &taken);
        if (outcome == BENCH_RESPONSE_WHOLE)
            outcome = walk_chunks(body, n - head_n, true, &body_n, &taken);
        if (outcome != BENCH_RESPONSE_WHOLE)
            return outcome;
    } else if (head.has_length) {
        body_n = taken = head.length;
        if (n - head_n < taken)
            return BENCH_RESPONSE_PARTIAL;
    } else if (status != 204 && status != 304) {
        return BENCH_RESPONSE_BROKEN; /* a body of unknown length */
    }
    *ret_response = (struct bench_response){
        .status = status, .body = {body, body_n}, .size = head_n + taken, .is_last = head.is_last};
    return BENCH_RESPONSE_WHOLE;
}

static void skip_space(struct str *s)
{
    while (s->n > 0 &&
           (s->at[0] == ' ' || s->at[0] == '\n' || s->at[0] == '\r' || s->at[0] == '\t')) {
        s->at++;
        s->n--;
    }
}

static void drop(struct str *s, size_t n)
{
    s->at += n;
    s->n -= n;
}

/* The length of the string at the start of `s`, quotes included; 0 when there is none. */
static size_t string_length(struct str s)
{
    if (s.n < 2 || s.at[0] != '"')
        return 0;
    for (size_t from = 1; from < s.n;) {
        const char *quote = memchr(s.at + from, '"', s.n - from);
        if (quote == NULL)
            return 0;
        size_t end = (size_t)(quote - s.at), slashes = 0;
        while (end - slashes > 1 && s.at[end - 1 - slashes] == '\\')
            slashes++;
        if (slashes % 2 == 0)
            return end + 1;
        from = end + 1;
    }
    return 0;
}

/* The length of the value at the start of `s`; 0 when it is broken or cut short. */
static size_t value_length(struct str s)
{
    size_t i = 0, depth = 0;
    if (s.n > 0 && s.at[0] == '"')
        return string_length(s);
    while (i < s.n) {
        char c = s.at[i];
        if (c == '"') {
            size_t n = string_length((struct str){s.at + i, s.n - i});
            if (n == 0)
                return 0;
            i += n;
            continue;
        }
        bool is_end = c == '}' || c == ']';
        if (depth == 0 && (c == ',' || is_end || c == ' ' || c == '\n' || c == '\r' || c == '\t'))
            return i;
        i++;
        depth += c == '{' || c == '[';
        depth -= is_end;
        if (depth == 0 && is_end)
            return i;
    }
    return depth == 0 ? i : 0;
}

static bool begin(struct str *rest, char bracket)
{
    skip_space(rest);
    if (rest->n == 0 || rest->at[0] != bracket)
        return false;
    drop(rest, 1);
    return true;
}

/* Takes one `"name": value` and the following comma from `rest`. */
static bool take_member(struct str *rest, struct str *ret_name, struct str *ret_value)
{
    skip_space(rest);
    size_t n = string_length(*rest);
    struct str name = {rest->at, n};
    if (n == 0)
        return false;
    drop(rest, n);
    if (!begin(rest, ':'))
        return false;
    skip_space(rest);
    n = value_length(*rest);
    if (n == 0)
        return false;
    *ret_name = name;
    *ret_value = (struct str){rest->at, n};
    drop(rest, n);
    skip_space(rest);
    if (rest->n > 0 && rest->at[0] == ',')
        drop(rest, 1);
    return true;
}

bool bench_json_first_member(struct str json, struct str *ret_name, struct str *ret_value)
{
    return begin(&json, '{') && take_member(&json, ret_name, ret_value);
}

bool bench_json_member(struct str json, struct str name, struct str *ret_value)
{
    struct str key, value;
    if (!begin(&json, '{'))
        return false;
    while (take_member(&json, &key, &value))
        if (key.n == name.n + 2 && memcmp(key.at + 1, name.at, name.n) == 0) {
            *ret_value = value;
            return true;
        }
    return false;
}

bool bench_json_enter_array(struct str *rest)
{
    return begin(rest, '[');
}

struct str bench_json_next(struct str *rest)
{
    skip_space(rest);
    size_t n = value_length(*rest);
    if (n == 0)
        return (struct str){NULL, 0};
    struct str element = {rest->at, n};
    drop(rest, n);
    skip_space(rest);
    if (rest->n > 0 && rest->at[0] == ',')
        drop(rest, 1);
    return element;
}
