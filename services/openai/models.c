/* SPDX-License-Identifier: MIT
 * models.c - GET /v1/models and /v1/models/{id}: the models that engines have named for one of the
 * doors' Apis within the last hour (lua/queue/models.lua). One that is served by several Apis is
 * one model. */
#include "services/openai/openai.h"

#include "generated/verbs.h"
#include "shared/ask/reply.h"
#include "shared/base/clock.h"
#include "shared/http/request/explain.h"

enum { LIST_MAX_BYTES = 1 << 20 };

/* A model as the verb lists it; its lines of several Apis follow each other. */
struct model {
    struct str name; /* a name (buf_put_name) */
    uint64_t age_ms; /* since an engine was last there for it */
};

/* Reads the next model. Returns false if there is none. */
static bool next_model(struct lines *lines, struct model *ret_model)
{
    struct model model = {.name = lines_next(lines)};
    if (model.name.n == 0)
        return false;
    (void)lines_next(lines); /* the api */
    model.age_ms = lines_next_u64(lines);
    for (struct lines ahead = *lines; str_eq(lines_next(&ahead), model.name); *lines = ahead) {
        (void)lines_next(&ahead);
        uint64_t age_ms = lines_next_u64(&ahead);
        model.age_ms = age_ms < model.age_ms ? age_ms : model.age_ms;
    }
    *ret_model = model;
    return true;
}

/* `created` is when an engine last named it: nobody knows more. */
static void put_model(struct buf *b, const struct model *model)
{
    buf_lit(b, "{\"id\":");
    buf_put_json_of_name(b, model->name);
    buf_lit(b, ",\"object\":\"model\",\"created\":");
    buf_put_u64(b, (clock_wall_ms() - model->age_ms) / 1000);
    buf_lit(b, ",\"owned_by\":\"parley\"}");
}

static void on_listed(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct model model;
    struct buf b;
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    buf_init(&b, LIST_MAX_BYTES);
    buf_lit(&b, "{\"object\":\"list\",\"data\":[");
    for (bool is_first = true; next_model(&lines, &model); is_first = false) {
        if (!is_first)
            buf_put_char(&b, ',');
        put_model(&b, &model);
    }
    buf_lit(&b, "]}");
    respond_json(r, 200, &b);
    buf_fini(&b);
}

void openai_list_models(struct request *r)
{
    call_models(request_call(r, on_listed));
}

/* The id in the path, decoded: what follows the folder of all models. Clients send the slash of an
 * id as it is, or escaped, and some add one at the end. start.c has checked the escapes. */
static struct str id_of_path(struct request *r)
{
    struct str folder = STR("/models/"), id = r->path;
    while (!str_has_prefix(id, folder))
        id = (struct str){id.at + 1, id.n - 1};
    id = (struct str){id.at + folder.n, id.n - folder.n};
    if (id.at[id.n - 1] == '/')
        id.n--;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    if (!buf_put_url_decoded(b, id, false))
        buf_clear(b);
    return request_copy(r, buf_str(b));
}

static void explain_unknown(struct request *r)
{
    explain(r, ERR_NO_MODEL,
            "No engine has named the model %s within the last hour: GET /v1/models lists those "
            "that one has.",
            explain_quoted(r, id_of_path(r)));
}

static void on_looked_up(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct model model;
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    struct str id = id_of_path(r);
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_put_name(b, id);
    struct str wanted = request_copy(r, buf_str(b));
    while (next_model(&lines, &model)) {
        if (!str_eq(model.name, wanted))
            continue;
        buf_clear(b);
        put_model(b, &model);
        respond_json(r, 200, b);
        return;
    }
    explain_unknown(r);
}

void openai_show_model(struct request *r)
{
    call_models(request_call(r, on_looked_up));
}
