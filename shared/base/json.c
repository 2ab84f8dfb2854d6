/* SPDX-License-Identifier: MIT
 * json.c - see json.h. */
#include "shared/base/json.h"

#include <stdio.h>

bool json_parse(struct str text, char *reason, size_t reason_size, json_t **ret_value)
{
    json_error_t error;
    json_t *value = json_loadb(text.at == NULL ? "" : text.at, text.n, JSON_DECODE_ANY, &error);
    if (value == NULL) {
        /* jansson quotes the input after " near "; a reason must not repeat a client's bytes. */
        char *near = strstr(error.text, " near ");
        if (near != NULL)
            *near = 0;
        snprintf(reason, reason_size, "%s (line %d, column %d)", error.text, error.line,
                 error.column);
        return false;
    }
    *ret_value = value;
    return true;
}

bool json_is_deeper(const json_t *value, unsigned most)
{
    bool is_list = json_is_array(value), is_object = json_is_object(value);
    const char *name;
    const json_t *item;
    size_t i;
    if ((is_list || is_object) && most == 0)
        return true;
    json_array_foreach(value, i, item)
    {
        if (json_is_deeper(item, most - 1))
            return true;
    }
    json_object_foreach((json_t *)(uintptr_t)value, name, item)
    {
        if (json_is_deeper(item, most - 1))
            return true;
    }
    return false;
}

/* Costs of jansson 2.14 with glibc's malloc, measured. */
enum {
    VALUE_BYTES = 24,
    STRING_BYTES = 60,
    OBJECT_BYTES = 208,
    MEMBER_BYTES = 84,
    LIST_BYTES = 112,
    ITEM_BYTES = 8
};

size_t json_memory(const json_t *value)
{
    size_t bytes = VALUE_BYTES, i;
    const char *name;
    json_t *below;
    if (json_is_string(value)) {
        bytes += STRING_BYTES + json_string_length(value);
    } else if (json_is_object(value)) {
        bytes += OBJECT_BYTES;
        json_object_foreach((json_t *)(uintptr_t)value, name, below)
        {
            bytes += MEMBER_BYTES + strlen(name) + json_memory(below);
        }
    } else if (json_is_array(value)) {
        bytes += LIST_BYTES;
        json_array_foreach(value, i, below)
        {
            bytes += ITEM_BYTES + json_memory(below);
        }
    }
    return bytes;
}

struct str json_str(const json_t *value)
{
    if (!json_is_string(value))
        return (struct str){NULL, 0};
    return (struct str){json_string_value(value), json_string_length(value)};
}

struct str json_member_str(const json_t *object, const char *name)
{
    return json_str(json_object_get(object, name));
}

static int append(const char *bytes, size_t n, void *arg)
{
    buf_put(arg, (struct str){bytes, n});
    return 0;
}

void buf_put_json_value(struct buf *b, const json_t *value)
{
    if (json_is_string(value))
        buf_put_json(b, json_str(value));
    else
        json_dump_callback(value, append, b, JSON_COMPACT | JSON_ENCODE_ANY);
}
