/* SPDX-License-Identifier: MIT
 * references.c - see references.h. */
#include "services/openai/responses/references.h"

#include "services/openai/openai.h"
#include "services/openai/responses/kept.h"
#include "shared/http/request/explain.h"

enum {
    RESPONSES_MAX = 256,  /* that a request may refer to */
    BYTES_MAX = 16 << 20, /* of these, with their requests */
};

/* In the request's pool. */
struct item_list {
    struct json_span *at;
    size_t n;
};

/* Where an item is. */
struct item_place {
    struct str response; /* its id, in the request's pool */
    uint64_t at;
    bool is_input; /* it is one of its input_items (items.c), not of its output */
};

/* A response that is referred to. */
struct referred {
    struct str name; /* its id */
    struct str item; /* the id of the first item that was asked for */
    struct completion_id id;
    struct item_list output, input; /* once it was read */
};

struct references {
    struct on_behalf person;
    references_cb *on_resolved;
    void *state; /* of the request, before */
    struct referred all[RESPONSES_MAX];
    size_t n, read_n, bytes;
};

/* --- finding ---------------------------------------------------------------------------------- */

/* Returns the id that the item names, or NULL if it is no reference. Clients may leave out the
 * type. */
static const struct json_span *reference_in(const struct json_span *item, struct members *members)
{
    if (item->kind != JSON_SPAN_OBJECT || !members_read(members, item->raw))
        return NULL;
    const struct json_span *type = members_get(members, "type"), *id = members_get(members, "id");
    bool is_bare = type == NULL && members->n <= 2 && members_get(members, "role") == NULL;
    if (is_bare)
        return id;
    bool is_named =
        type != NULL && type->kind == JSON_SPAN_TEXT && str_eq(type->raw, STR("item_reference"));
    return is_named ? id != NULL ? id : type : NULL;
}

static struct str input_of(struct request *r)
{
    const struct json_span *input = request_member(r, "input");
    return input == NULL ? STR("") : json_list_inside(input);
}

bool references_are_there(struct request *r)
{
    struct members members;
    struct json_span item;
    for (struct str rest = input_of(r); json_next_item(&rest, &item);)
        if (reference_in(&item, &members) != NULL)
            return true;
    return false;
}

/* Reads `<kind>_<id of the response>_<index>`, or `resp_<id>-<index>`; false: it is neither. */
static bool read_id(struct request *r, struct str text, struct item_place *ret_place)
{
    struct buf *scratch = &r->server->scratch;
    bool is_input = str_has_prefix(text, STR(RESPONSE_PREFIX));
    struct str middle = text;
    (void)str_cut(&middle, '_');
    size_t n = middle.at == NULL ? 0 : middle.n;
    while (n > 0 && middle.at[n - 1] != (is_input ? '-' : '_'))
        n--;
    if (n < 2)
        return false;
    buf_clear(scratch);
    buf_lit(scratch, RESPONSE_PREFIX);
    buf_put(scratch, (struct str){middle.at, n - 1});
    ret_place->response = request_copy(r, buf_str(scratch));
    ret_place->is_input = is_input;
    return str_parse_u64((struct str){middle.at + n, middle.n - n}, &ret_place->at);
}

static bool refuse_missing(struct request *r, struct str item)
{
    return explain_missing(r, "item of a response that is kept", item, NULL);
}

static struct referred *find(struct references *refs, struct str name)
{
    for (size_t i = 0; i < refs->n; i++)
        if (str_eq(refs->all[i].name, name))
            return &refs->all[i];
    return NULL;
}

/* Notes the response that an item is in. */
static bool note(struct request *r, struct references *refs, const struct json_span *id, size_t i)
{
    char member[48];
    struct item_place place;
    snprintf(member, sizeof member, "input[%zu].id", i);
    if (id->kind != JSON_SPAN_TEXT || str_eq(id->raw, STR("item_reference")))
        return explain_member(r, member, "the id of an item");
    if (!read_id(r, id->raw, &place))
        return refuse_missing(r, id->raw);
    if (find(refs, place.response) != NULL)
        return true;
    if (refs->n == RESPONSES_MAX)
        return explain_member(r, "input", "of items of at most 256 responses");
    struct referred *new = &refs->all[refs->n];
    *new = (struct referred){.name = place.response, .item = request_copy(r, id->raw)};
    if (!completion_id_read(r, RESPONSE_PREFIX, new->name, &new->id))
        return refuse_missing(r, new->item);
    refs->n++;
    return true;
}

/* --- putting ---------------------------------------------------------------------------------- */

static bool put_items(struct request *r, struct references *refs, struct buf *b)
{
    struct members members;
    struct json_span item;
    struct item_place place;
    buf_put_char(b, '[');
    size_t start = b->n;
    for (struct str rest = input_of(r); json_next_item(&rest, &item);) {
        const struct json_span *id = reference_in(&item, &members);
        if (b->n > start)
            buf_put_char(b, ',');
        if (id == NULL) {
            members_put_span(b, &item);
            continue;
        }
        const struct referred *of = read_id(r, id->raw, &place) ? find(refs, place.response) : NULL;
        const struct item_list *list = of == NULL       ? NULL
                                       : place.is_input ? &of->input
                                                        : &of->output;
        if (list == NULL || place.at >= list->n)
            return refuse_missing(r, id->raw);
        members_put_span(b, &list->at[place.at]);
    }
    buf_put_char(b, ']');
    return true;
}

/* The last member of a name counts, so the input may come last. */
static bool put_body(struct request *r, struct references *refs, struct buf *b)
{
    buf_put_char(b, '{');
    for (size_t i = 0; i < r->member_n; i++) {
        const struct json_member *member = &r->members[i];
        if (str_eq(member->name.raw, STR("input")))
            continue;
        buf_put_char(b, '"');
        buf_put(b, member->name.raw);
        buf_lit(b, "\":");
        members_put_span(b, &member->value);
        buf_put_char(b, ',');
    }
    buf_lit(b, "\"input\":");
    if (!put_items(r, refs, b))
        return false;
    buf_put_char(b, '}');
    if (!b->is_over)
        return true;
    explain(r, ERR_TOO_LARGE,
            "With the items that it refers to, this request has more than %d bytes.",
            OPENAI_BODY_BYTES);
    return false;
}

static void finish(struct request *r, struct references *refs)
{
    struct buf b;
    struct str body;
    buf_init(&b, OPENAI_BODY_BYTES);
    bool is_good = put_body(r, refs, &b);
    if (is_good)
        body = request_copy(r, buf_str(&b));
    buf_fini(&b);
    r->state = refs->state;
    if (is_good)
        refs->on_resolved(r, body);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void on_shown(struct request *r, enum err error, struct str reply);

static void read_next(struct request *r, struct references *refs)
{
    if (refs->read_n == refs->n)
        finish(r, refs);
    else
        kept_show(r, &refs->person, &refs->all[refs->read_n].id, RESPONSE_SHOW_ANSWER, on_shown);
}

static struct item_list split(struct request *r, struct str inside)
{
    struct item_list list = {.n = 0};
    struct json_span item;
    for (struct str rest = inside; json_next_item(&rest, &item);)
        list.n++;
    list.at = request_alloc(r, (list.n + 1) * sizeof *list.at);
    size_t i = 0;
    for (struct str rest = inside; json_next_item(&rest, &item);)
        list.at[i++] = item;
    return list;
}

/* A text is one item. */
static struct item_list input_items(struct request *r, const struct kept *kept)
{
    const struct json_span *list = kept_member(kept, "input", JSON_SPAN_LIST),
                           *text = kept_member(kept, "input", JSON_SPAN_TEXT);
    struct item_list one = {.n = 0};
    struct buf b;
    if (text == NULL)
        return split(r, list == NULL ? STR("") : json_list_inside(list));
    buf_init(&b, BYTES_MAX);
    buf_lit(&b, "{\"type\":\"message\",\"role\":\"user\",\"content\":");
    members_put_span(&b, text);
    buf_put_char(&b, '}');
    one = split(r, request_copy(r, buf_str(&b)));
    buf_fini(&b);
    return one;
}

static void on_shown(struct request *r, enum err error, struct str reply)
{
    struct references *refs = r->state;
    struct referred *of = &refs->all[refs->read_n];
    struct lines lines = lines_of(reply);
    struct kept kept;
    if (error == ERR_OK && str_eq(lines_next(&lines), STR("missing"))) {
        (void)!refuse_missing(r, of->item);
        return;
    }
    if (!kept_read(r, error, reply, of->name, &kept))
        return;
    refs->bytes += kept.deltas.n + kept.text.n;
    if (!str_eq(kept.outcome.status, STR("Done"))) {
        (void)!explain_member(r, "input", "of items of responses that are completed");
    } else if (refs->bytes > BYTES_MAX) {
        explain(r, ERR_TOO_LARGE,
                "The responses that this request refers to have more than %d bytes.", BYTES_MAX);
    } else {
        struct str id = {of->name.at + strlen(RESPONSE_PREFIX),
                         of->name.n - strlen(RESPONSE_PREFIX)};
        of->output = split(r, kept_items(r, &kept, id));
        of->input = input_items(r, &kept);
        refs->read_n++;
        read_next(r, refs);
    }
}

void references_resolve(struct request *r, const struct on_behalf *person,
                        references_cb *on_resolved)
{
    struct references *refs = request_alloc(r, sizeof *refs);
    struct members members;
    struct json_span item;
    size_t i = 0;
    *refs = (struct references){.person = *person, .on_resolved = on_resolved, .state = r->state};
    for (struct str rest = input_of(r); json_next_item(&rest, &item); i++) {
        const struct json_span *id = reference_in(&item, &members);
        if (id != NULL && !note(r, refs, id, i))
            return;
    }
    r->state = refs;
    read_next(r, refs);
}
