/* SPDX-License-Identifier: MIT
 * model_reply.c - see model_reply.h. */
#include "services/documents/ask/model_reply.h"

#include "shared/text/text.h"

#include <ctype.h>

enum { OBJECT_TRIES = 32, ID_LEAST_BYTES = 6, REPLY_MAX_BYTES = 64 << 10 };

/* The first object in the text that has that member; the caller's, NULL when there is none. */
static json_t *first_object(struct str reply, const char *member)
{
    struct str rest = {reply.at, reply.n < REPLY_MAX_BYTES ? reply.n : REPLY_MAX_BYTES};
    for (unsigned i = 0; i < OBJECT_TRIES; i++) {
        const char *at = rest.n == 0 ? NULL : memchr(rest.at, '{', rest.n);
        if (at == NULL)
            return NULL;
        rest.n -= (size_t)(at - rest.at);
        rest.at = at;
        json_t *object = json_loadb(rest.at, rest.n, JSON_DISABLE_EOF_CHECK, NULL);
        if (json_object_get(object, member) != NULL)
            return object;
        json_decref(object);
        rest.at++;
        rest.n--;
    }
    return NULL;
}

static struct str cut(struct str text, size_t max_chars)
{
    struct str rest = text = str_trim(text);
    uint32_t code;
    size_t step;
    for (size_t n = 0; n < max_chars && (step = text_char(rest, &code)) != 0; n++) {
        rest.at += step;
        rest.n -= step;
    }
    return (struct str){text.at, text.n - rest.n};
}

static bool has_word(struct str text)
{
    struct text_word word;
    return text_next_word(&text, &word);
}

bool model_reply_rewrite(struct str reply, struct buf *query)
{
    json_t *object = first_object(reply, "rewritten_query");
    struct str text = cut(json_member_str(object, "rewritten_query"), QUERY_MAX_CHARS);
    bool is_good = has_word(text);
    for (size_t i = 0; i < text.n && is_good; i++)
        buf_put_char(query, (unsigned char)text.at[i] < ' ' ? ' ' : text.at[i]);
    json_decref(object);
    return is_good;
}

/* A number, also as a text, also in brackets; 0 for all else. */
static uint64_t read_number(const json_t *value)
{
    struct str text = str_trim(json_str(value));
    uint64_t number = 0;
    if (json_is_integer(value))
        return json_integer_value(value) > 0 ? (uint64_t)json_integer_value(value) : 0;
    if (text.n > 2 && *text.at == '[' && text.at[text.n - 1] == ']')
        text = str_trim((struct str){text.at + 1, text.n - 2});
    return text.n > 0 && str_parse_u64(text, &number) ? number : 0;
}

bool model_reply_ranking(struct str reply, unsigned *order, unsigned n)
{
    json_t *object = first_object(reply, "ranking"), *item;
    unsigned named_n = 0;
    size_t i;
    json_array_foreach(json_object_get(object, "ranking"), i, item)
    {
        uint64_t number = read_number(item);
        bool is_new = number >= 1 && number <= n;
        for (unsigned k = 0; k < named_n && is_new; k++)
            is_new = order[k] != number - 1;
        if (is_new)
            order[named_n++] = (unsigned)(number - 1);
    }
    json_decref(object);
    unsigned all_n = named_n;
    for (unsigned k = 0; k < n; k++) {
        bool is_new = true;
        for (unsigned named = 0; named < named_n && is_new; named++)
            is_new = order[named] != k;
        if (is_new)
            order[all_n++] = k;
    }
    return named_n > 0;
}

json_t *model_reply_plan(struct str reply)
{
    json_t *object = first_object(reply, "steps"), *item, *steps = json_array();
    size_t i;
    json_array_foreach(json_object_get(object, "steps"), i, item)
    {
        struct str text = cut(json_str(item), AGENT_STEP_MAX_CHARS);
        if (text.n > 0 && json_array_size(steps) < AGENT_STEPS_MAX)
            json_array_append_new(steps, json_stringn(text.at, text.n));
    }
    json_decref(object);
    if (json_array_size(steps) >= AGENT_STEPS_MIN)
        return steps;
    json_decref(steps);
    return NULL;
}

static enum agent_tool tool_of(struct str name)
{
    static const struct {
        const char *name;
        enum agent_tool tool;
    } names[] = {
        {"search_docs", AGENT_SEARCH}, {"open_citation", AGENT_OPEN}, {"final", AGENT_FINAL},
        {"answer", AGENT_FINAL},       {"finish", AGENT_FINAL},       {"none", AGENT_FINAL},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (str_eq_nocase(name, str_of(names[i].name)))
            return names[i].tool;
    return AGENT_OTHER;
}

bool model_reply_step(struct str reply, struct agent_step *ret_step)
{
    struct agent_step step = {.root = first_object(reply, "tool")};
    step.name = cut(json_member_str(step.root, "tool"), AGENT_STEP_MAX_CHARS);
    if (step.name.n == 0) {
        json_decref(step.root);
        return false;
    }
    step.tool = tool_of(step.name);
    step.notes = cut(json_member_str(step.root, "notes"), AGENT_NOTES_MAX_CHARS);
    step.input = json_object_get(step.root, "input");
    if (step.input == NULL)
        step.input = json_null();
    /* {"input":"leases"} is meant as a query, too. */
    struct str query =
        json_is_string(step.input) ? json_str(step.input) : json_member_str(step.input, "query");
    step.query = cut(query, QUERY_MAX_CHARS);
    if (step.tool == AGENT_SEARCH && !has_word(step.query)) {
        json_decref(step.root);
        return false;
    }
    *ret_step = step;
    return true;
}

void agent_step_fini(struct agent_step *step)
{
    json_decref(step->root);
    *step = (struct agent_step){0};
}

/* --- open_citation ---------------------------------------------------------------------------- */

static bool is_cut_of(struct str given, struct str whole)
{
    return given.n >= ID_LEAST_BYTES && str_has_prefix(whole, given);
}

/* The only one that an id, or the beginning of one, fits. */
static unsigned find_id(struct str given, const struct agent_found *found, unsigned n)
{
    unsigned fits = 0, fit_n = 0;
    for (unsigned i = 0; i < n; i++)
        if (str_eq(given, found[i].chunk_id))
            return i + 1;
    for (unsigned i = 0; i < n; i++)
        if (is_cut_of(given, found[i].chunk_id) || is_cut_of(given, found[i].doc)) {
            fits = i + 1;
            fit_n++;
        }
    return fit_n == 1 ? fits : 0;
}

static unsigned find_place(struct str doc, uint64_t chunk, const struct agent_found *found,
                           unsigned n)
{
    unsigned fits = 0, fit_n = 0;
    for (unsigned i = 0; i < n; i++)
        if (found[i].chunk == chunk && is_cut_of(doc, found[i].doc)) {
            fits = i + 1;
            fit_n++;
        }
    return fit_n == 1 ? fits : 0;
}

unsigned agent_find(const json_t *input, const struct agent_found *found, unsigned n)
{
    static const char *const members[] = {"citation", "chunkId", "chunk_id", "id", "docId", NULL};
    const json_t *index = json_object_get(input, "chunkIndex");
    struct str doc = json_member_str(input, "docId");
    if (json_is_integer(index) && doc.n > 0 && json_integer_value(index) >= 0)
        return find_place(doc, (uint64_t)json_integer_value(index), found, n);
    for (const char *const *member = members; *member != NULL || input != NULL; member++) {
        const json_t *value = *member != NULL ? json_object_get(input, *member) : input;
        uint64_t number = read_number(value);
        if (number >= 1 && number <= n)
            return (unsigned)number;
        unsigned fits = json_is_string(value) ? find_id(str_trim(json_str(value)), found, n) : 0;
        if (fits > 0)
            return fits;
        if (*member == NULL)
            return 0;
    }
    return 0;
}
