/* SPDX-License-Identifier: MIT
 * models.c - GET /v1/models and /v1/models/{id}: the models that engines have named for one of the
 * doors' Apis within the last hour (lua/queue/models.lua), and those of the node's services
 * (own_models.h). Anthropic's clients get their own form (messages/models.h). */
#include "services/openai/messages/models.h"

#include "generated/verbs.h"
#include "services/openai/own_models.h"
#include "shared/ask/reply.h"
#include "shared/base/clock.h"
#include "shared/http/request/explain.h"

enum { LIST_MAX_BYTES = 1 << 20 };

/* `created` is when an engine last named it: nobody knows more. `apis` is not OpenAI's. */
static void put_rest(struct buf *b, uint64_t age_ms, const struct str *apis, unsigned api_n)
{
    buf_lit(b, ",\"object\":\"model\",\"created\":");
    buf_put_u64(b, (clock_wall_ms() - age_ms) / 1000);
    buf_lit(b, ",\"owned_by\":\"parley\",\"apis\":[");
    for (unsigned i = 0; i < api_n; i++) {
        if (i > 0)
            buf_put_char(b, ',');
        buf_put_json(b, apis[i]);
    }
    buf_lit(b, "]}");
}

static void put_model(struct buf *b, const struct known_model *model)
{
    buf_lit(b, "{\"id\":");
    buf_put_json_of_name(b, model->name);
    put_rest(b, model->age_ms, model->apis, model->api_n);
}

/* One of a service is always there. */
static void put_own(struct buf *b, struct str id, uint64_t age_ms)
{
    buf_lit(b, "{\"id\":");
    buf_put_json(b, id);
    put_rest(b, age_ms, &STR("chat"), 1);
}

/* An engine in front of another cluster may name that one's. */
static bool is_hidden(struct request *r, struct str name)
{
    struct buf *plain = &r->server->scratch;
    struct str engine_model;
    buf_clear(plain);
    return buf_put_unnamed(plain, name) &&
           own_models_find(r, buf_str(plain), &engine_model) != NULL;
}

static void on_listed(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct known_model model;
    struct buf b;
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    if (message_models_are_asked(r)) {
        message_models_list(r, &lines);
        return;
    }
    buf_init(&b, LIST_MAX_BYTES);
    buf_lit(&b, "{\"object\":\"list\",\"data\":[");
    size_t start = b.n;
    for (const struct own_model *own = NULL; (own = own_models_next(r, own)) != NULL;) {
        if (b.n > start)
            buf_put_char(&b, ',');
        put_own(&b, own->name, 0);
    }
    while (known_models_next(&lines, &model)) {
        if (is_hidden(r, model.name))
            continue;
        if (b.n > start)
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
    struct known_model model;
    struct str id = id_of_path(r), engine_model;
    struct buf b;
    uint64_t age_ms = 0;
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    const struct own_model *own = own_models_find(r, id, &engine_model);
    bool is_known = own == NULL ? known_models_find(&lines, id, &model)
                                : engine_model.at == NULL ||
                                      known_models_find_chat(reply, engine_model, &age_ms);
    bool is_anthropic = message_models_are_asked(r);
    if (!is_known || (is_anthropic && (own != NULL || !message_models_show(r, &model)))) {
        explain_unknown(r);
        return;
    }
    if (is_anthropic)
        return;
    buf_init(&b, LIST_MAX_BYTES);
    if (own == NULL)
        put_model(&b, &model);
    else
        put_own(&b, id, age_ms);
    respond_json(r, 200, &b);
    buf_fini(&b);
}

void openai_show_model(struct request *r)
{
    call_models(request_call(r, on_looked_up));
}

const char *openai_put_models_problem(struct buf *b, const struct problem *problem)
{
    bool is_anthropic = problem->request != NULL && message_models_are_asked(problem->request);
    return (is_anthropic ? openai_put_message_problem : openai_put_problem)(b, problem);
}
