/* SPDX-License-Identifier: MIT
 * form_post.c - see form_post.h.
 *
 * A page shows the values that the message body has, so an approval without a change sends them
 * all. They are corrections only if one of them differs from what was shown; then the whole form is
 * one, so that a form's required members are there. */
#include "services/workflow/approvals/form_post.h"

#include <stdlib.h>

enum { NAME_MAX_BYTES = 1024 };

/* Browsers send every line end of a text as CR LF. Works in place. */
static void put_line_ends(struct buf *b)
{
    size_t to = 0;
    for (size_t from = 0; from < b->n; from++) {
        char c = b->at[from];
        if (c == '\r' && from + 1 < b->n && b->at[from + 1] == '\n')
            continue;
        b->at[to++] = c == '\r' ? '\n' : c;
    }
    b->n = to;
}

static bool decode(struct buf *b, struct str raw)
{
    buf_clear(b);
    if (!buf_put_url_decoded(b, raw, true) || b->is_over)
        return false;
    return b->n == 0 || (str_is_utf8(buf_str(b)) && memchr(b->at, 0, b->n) == NULL);
}

struct reading {
    struct form_post post;
    bool is_decided;
    struct buf name, value;
};

static bool take(struct reading *reading)
{
    static const struct str mark = STR("field.");
    struct form_post *post = &reading->post;
    struct str name = buf_str(&reading->name), value;
    put_line_ends(&reading->value);
    value = buf_str(&reading->value);
    if (str_eq(name, STR("decision"))) {
        post->is_approved = str_eq(value, STR("approve"));
        reading->is_decided = post->is_approved || str_eq(value, STR("reject"));
        return reading->is_decided;
    }
    if (str_eq(name, STR("comment"))) {
        free(post->comment);
        post->comment = str_trim(value).n == 0 ? NULL : str_copy(str_trim(value));
    } else if (str_has_prefix(name, mark)) {
        buf_terminate(&reading->name);
        if (json_object_set_new(post->fields, reading->name.at + mark.n,
                                json_stringn(value.at == NULL ? "" : value.at, value.n)) != 0)
            abort();
    }
    return true;
}

bool form_post_read(struct str body, struct form_post *ret_post, const char **ret_reason)
{
    struct reading reading = {.post.fields = json_object()};
    bool is_valid = reading.post.fields != NULL;
    const char *reason = "The form is not valid: broken %-escapes, or not UTF-8.";
    buf_init(&reading.name, NAME_MAX_BYTES);
    buf_init(&reading.value, body.n + 1);
    for (struct str rest = body; is_valid && rest.at != NULL;) {
        struct str value = str_cut(&rest, '&');
        struct str name = str_cut(&value, '=');
        is_valid = decode(&reading.name, name) && decode(&reading.value, value);
        if (is_valid && !take(&reading)) {
            is_valid = false;
            reason = "decision takes approve or reject.";
        }
    }
    if (is_valid && !reading.is_decided) {
        is_valid = false;
        reason = "decision is missing: it takes approve or reject.";
    }
    buf_fini(&reading.name);
    buf_fini(&reading.value);
    if (!is_valid) {
        form_post_fini(&reading.post);
        *ret_reason = reason;
        return false;
    }
    *ret_post = reading.post;
    return true;
}

void form_post_fini(struct form_post *post)
{
    free(post->comment);
    json_decref(post->fields);
    *post = (struct form_post){.fields = NULL};
}

/* --- corrections ------------------------------------------------------------------------------ */

json_t *form_post_default(const json_t *body)
{
    if (!json_is_string(json_object_get(body, "raw_text")))
        return NULL;
    json_t *form = json_pack("{s:{s:{s:s,s:s}}}", "properties", "raw_text", "type", "string",
                             "title", "Request");
    if (form == NULL)
        abort();
    return form;
}

bool form_post_takes(const json_t *schema, const char *type)
{
    const json_t *types = json_object_get(schema, "type"), *one;
    size_t i;
    if (!json_is_array(types))
        return str_eq(json_str(types), str_of(type));
    json_array_foreach(types, i, one) if (str_eq(json_str(one), str_of(type))) return true;
    return false;
}

const json_t *form_post_initial(const json_t *schema, const json_t *body, const char *name)
{
    const json_t *value = json_object_get(body, name);
    return value != NULL ? value : json_object_get(schema, "default");
}

static json_t *read_json(const char *text, size_t n)
{
    char reason[8];
    json_t *value;
    return json_parse((struct str){text, n}, reason, sizeof reason, &value) ? value : NULL;
}

/* The value of an enum whose text the field has: a text itself, of others their JSON. */
static json_t *read_choice(const json_t *choices, struct str text)
{
    struct buf b;
    size_t i;
    json_t *choice, *found = NULL;
    buf_init(&b, 64 << 10);
    json_array_foreach(choices, i, choice)
    {
        buf_clear(&b);
        if (json_is_string(choice))
            buf_put(&b, json_str(choice));
        else
            buf_put_json_value(&b, choice);
        if (found == NULL && str_eq(buf_str(&b), text))
            found = json_incref(choice);
    }
    buf_fini(&b);
    return found;
}

/* NULL: the text is not of that type. */
static json_t *read_typed(const json_t *schema, struct str text)
{
    const json_t *choices = json_object_get(schema, "enum");
    struct str trimmed = str_trim(text);
    if (json_is_array(choices))
        return read_choice(choices, text);
    if (form_post_takes(schema, "boolean"))
        return str_eq(trimmed, STR("true"))    ? json_true()
               : str_eq(trimmed, STR("false")) ? json_false()
                                               : NULL;
    if (form_post_takes(schema, "number") || form_post_takes(schema, "integer")) {
        json_t *value = read_json(trimmed.at, trimmed.n);
        if (json_is_number(value))
            return value;
        json_decref(value);
        return NULL;
    }
    if (form_post_takes(schema, "object") || form_post_takes(schema, "array"))
        return read_json(trimmed.at, trimmed.n);
    return NULL;
}

/* NULL: the field is empty and was so. */
static json_t *read_field(const json_t *schema, struct str text, const json_t *initial)
{
    bool is_text =
        form_post_takes(schema, "string") && !json_is_array(json_object_get(schema, "enum"));
    if (str_trim(text).n == 0 && !(is_text && json_is_string(initial)))
        return initial == NULL || json_is_null(initial) ? NULL : json_null();
    json_t *value = read_typed(schema, text);
    return value != NULL ? value : json_stringn(text.at, text.n);
}

static bool is_same(const json_t *initial, const json_t *value)
{
    struct str shown = json_str(initial);
    bool is_same;
    struct buf b;
    if (initial == NULL)
        return json_is_false(value); /* a box that was not ticked */
    if (json_is_number(initial) && json_is_number(value))
        return json_number_value(initial) == json_number_value(value);
    if (shown.at == NULL || !json_is_string(value))
        return json_equal(initial, value) != 0;
    buf_init(&b, shown.n + 1);
    buf_put(&b, shown);
    put_line_ends(&b);
    is_same = str_eq(buf_str(&b), json_str(value));
    buf_fini(&b);
    return is_same;
}

json_t *form_post_corrections(const struct form_post *post, const json_t *form, const json_t *body)
{
    const char *name;
    json_t *schema, *corrections = json_object();
    json_t *own = form == NULL ? form_post_default(body) : NULL;
    bool differs = false;
    if (corrections == NULL)
        abort();
    json_object_foreach(json_object_get(own != NULL ? own : form, "properties"), name, schema)
    {
        const json_t *text = json_object_get(post->fields, name);
        const json_t *initial = form_post_initial(schema, body, name);
        json_t *value = text == NULL ? NULL : read_field(schema, json_str(text), initial);
        if (value == NULL)
            continue;
        bool is_unchanged = is_same(initial, value);
        differs |= !is_unchanged;
        /* What was shown is kept as it was: a number keeps its spelling, a text its line ends. */
        if (is_unchanged && initial != NULL)
            json_object_set(corrections, name, (json_t *)initial);
        else
            json_object_set(corrections, name, value);
        json_decref(value);
    }
    json_decref(own);
    if (differs)
        return corrections;
    json_decref(corrections);
    return NULL;
}
