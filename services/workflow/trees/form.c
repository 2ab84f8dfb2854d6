/* SPDX-License-Identifier: MIT
 * form.c - see form.h: form_check. */
#include "services/workflow/trees/form.h"

#include "shared/base/shown.h"

#include <math.h>

/* Where in the corrections a check is: each step points to the one before it. */
struct place {
    const struct place *before;
    struct str name; /* of a member; `at == NULL`: an item */
    size_t index;
};

/* --- why -------------------------------------------------------------------------------------- */

static void put_name(struct buf *why, struct str name)
{
    enum { MOST = 64 };
    buf_put_shown(why, (struct str){name.at, name.n < MOST ? name.n : MOST});
    if (name.n > MOST)
        buf_lit(why, "...");
}

static void put_place(struct buf *why, const struct place *place)
{
    if (place->before != NULL)
        put_place(why, place->before);
    if (place->name.at == NULL) {
        buf_printf(why, "[%zu]", place->index);
        return;
    }
    if (place->before != NULL)
        buf_put_char(why, '.');
    put_name(why, place->name);
}

/* Begins the sentence with the member's name. */
static struct buf *blame(struct buf *why, const struct place *place)
{
    if (place == NULL) {
        buf_lit(why, "corrections");
    } else {
        buf_put_char(why, '\'');
        put_place(why, place);
        buf_put_char(why, '\'');
    }
    return why;
}

/* --- checks ----------------------------------------------------------------------------------- */

static bool check(const json_t *form, const json_t *value, const struct place *place,
                  struct buf *why);

static bool has_type(const json_t *value, struct str type)
{
    if (str_eq(type, STR("integer")))
        return json_is_integer(value) ||
               (json_is_real(value) && json_real_value(value) == trunc(json_real_value(value)));
    return str_eq(type, STR("object"))    ? json_is_object(value)
           : str_eq(type, STR("array"))   ? json_is_array(value)
           : str_eq(type, STR("string"))  ? json_is_string(value)
           : str_eq(type, STR("number"))  ? json_is_number(value)
           : str_eq(type, STR("boolean")) ? json_is_boolean(value)
                                          : json_is_null(value);
}

static bool check_type(const json_t *type, const json_t *value, const struct place *place,
                       struct buf *why)
{
    size_t n = json_is_array(type) ? json_array_size(type) : 1;
    for (size_t i = 0; i < n; i++)
        if (has_type(value, json_str(json_is_array(type) ? json_array_get(type, i) : type)))
            return true;
    blame(why, place);
    for (size_t i = 0; i < n; i++)
        buf_printf(why, "%s%.*s", i == 0 ? " must be of type " : " or ",
                   STR_ARG(json_str(json_is_array(type) ? json_array_get(type, i) : type)));
    return false;
}

static bool are_equal(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b) && json_typeof(a) != json_typeof(b))
        return json_number_value(a) == json_number_value(b);
    return json_equal(a, b) != 0;
}

static bool check_choice(const json_t *choices, const json_t *value, const struct place *place,
                         struct buf *why)
{
    enum { SHOWN_MAX = 10, SHOWN_BYTES = 64 };
    size_t n = json_is_array(choices) ? json_array_size(choices) : 1;
    for (size_t i = 0; i < n; i++)
        if (are_equal(json_is_array(choices) ? json_array_get(choices, i) : choices, value))
            return true;
    blame(why, place);
    for (size_t i = 0; i < n && i < SHOWN_MAX; i++) {
        const json_t *choice = json_is_array(choices) ? json_array_get(choices, i) : choices;
        struct buf text;
        buf_init(&text, SHOWN_BYTES);
        buf_put_json_value(&text, choice);
        buf_printf(why, "%s", i == 0 ? " must be " : " or ");
        buf_put(why, text.is_over ? STR("a longer text of the form") : buf_str(&text));
        buf_fini(&text);
    }
    if (n > SHOWN_MAX)
        buf_lit(why, " or another choice of the form");
    return false;
}

/* Characters, not bytes: continuation bytes do not count. */
static size_t count_characters(struct str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += ((unsigned char)text.at[i] & 0xc0) != 0x80;
    return n;
}

/* `min` and `max` are members of the form that hold whole numbers. */
static bool check_count(const json_t *form, const char *min, const char *max, size_t n,
                        const char *what, const struct place *place, struct buf *why)
{
    const json_t *least = json_object_get(form, min), *most = json_object_get(form, max);
    bool is_short = least != NULL && n < (size_t)json_integer_value(least);
    bool is_long = most != NULL && n > (size_t)json_integer_value(most);
    if (!is_short && !is_long)
        return true;
    buf_printf(blame(why, place), " must have at %s %lld %s", is_short ? "least" : "most",
               (long long)json_integer_value(is_short ? least : most), what);
    return false;
}

static bool check_range(const json_t *form, const json_t *value, const struct place *place,
                        struct buf *why)
{
    const json_t *least = json_object_get(form, "minimum"),
                 *most = json_object_get(form, "maximum");
    double number = json_number_value(value);
    bool is_small = least != NULL && number < json_number_value(least);
    bool is_large = most != NULL && number > json_number_value(most);
    if (!is_small && !is_large)
        return true;
    buf_printf(blame(why, place), " must be at %s ", is_small ? "least" : "most");
    buf_put_json_value(why, is_small ? least : most);
    return false;
}

static bool check_list(const json_t *form, const json_t *list, const struct place *place,
                       struct buf *why)
{
    const json_t *items = json_object_get(form, "items");
    size_t n = json_array_size(list);
    if (!check_count(form, "minItems", "maxItems", n, "items", place, why))
        return false;
    for (size_t i = 0; items != NULL && i < n; i++)
        if (!check(items, json_array_get(list, i), &(struct place){.before = place, .index = i},
                   why))
            return false;
    return true;
}

static bool check_object(const json_t *form, json_t *object, const struct place *place,
                         struct buf *why)
{
    const json_t *members = json_object_get(form, "properties");
    const json_t *required = json_object_get(form, "required");
    bool is_closed = json_is_false(json_object_get(form, "additionalProperties"));
    const char *key;
    json_t *value;
    for (size_t i = 0; i < json_array_size(required); i++) {
        struct place at = {.before = place, .name = json_str(json_array_get(required, i))};
        if (json_object_getn(object, at.name.at, at.name.n) == NULL) {
            buf_lit(blame(why, &at), " is missing");
            return false;
        }
    }
    json_object_foreach(object, key, value)
    {
        struct place at = {.before = place, .name = str_of(key)};
        const json_t *member = json_object_get(members, key);
        if (member == NULL && is_closed) {
            buf_lit(blame(why, &at), " is not a member of the form");
            return false;
        }
        if (member != NULL && !check(member, value, &at, why))
            return false;
    }
    return true;
}

/* Keywords of one kind of value say nothing about others (JSON Schema). */
static bool check(const json_t *form, const json_t *value, const struct place *place,
                  struct buf *why)
{
    const json_t *type = json_object_get(form, "type"), *choices = json_object_get(form, "enum");
    const json_t *constant = json_object_get(form, "const");
    if ((type != NULL && !check_type(type, value, place, why)) ||
        (choices != NULL && !check_choice(choices, value, place, why)) ||
        (constant != NULL && !check_choice(constant, value, place, why)))
        return false;
    switch (json_typeof(value)) {
    case JSON_OBJECT: return check_object(form, (json_t *)value, place, why);
    case JSON_ARRAY: return check_list(form, value, place, why);
    case JSON_STRING:
        return check_count(form, "minLength", "maxLength", count_characters(json_str(value)),
                           "characters", place, why);
    case JSON_INTEGER:
    case JSON_REAL: return check_range(form, value, place, why);
    default: return true;
    }
}

bool form_check(const json_t *form, const json_t *corrections, struct buf *why)
{
    if (!json_is_object(corrections)) {
        buf_lit(why, "corrections must be of type object");
        return false;
    }
    return form == NULL || check(form, corrections, NULL, why);
}

bool form_check_value(const json_t *form, const json_t *value, struct str name, struct buf *why)
{
    return check(form, value, &(struct place){.name = name}, why);
}
