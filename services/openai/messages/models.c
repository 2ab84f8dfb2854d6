/* SPDX-License-Identifier: MIT
 * models.c - see models.h. */
#include "services/openai/messages/models.h"

#include "services/openai/own_models.h"
#include "shared/base/clock.h"
#include "shared/http/request/explain.h"

enum { PAGE_USUAL = 20, PAGE_MOST = 1000, PAGE_MAX_BYTES = 1 << 20 };

/* Some of the models, counted from 0 in the order of the reply. */
struct page {
    size_t from, to; /* up to, but without */
    bool has_more;   /* in the direction in which its client turns pages */
};

bool message_models_are_asked(struct request *r)
{
    return request_header(r, "anthropic-version").at != NULL;
}

/* A service's own models, which hide engines' of the same names, answer chat completions only. */
static bool next_model(struct request *r, struct lines *lines, struct known_model *model)
{
    struct buf *plain = &r->server->scratch;
    struct str engine_model;
    while (known_models_next(lines, model)) {
        buf_clear(plain);
        if (model->message_age_ms != UINT64_MAX && buf_put_unnamed(plain, model->name) &&
            own_models_find(r, buf_str(plain), &engine_model) == NULL)
            return true;
    }
    return false;
}

/* `created_at` is when an engine last named it: nobody knows more. */
static void put_model(struct buf *b, const struct known_model *model)
{
    buf_lit(b, "{\"type\":\"model\",\"id\":");
    buf_put_json_of_name(b, model->name);
    buf_put_key(b, "display_name");
    buf_put_json_of_name(b, model->name);
    buf_put_key(b, "created_at");
    buf_put_char(b, '"');
    buf_put_timestamp(b, (clock_wall_ms() - model->message_age_ms) / 1000);
    buf_lit(b, "Z\"}");
}

static void put_id(struct buf *b, const char *key, struct str name)
{
    buf_put_key(b, key);
    if (name.at == NULL)
        buf_lit(b, "null");
    else
        buf_put_json_of_name(b, name);
}

/* Returns the place of the model that a parameter names. Answers 400 and returns false if it is in
 * no list. `ret_n`: how many there are. */
static bool find_place(struct request *r, const struct lines *models, struct str id,
                       size_t *ret_place, size_t *ret_n)
{
    struct lines lines = *models;
    struct known_model model;
    struct buf name;
    bool is_found = false;
    size_t n = 0;
    buf_init(&name, 3 * id.n + 1);
    buf_put_name(&name, id);
    for (; next_model(r, &lines, &model); n++) {
        if (id.at == NULL || !str_eq(model.name, buf_str(&name)))
            continue;
        *ret_place = n;
        is_found = true;
    }
    buf_fini(&name);
    *ret_n = n;
    if (id.at != NULL && !is_found)
        explain(r, ERR_BAD_REQUEST,
                "There is no model %s from which a page could begin: leave out `after_id` and "
                "`before_id`.",
                explain_quoted(r, id));
    return id.at == NULL || is_found;
}

static bool read_page(struct request *r, const struct lines *models, struct page *ret_page)
{
    struct str after = request_param(r, "after_id"), before = request_param(r, "before_id");
    uint64_t limit;
    size_t at = 0, n = 0;
    if (after.at != NULL && before.at != NULL) {
        explain(r, ERR_BAD_REQUEST, "A page has `after_id` or `before_id`, not both.");
        return false;
    }
    if (!request_param_u64(r, "limit", 1, PAGE_MOST, PAGE_USUAL, &limit) ||
        !find_place(r, models, after.at != NULL ? after : before, &at, &n))
        return false;
    if (before.at != NULL) {
        size_t from = at > limit ? at - limit : 0;
        *ret_page = (struct page){.from = from, .to = at, .has_more = from > 0};
    } else {
        size_t from = after.at == NULL ? 0 : at + 1, to = n - from > limit ? from + limit : n;
        *ret_page = (struct page){.from = from, .to = to, .has_more = to < n};
    }
    return true;
}

void message_models_list(struct request *r, const struct lines *models)
{
    struct lines lines = *models;
    struct known_model model;
    struct str first = {NULL, 0}, last = {NULL, 0};
    struct page page;
    struct buf b;
    respond_header(r, "request-id", r->id);
    if (!read_page(r, models, &page))
        return;
    buf_init(&b, PAGE_MAX_BYTES);
    buf_lit(&b, "{\"data\":[");
    for (size_t i = 0; i < page.to && next_model(r, &lines, &model); i++) {
        if (i < page.from)
            continue;
        if (i > page.from)
            buf_put_char(&b, ',');
        else
            first = model.name;
        put_model(&b, &model);
        last = model.name;
    }
    buf_printf(&b, "],\"has_more\":%s", page.has_more ? "true" : "false");
    put_id(&b, "first_id", first);
    put_id(&b, "last_id", last);
    buf_put_char(&b, '}');
    respond_json(r, 200, &b);
    buf_fini(&b);
}

bool message_models_show(struct request *r, const struct known_model *model)
{
    struct buf b;
    respond_header(r, "request-id", r->id);
    if (model->message_age_ms == UINT64_MAX)
        return false;
    buf_init(&b, PAGE_MAX_BYTES);
    put_model(&b, model);
    respond_json(r, 200, &b);
    buf_fini(&b);
    return true;
}
