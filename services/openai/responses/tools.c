/* SPDX-License-Identifier: MIT
 * tools.c - see tools.h. */
#include "services/openai/responses/tools.h"

#include "shared/base/mem.h"

#include <stdio.h>

#define SEPARATOR STR("__")

static bool is_type(const struct members *tool, const char *name)
{
    const struct json_span *type = members_get_kind(tool, "type", JSON_SPAN_TEXT);
    return type != NULL && str_eq(type->raw, str_of(name));
}

bool tools_is_namespace(const struct members *tool)
{
    return is_type(tool, "namespace");
}

bool tools_is_custom(const struct members *tool)
{
    return is_type(tool, "custom");
}

static struct str name_of(const struct members *tool)
{
    const struct json_span *name = members_get_kind(tool, "name", JSON_SPAN_TEXT);
    return name == NULL ? STR("") : name->raw;
}

/* `web_search`, `web_search_preview`, and those with a date. */
static bool is_search(const struct members *tool)
{
    const struct json_span *type = members_get_kind(tool, "type", JSON_SPAN_TEXT);
    return type != NULL && str_has_prefix(type->raw, STR("web_search"));
}

/* --- those that may be called ----------------------------------------------------------------- */

/* Does this entry of the list name that function? `namespace`: n == 0: it has none. */
static bool names(const struct members *entry, const struct members *tool, struct str namespace)
{
    const struct json_span *within = members_get_kind(entry, "namespace", JSON_SPAN_TEXT);
    if (tools_is_namespace(entry))
        return namespace.n > 0 && str_eq(name_of(entry), namespace);
    bool is_same = (is_type(entry, "function") && is_type(tool, "function")) ||
                   (is_type(entry, "custom") && is_type(tool, "custom"));
    return is_same && str_eq(name_of(entry), name_of(tool)) &&
           str_eq(within == NULL ? STR("") : within->raw, namespace);
}

static bool is_allowed(const struct translation *t, const struct members *tool,
                       struct str namespace)
{
    struct members entry;
    struct json_span item;
    for (struct str rest = t->has_allowed ? json_list_inside(&t->allowed) : STR("");
         json_next_item(&rest, &item);)
        if (members_read(&entry, item.raw) && names(&entry, tool, namespace))
            return true;
    return !t->has_allowed;
}

/* The same of any of a list of tools, in one namespace. */
static bool names_any(const struct members *entry, const struct json_span *tools,
                      struct str namespace)
{
    struct members tool;
    struct json_span item;
    for (struct str rest = tools == NULL ? STR("") : json_list_inside(tools);
         json_next_item(&rest, &item);) {
        if (!members_read(&tool, item.raw))
            continue;
        bool is_space = namespace.n == 0 && tools_is_namespace(&tool);
        if (is_space
                ? names_any(entry, members_get_kind(&tool, "tools", JSON_SPAN_LIST), name_of(&tool))
                : names(entry, &tool, namespace))
            return true;
    }
    return false;
}

bool tools_check_allowed(struct translation *t)
{
    struct members entry;
    struct json_span item;
    for (struct str rest = json_list_inside(&t->allowed); json_next_item(&rest, &item);) {
        bool is_good = members_read(&entry, item.raw);
        if (is_good && is_search(&entry))
            continue;
        if (!is_good || !names_any(&entry, t->tools, STR("")))
            return translate_fail(t, ".tools", "a list of tools and namespaces in `tools`");
    }
    return true;
}

/* --- putting ---------------------------------------------------------------------------------- */

/* Begins a tool after the one before it, if there is one. */
static void begin(struct translation *t, size_t start)
{
    buf_put(t->b, t->b->n == start ? STR(",\"tools\":[") : STR(","));
    buf_lit(t->b, "{\"type\":\"function\",\"function\":{\"name\":\"");
}

/* The parameters of a function. */
static void put_parameters(struct translation *t, const struct members *tool)
{
    static const char *const names[] = {"description", "parameters", "strict"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct json_span *value = members_get(tool, names[i]);
        if (value == NULL)
            continue;
        buf_put_key(t->b, names[i]);
        members_put_span(t->b, value);
    }
}

/* Those of a custom tool. A grammar of its input is described: engines cannot hold a model to it.
 */
static void put_input(struct translation *t, const struct members *tool)
{
    const struct json_span *description = members_get_kind(tool, "description", JSON_SPAN_TEXT),
                           *format = members_get_kind(tool, "format", JSON_SPAN_OBJECT);
    struct members grammar = {.n = 0};
    if (format != NULL)
        (void)members_read(&grammar, format->raw);
    const struct json_span *syntax = members_get_kind(&grammar, "syntax", JSON_SPAN_TEXT),
                           *definition = members_get_kind(&grammar, "definition", JSON_SPAN_TEXT);
    buf_lit(t->b, ",\"description\":\"");
    if (description != NULL)
        buf_put(t->b, description->raw);
    if (syntax != NULL && definition != NULL) {
        buf_lit(t->b, "\\n\\nThe input follows this grammar (");
        buf_put(t->b, syntax->raw);
        buf_lit(t->b, "):\\n");
        buf_put(t->b, definition->raw);
    }
    buf_lit(t->b, "\",\"parameters\":{\"type\":\"object\",\"properties\":{\"" CUSTOM_INPUT
                  "\":{\"type\":\"string\",\"description\":\"The input of the tool, a plain "
                  "text.\"}},\"required\":[\"" CUSTOM_INPUT "\"],"
                  "\"additionalProperties\":false}");
}

/* `namespace`: n == 0: none. */
static bool put_function(struct translation *t, const struct members *tool, struct str namespace,
                         size_t start)
{
    struct str name = name_of(tool);
    bool is_custom = tools_is_custom(tool);
    if (!is_custom && !is_type(tool, "function"))
        return translate_fail_type(t, ".type", members_get(tool, "type"), "function or custom");
    if (name.n == 0)
        return translate_fail(t, ".name", "a text that is not empty");
    if (!is_allowed(t, tool, namespace))
        return true;
    begin(t, start);
    buf_put(t->b, namespace);
    buf_put(t->b, namespace.n > 0 ? SEPARATOR : STR(""));
    buf_put(t->b, name);
    buf_put_char(t->b, '"');
    if (is_custom)
        put_input(t, tool);
    else
        put_parameters(t, tool);
    buf_lit(t->b, "}}");
    return true;
}

static bool put_namespace(struct translation *t, const struct members *space, size_t start)
{
    const struct json_span *tools = members_get_kind(space, "tools", JSON_SPAN_LIST);
    struct members tool;
    struct json_span item;
    if (name_of(space).n == 0)
        return translate_fail(t, ".name", "a text that is not empty");
    if (tools == NULL)
        return translate_fail(t, ".tools", "a list of functions");
    for (struct str rest = json_list_inside(tools); json_next_item(&rest, &item);) {
        if (!members_read(&tool, item.raw))
            return translate_fail(t, ".tools", "a list of functions");
        if (!put_function(t, &tool, name_of(space), start))
            return false;
    }
    return true;
}

bool tools_put(struct translation *t, const struct json_span *tools)
{
    struct members tool;
    struct json_span item;
    size_t start = t->b->n, n = 0;
    translate_at(t, "tools");
    if (tools->kind != JSON_SPAN_LIST)
        return translate_fail(t, "", "a list");
    for (struct str rest = json_list_inside(tools); json_next_item(&rest, &item); n++) {
        translate_at_item(t, "tools", n);
        if (!members_read(&tool, item.raw))
            return translate_fail(t, "", "an object");
        if (is_search(&tool))
            continue;
        if (tools_is_namespace(&tool) ? !put_namespace(t, &tool, start)
                                      : !put_function(t, &tool, STR(""), start))
            return false;
    }
    if (t->b->n > start)
        buf_put_char(t->b, ']');
    return true;
}

/* --- finding ---------------------------------------------------------------------------------- */

/* A tool, by what a chat calls it. */
struct tool_entry {
    size_t at, n; /* of that name, in `names` of the index */
    size_t place; /* in the list */
    struct tool_found found;
};

static void add_entry(struct tool_index *index, const struct members *tool, struct str namespace)
{
    struct str name = name_of(tool);
    index->entries = mem_grow(index->entries, index->n, sizeof *index->entries);
    struct tool_entry *entry = &index->entries[index->n];
    *entry = (struct tool_entry){
        .at = index->names.n,
        .place = index->n++,
        .found = {namespace, name, tools_is_custom(tool) ? TOOL_CUSTOM : TOOL_FUNCTION}};
    buf_put(&index->names, namespace);
    buf_put(&index->names, namespace.n > 0 ? SEPARATOR : STR(""));
    buf_put(&index->names, name);
    entry->n = index->names.n - entry->at;
}

static void add_entries(struct tool_index *index, struct str tools, struct str namespace)
{
    const struct json_span list = {.kind = JSON_SPAN_LIST, .raw = tools};
    struct members tool;
    struct json_span item;
    for (struct str rest = tools.n == 0 ? STR("") : json_list_inside(&list);
         json_next_item(&rest, &item);) {
        if (!members_read(&tool, item.raw))
            continue;
        const struct json_span *inner = members_get_kind(&tool, "tools", JSON_SPAN_LIST);
        bool is_space = tools_is_namespace(&tool);
        if (!is_space)
            add_entry(index, &tool, namespace);
        else if (inner != NULL && namespace.n == 0 && name_of(&tool).n > 0)
            add_entries(index, inner->raw, name_of(&tool));
    }
}

static int compare_names(struct str a, struct str b)
{
    int order = memcmp(a.at, b.at, a.n < b.n ? a.n : b.n);
    return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

static struct str name_at(const struct tool_index *index, const struct tool_entry *entry)
{
    return (struct str){index->names.at + entry->at, entry->n};
}

/* Two with one name: that of a namespace comes first, then the one that is first in the list. */
static int compare_entries(const void *a, const void *b, void *context)
{
    const struct tool_entry *x = a, *y = b;
    const struct tool_index *index = context;
    int order = compare_names(name_at(index, x), name_at(index, y));
    if (order == 0)
        order = (x->found.namespace.n == 0) - (y->found.namespace.n == 0);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

static void build(struct tool_index *index, struct str tools)
{
    buf_init(&index->names, SIZE_MAX / 2);
    buf_put_char(&index->names, ' '); /* so that names have an address */
    add_entries(index, tools, STR(""));
    if (index->n > 1)
        qsort_r(index->entries, index->n, sizeof *index->entries, compare_entries, index);
    index->is_built = true;
}

void tools_find(struct tool_index *index, struct str tools, struct str called,
                struct tool_found *ret_found)
{
    size_t from = 0, to;
    if (!index->is_built)
        build(index, tools);
    for (to = index->n; from < to;) {
        size_t middle = from + (to - from) / 2;
        if (compare_names(name_at(index, &index->entries[middle]), called) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    bool is_there = from < index->n && str_eq(name_at(index, &index->entries[from]), called);
    *ret_found =
        is_there ? index->entries[from].found : (struct tool_found){STR(""), called, TOOL_UNKNOWN};
}

void tool_index_fini(struct tool_index *index)
{
    buf_fini(&index->names);
    free(index->entries);
    *index = (struct tool_index){.n = 0};
}
