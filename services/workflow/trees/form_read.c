/* SPDX-License-Identifier: MIT
 * form_read.c - reads `form` and refuses what form_check does not know, each with its line. */
#include "services/workflow/trees/form.h"
#include "services/workflow/trees/reader.h"

#include "shared/base/nearest.h"

#include <stdlib.h>

enum keyword {
    KEYWORD_TYPE,
    KEYWORD_PROPERTIES,
    KEYWORD_REQUIRED,
    KEYWORD_ADDITIONAL,
    KEYWORD_ENUM,
    KEYWORD_CONST,
    KEYWORD_MIN_LENGTH,
    KEYWORD_MAX_LENGTH,
    KEYWORD_MINIMUM,
    KEYWORD_MAXIMUM,
    KEYWORD_ITEMS,
    KEYWORD_MIN_ITEMS,
    KEYWORD_MAX_ITEMS,
    KEYWORD_TITLE,
    KEYWORD_DESCRIPTION,
    KEYWORD_DEFAULT,
    KEYWORD_NR
};

static const char *const keywords[KEYWORD_NR] = {
    "type",     "properties", "required",    "additionalProperties",
    "enum",     "const",      "minLength",   "maxLength",
    "minimum",  "maximum",    "items",       "minItems",
    "maxItems", "title",      "description", "default"};

#define COUNT_MAX 1000000000

static bool read_schema(struct reader *r, const yaml_node_t *key, const yaml_node_t *value);

static bool is_type(struct str text)
{
    static const char *const types[] = {"object",  "array",   "string", "number",
                                        "integer", "boolean", "null"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_eq(text, str_of(types[i])))
            return true;
    return false;
}

/* Calls `check` for each item of a list of 1 to FORM_LIST_MAX. */
static bool read_list(struct reader *r, const yaml_node_t *key, const yaml_node_t *value,
                      bool (*check)(struct reader *r, const yaml_node_t *key,
                                    const yaml_node_t *item))
{
    if (value->type != YAML_SEQUENCE_NODE ||
        value->data.sequence.items.start == value->data.sequence.items.top ||
        value->data.sequence.items.top - value->data.sequence.items.start > FORM_LIST_MAX)
        return reader_fault(r, key, "'%s' takes a list of 1 to %d",
                            reader_show(r, yaml_tree_scalar(key)), FORM_LIST_MAX);
    bool ok = true;
    for (const yaml_node_item_t *item = value->data.sequence.items.start;
         item < value->data.sequence.items.top; item++)
        ok = check(r, key, reader_node(r, *item)) && ok;
    return ok;
}

static bool read_type(struct reader *r, const yaml_node_t *key, const yaml_node_t *item)
{
    (void)key;
    return is_type(yaml_tree_scalar(item)) ||
           reader_fault(r, item,
                        "unknown type '%s': use object, array, string, number, integer, boolean "
                        "or null",
                        reader_show(r, yaml_tree_scalar(item)));
}

static bool read_scalar(struct reader *r, const yaml_node_t *key, const yaml_node_t *item)
{
    return item->type == YAML_SCALAR_NODE ||
           reader_fault(r, item,
                        "'%s' takes texts, numbers, true, false and null, no lists or "
                        "objects",
                        reader_show(r, yaml_tree_scalar(key)));
}

static bool read_name(struct reader *r, const yaml_node_t *key, const yaml_node_t *item)
{
    json_t *json = item->type == YAML_SCALAR_NODE ? yaml_json(r, item) : NULL;
    bool ok = json_is_string(json);
    json_decref(json);
    return ok || reader_fault(r, item, "'%s' takes names of members",
                              reader_show(r, yaml_tree_scalar(key)));
}

static bool read_properties(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
    bool ok = true;
    if (value->type != YAML_MAPPING_NODE)
        return reader_fault(r, key, "'properties' takes members of the form 'name: {type: ...}'");
    if (value->data.mapping.pairs.top - value->data.mapping.pairs.start > FORM_LIST_MAX)
        return reader_fault(r, key, "'properties' takes at most %d members", FORM_LIST_MAX);
    for (const yaml_node_pair_t *pair = value->data.mapping.pairs.start;
         pair < value->data.mapping.pairs.top; pair++)
        ok = read_schema(r, reader_node(r, pair->key), reader_node(r, pair->value)) && ok;
    return ok;
}

static bool read_number(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
    json_t *json = value->type == YAML_SCALAR_NODE ? yaml_json(r, value) : NULL;
    bool ok = json_is_number(json);
    json_decref(json);
    return ok ||
           reader_fault(r, value, "'%s' takes a number", reader_show(r, yaml_tree_scalar(key)));
}

static bool read_truth(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
    return (value->type == YAML_SCALAR_NODE && (str_eq(yaml_tree_scalar(value), STR("true")) ||
                                                str_eq(yaml_tree_scalar(value), STR("false")))) ||
           reader_fault(r, value, "'%s' takes true or false",
                        reader_show(r, yaml_tree_scalar(key)));
}

static bool read_note(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
    return value->type == YAML_SCALAR_NODE ||
           reader_fault(r, value, "'%s' takes a text", reader_show(r, yaml_tree_scalar(key)));
}

static bool read_keyword(struct reader *r, enum keyword keyword, const yaml_node_t *key,
                         const yaml_node_t *value)
{
    unsigned count;
    switch (keyword) {
    case KEYWORD_TYPE:
        return value->type == YAML_SEQUENCE_NODE ? read_list(r, key, value, read_type)
                                                 : read_type(r, key, value);
    case KEYWORD_PROPERTIES: return read_properties(r, key, value);
    case KEYWORD_REQUIRED: return read_list(r, key, value, read_name);
    case KEYWORD_ADDITIONAL: return read_truth(r, key, value);
    case KEYWORD_ENUM: return read_list(r, key, value, read_scalar);
    case KEYWORD_CONST: return read_scalar(r, key, value);
    case KEYWORD_MIN_LENGTH:
    case KEYWORD_MAX_LENGTH:
    case KEYWORD_MIN_ITEMS:
    case KEYWORD_MAX_ITEMS: return reader_number(r, key, value, 0, COUNT_MAX, &count);
    case KEYWORD_MINIMUM:
    case KEYWORD_MAXIMUM: return read_number(r, key, value);
    case KEYWORD_ITEMS: return read_schema(r, key, value);
    case KEYWORD_TITLE:
    case KEYWORD_DESCRIPTION: return read_note(r, key, value);
    case KEYWORD_DEFAULT: return true;
    case KEYWORD_NR: break;
    }
    abort();
}

/* One that no value fits would keep a question open for good. */
static bool check_order(struct reader *r, const yaml_node_t *const at[KEYWORD_NR])
{
    static const enum keyword pairs[][2] = {{KEYWORD_MIN_LENGTH, KEYWORD_MAX_LENGTH},
                                            {KEYWORD_MINIMUM, KEYWORD_MAXIMUM},
                                            {KEYWORD_MIN_ITEMS, KEYWORD_MAX_ITEMS}};
    bool ok = true;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const yaml_node_t *least = at[pairs[i][0]], *most = at[pairs[i][1]];
        double min, max;
        if (least != NULL && most != NULL && str_parse_double(yaml_tree_scalar(least), &min) &&
            str_parse_double(yaml_tree_scalar(most), &max) && min > max)
            ok = reader_fault(r, least, "'%s' is larger than '%s'", keywords[pairs[i][0]],
                              keywords[pairs[i][1]]);
    }
    return ok;
}

static bool refuse_keyword(struct reader *r, const yaml_node_t *name)
{
    struct nearest nearest = nearest_begin(yaml_tree_scalar(name));
    for (unsigned i = 0; i < KEYWORD_NR; i++)
        nearest_try(&nearest, str_of(keywords[i]));
    return reader_fault(r, name, "the JSON Schema keyword '%s' is not supported%s",
                        reader_show(r, nearest.given),
                        reader_meant(r, nearest_end(&nearest),
                                     ": use type, enum, const, properties, required, "
                                     "additionalProperties, items, minItems, maxItems, minLength, "
                                     "maxLength, minimum, maximum, title, description and "
                                     "default"));
}

static bool read_schema(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
    const yaml_node_t *at[KEYWORD_NR] = {NULL};
    bool ok = true;
    if (value->type != YAML_MAPPING_NODE)
        return reader_fault(r, key, "'%s' takes a JSON Schema such as {type: string}",
                            reader_show(r, yaml_tree_scalar(key)));
    for (const yaml_node_pair_t *pair = value->data.mapping.pairs.start;
         pair < value->data.mapping.pairs.top; pair++) {
        const yaml_node_t *name = reader_node(r, pair->key), *v = reader_node(r, pair->value);
        unsigned i = 0;
        while (i < KEYWORD_NR && !str_eq(yaml_tree_scalar(name), str_of(keywords[i])))
            i++;
        if (i == KEYWORD_NR) {
            ok = refuse_keyword(r, name);
            continue;
        }
        if (at[i] != NULL)
            continue; /* a second one is noted elsewhere */
        at[i] = v;
        ok = read_keyword(r, (enum keyword)i, name, v) && ok;
    }
    return check_order(r, at) && ok;
}

/* --- values in the form ----------------------------------------------------------------------- */

/* `default` must fit what it is a default of. */
static bool check_defaults(struct reader *r, const yaml_node_t *node, const json_t *form)
{
    bool ok = true;
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *v = reader_node(r, pair->value);
        struct str name = yaml_tree_scalar(reader_node(r, pair->key));
        struct buf why;
        buf_init(&why, FORM_WHY_MAX_BYTES);
        if (str_eq(name, STR("items"))) {
            ok = check_defaults(r, v, json_object_get(form, "items")) && ok;
        } else if (str_eq(name, STR("default")) &&
                   !form_check_value(form, json_object_get(form, "default"), STR("default"),
                                     &why)) {
            ok = reader_fault(r, v, "%.*s", STR_ARG(buf_str(&why)));
        } else if (str_eq(name, STR("properties"))) {
            for (const yaml_node_pair_t *member = v->data.mapping.pairs.start;
                 member < v->data.mapping.pairs.top; member++) {
                struct str key = yaml_tree_scalar(reader_node(r, member->key));
                ok = check_defaults(
                         r, reader_node(r, member->value),
                         json_object_getn(json_object_get(form, "properties"), key.at, key.n)) &&
                     ok;
            }
        }
        buf_fini(&why);
    }
    return ok;
}

static bool is_too_long(const json_t *form)
{
    struct buf b;
    buf_init(&b, FORM_MAX_BYTES);
    buf_put_json_value(&b, form);
    bool is_over = b.is_over;
    buf_fini(&b);
    return is_over;
}

json_t *form_read(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
    unsigned fault_n = r->faults->n;
    if (!read_schema(r, key, value))
        return NULL;
    json_t *form = yaml_json(r, value);
    const json_t *type = json_object_get(form, "type");
    if (form != NULL && type != NULL && !str_eq(json_str(type), STR("object")))
        reader_fault(r, key,
                     "the type of a form is object: corrections are members of messageBody");
    if (form != NULL && is_too_long(form))
        reader_fault(r, key, "this form is longer than 32 KiB as JSON");
    if (form != NULL)
        check_defaults(r, value, form);
    if (r->faults->n == fault_n)
        return form;
    json_decref(form);
    return NULL;
}
