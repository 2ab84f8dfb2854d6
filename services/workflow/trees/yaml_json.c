/* SPDX-License-Identifier: MIT
 * yaml_json.c - a value of a YAML file as JSON, by the core schema of YAML 1.2: only plain scalars
 * are null, booleans or numbers; `yes` and `no` are texts. */
#include "services/workflow/trees/reader.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static bool is_any(struct str text, const char *a, const char *b, const char *c)
{
    return str_eq(text, str_of(a)) || str_eq(text, str_of(b)) || str_eq(text, str_of(c));
}

/* Returns whether `text` is a JSON number, but with a sign in front and leading zeros;
 * `*ret_is_real` by a point or an exponent. */
static bool is_number(struct str text, bool *ret_is_real)
{
    size_t i = text.n > 0 && (text.at[0] == '-' || text.at[0] == '+'), digits = 0;
    *ret_is_real = false;
    for (; i < text.n && text.at[i] >= '0' && text.at[i] <= '9'; i++)
        digits++;
    if (i < text.n && text.at[i] == '.') {
        *ret_is_real = true;
        for (i++; i < text.n && text.at[i] >= '0' && text.at[i] <= '9'; i++)
            digits++;
    }
    if (digits > 0 && i < text.n && (text.at[i] | 0x20) == 'e') {
        size_t exponent = 0;
        *ret_is_real = true;
        i++;
        if (i < text.n && (text.at[i] == '-' || text.at[i] == '+'))
            i++;
        for (; i < text.n && text.at[i] >= '0' && text.at[i] <= '9'; i++)
            exponent++;
        if (exponent == 0)
            return false;
    }
    return digits > 0 && i == text.n;
}

static json_t *number_json(struct reader *r, const yaml_node_t *node, bool is_real)
{
    const char *text = (const char *)node->data.scalar.value; /* NUL-terminated by libyaml */
    errno = 0;
    if (!is_real) {
        json_int_t whole = strtoll(text, NULL, 10);
        if (errno == 0)
            return json_integer(whole);
    }
    double real = strtod(text, NULL);
    if (isfinite(real) && is_real)
        return json_real(real);
    reader_fault(r, node, "the number %s is too large", reader_show(r, yaml_tree_scalar(node)));
    return NULL;
}

static json_t *scalar_json(struct reader *r, const yaml_node_t *node)
{
    struct str text = yaml_tree_scalar(node);
    bool is_real;
    if (yaml_tree_is_null(node))
        return json_null();
    if (node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        if (is_any(text, "true", "True", "TRUE"))
            return json_true();
        if (is_any(text, "false", "False", "FALSE"))
            return json_false();
        if (is_number(text, &is_real))
            return number_json(r, node, is_real);
    }
    return json_stringn(text.at, text.n);
}

json_t *yaml_json(struct reader *r, const yaml_node_t *node)
{
    json_t *json, *value;
    if (node->type == YAML_SCALAR_NODE)
        return scalar_json(r, node);
    if (node->type == YAML_SEQUENCE_NODE) {
        json = json_array();
        for (const yaml_node_item_t *item = node->data.sequence.items.start;
             item < node->data.sequence.items.top; item++) {
            value = yaml_json(r, reader_node(r, *item));
            if (value == NULL)
                goto fault;
            if (json_array_append_new(json, value) != 0)
                abort();
        }
        return json;
    }
    json = json_object();
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        struct str key = yaml_tree_scalar(reader_node(r, pair->key));
        value = key.at == NULL ? NULL : yaml_json(r, reader_node(r, pair->value));
        if (value == NULL)
            goto fault;
        if (json_object_setn_new_nocheck(json, key.at, key.n, value) != 0)
            abort();
    }
    return json;
fault:
    json_decref(json);
    return NULL;
}
