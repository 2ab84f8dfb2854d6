/* SPDX-License-Identifier: MIT
 * json_fault.c - see json_fault.h. */
#include "shared/base/json_fault.h"

#include "shared/base/shown.h"

#include <ctype.h>

enum { NUMBER_MAX_BYTES = 24, NAMES_MAX = 5 };

/* --- names ------------------------------------------------------------------------------------ */

/* The next letter of a name, in lower case, without '_' and '-'; 0: none is left. */
static int next_letter(struct str *rest)
{
    while (rest->n > 0) {
        int c = (unsigned char)*rest->at;
        *rest = (struct str){rest->at + 1, rest->n - 1};
        if (c != '_' && c != '-')
            return tolower(c);
    }
    return 0;
}

bool json_is_alike(struct str a, struct str b)
{
    int c;
    do {
        c = next_letter(&a);
        if (c != next_letter(&b))
            return false;
    } while (c != 0);
    return true;
}

const struct json_member *json_find_alike(const struct json_member *members, size_t n,
                                          struct str name)
{
    const struct json_member *found = NULL;
    for (size_t i = 0; i < n; i++) {
        if (str_eq(members[i].name.raw, name))
            return NULL;
        if (json_is_alike(members[i].name.raw, name))
            found = &members[i];
    }
    return found;
}

static bool is_known(struct str name, const char *const *known)
{
    for (; *known != NULL; known++)
        if (str_eq(name, str_of(*known)))
            return true;
    return false;
}

size_t json_put_unknown(struct buf *b, const struct json_member *members, size_t n,
                        const char *const *known)
{
    size_t unknown_n = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_known(members[i].name.raw, known) || ++unknown_n > NAMES_MAX)
            continue;
        if (unknown_n > 1)
            buf_lit(b, ", ");
        buf_put_quoted(b, members[i].name.raw);
    }
    if (unknown_n > NAMES_MAX)
        buf_printf(b, " and %zu more", unknown_n - NAMES_MAX);
    return unknown_n;
}

/* --- values ----------------------------------------------------------------------------------- */

static void put_text(struct buf *b, const struct json_span *text)
{
    struct buf plain;
    buf_init(&plain, text->raw.n + 1);
    buf_put_span_text(&plain, text);
    if (plain.n == 0) {
        buf_lit(b, "an empty string");
    } else if (plain.n <= QUOTED_MAX_BYTES) {
        buf_lit(b, "the string ");
        buf_put_quoted(b, buf_str(&plain));
    } else {
        buf_printf(b, "a string of %llu %s", COUNTED(plain.n, "byte"));
    }
    buf_fini(&plain);
}

/* Lists are of strings, as a rule: of another one the first item that is none is named. */
static void put_list(struct buf *b, const struct json_span *list)
{
    struct json_span item, other = {.kind = JSON_SPAN_ABSENT};
    size_t n = 0;
    for (struct str rest = json_list_inside(list); json_next_item(&rest, &item); n++)
        if (other.kind == JSON_SPAN_ABSENT && item.kind != JSON_SPAN_TEXT)
            other = item;
    if (n == 0)
        buf_lit(b, "an empty list");
    else
        buf_printf(b, "a list of %llu %s", COUNTED(n, "item"));
    if (other.kind == JSON_SPAN_ABSENT)
        return;
    buf_lit(b, ", one of which is ");
    if (other.kind == JSON_SPAN_LIST)
        buf_lit(b, "a list");
    else
        json_put_seen(b, &other);
}

void json_put_seen(struct buf *b, const struct json_span *value)
{
    switch (value->kind) {
    case JSON_SPAN_TEXT: put_text(b, value); break;
    case JSON_SPAN_LIST: put_list(b, value); break;
    case JSON_SPAN_OBJECT: buf_lit(b, "an object"); break;
    case JSON_SPAN_NULL: buf_lit(b, "null"); break;
    case JSON_SPAN_BOOL: buf_put(b, value->raw); break;
    default:
        buf_put(b, value->raw.n <= NUMBER_MAX_BYTES ? value->raw : STR("a number of many digits"));
    }
}

void json_put_fault(struct buf *b, const struct json_member *members, size_t n, const char *name,
                    const char *expected)
{
    const struct json_member *alike = json_find_alike(members, n, str_of(name));
    const struct json_span *value = NULL;
    for (size_t i = 0; i < n; i++)
        if (str_eq(members[i].name.raw, str_of(name)))
            value = &members[i].value;
    if (alike != NULL) {
        buf_printf(b, "%s is missing, but there is ", name);
        buf_put_quoted(b, alike->name.raw);
        buf_printf(b, ": a name must be spelt exactly. %s must be %s.", name, expected);
    } else if (value == NULL || value->kind == JSON_SPAN_NULL) {
        buf_printf(b, "%s is %s: it must be %s.", name, value == NULL ? "missing" : "null",
                   expected);
    } else {
        buf_printf(b, "%s must be %s, not ", name, expected);
        json_put_seen(b, value);
        buf_put_char(b, '.');
    }
}
