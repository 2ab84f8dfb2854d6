/* SPDX-License-Identifier: MIT
 * extract_json.c - JSON, and JSON on each line: an object's own values are one line, after the path
 * that leads to it: `pumps: name: A | bar: 40`. What is no JSON is read as text. */
#include "shared/extract/office.h"
#include "shared/extract/office_finish.h"

#include <jansson.h>

enum { PATH_MAX_BYTES = 200 };

static bool is_scalar(const json_t *value)
{
    return !json_is_object(value) && !json_is_array(value);
}

static void put_scalar(struct buf *b, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING: buf_put(b, str_of(json_string_value(value))); break;
    case JSON_INTEGER: buf_printf(b, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); break;
    case JSON_REAL: buf_printf(b, "%.15g", json_real_value(value)); break;
    case JSON_TRUE: buf_lit(b, "true"); break;
    case JSON_FALSE: buf_lit(b, "false"); break;
    default: break;
    }
}

static bool is_list_of_scalars(const json_t *value)
{
    if (!json_is_array(value))
        return false;
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!is_scalar(json_array_get(value, i)))
            return false;
    return true;
}

static void put_list(struct buf *b, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (i > 0)
            buf_lit(b, ", ");
        put_scalar(b, json_array_get(list, i));
    }
}

static void put_simple(struct buf *b, const json_t *value)
{
    if (json_is_array(value))
        put_list(b, value);
    else
        put_scalar(b, value);
}

static bool is_simple(const json_t *value)
{
    return (is_scalar(value) && !json_is_null(value)) || is_list_of_scalars(value);
}

static void begin_line(struct buf *b, struct str path)
{
    if (b->n > 0)
        buf_put_char(b, '\n');
    buf_put(b, path);
    if (path.n > 0)
        buf_lit(b, ": ");
}

static void put_own_values(struct buf *b, json_t *object, struct str path)
{
    const char *key;
    json_t *value;
    bool is_begun = false;
    json_object_foreach(object, key, value)
    {
        if (!is_simple(value))
            continue;
        if (is_begun)
            buf_lit(b, " | ");
        else
            begin_line(b, path);
        is_begun = true;
        buf_put(b, str_of(key));
        buf_lit(b, ": ");
        put_simple(b, value);
    }
}

/* Recursive: jansson reads no more than 2,048 levels. The path is cut where it gets long. */
static void put_value(struct buf *b, json_t *value, struct buf *path)
{
    const char *key;
    json_t *inner;
    size_t n = path->n;
    if (is_simple(value)) {
        begin_line(b, buf_str(path));
        put_simple(b, value);
        return;
    }
    for (size_t i = 0; i < json_array_size(value) && !b->is_over; i++)
        put_value(b, json_array_get(value, i), path);
    if (!json_is_object(value))
        return;
    put_own_values(b, value, buf_str(path));
    json_object_foreach(value, key, inner)
    {
        if (is_simple(inner) || b->is_over)
            continue;
        if (n > 0)
            buf_put_char(path, '.');
        buf_put(path, str_of(key));
        path->is_over = false;
        put_value(b, inner, path);
        path->n = n;
    }
}

/* Returns false if the text is not JSON to its end. */
static bool put_documents(struct buf *b, struct str text)
{
    struct buf path;
    buf_init(&path, PATH_MAX_BYTES);
    bool is_good = true;
    for (text = str_trim(text); is_good && text.n > 0; text = str_trim(text)) {
        json_error_t error;
        json_t *value = json_loadb(
            text.at, text.n, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &error);
        is_good = value != NULL && error.position > 0;
        if (is_good) {
            put_value(b, value, &path);
            text = (struct str){text.at + error.position, text.n - (size_t)error.position};
        }
        json_decref(value);
    }
    buf_fini(&path);
    return is_good;
}

enum extract_fault extract_put_json(struct buf *text, struct str bytes)
{
    struct buf utf8, rough;
    buf_init(&utf8, EXTRACT_TEXT_MAX_BYTES);
    buf_init(&rough, EXTRACT_TEXT_MAX_BYTES);
    enum extract_fault fault = extract_put_text(&utf8, bytes);
    bool is_json = fault == EXTRACT_FAULT_NONE && put_documents(&rough, buf_str(&utf8));
    fault = office_finish(text, is_json ? &rough : &utf8, fault);
    buf_fini(&utf8);
    buf_fini(&rough);
    return fault;
}
