/* SPDX-License-Identifier: MIT
 * depth.c - GET /api/depth: how much waits, for dashboards and for whatever scales engines. Each
 * node answers for the whole cluster. */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/gather.h"
#include "shared/queue/depth.h"

static void put_seconds(struct buf *b, const char *key, uint64_t ms)
{
    buf_printf(b, ",\"%s\":%llu.%03llu", key, (unsigned long long)ms / 1000,
               (unsigned long long)ms % 1000);
}

static void put_engines(struct buf *b, const struct depth *depth)
{
    buf_lit(b, ",\"Engines\":{");
    for (unsigned i = 0; i < ENGINE_NR; i++)
        buf_printf(b, "%s\"%s\":%llu", i == 0 ? "" : ",", engine_state_names[i],
                   (unsigned long long)depth->engines[i]);
    buf_put_char(b, '}');
}

static void put_model(struct buf *b, const struct depth_model *model)
{
    buf_lit(b, "{\"Model\":");
    buf_put_json_of_name(b, model->name);
    buf_printf(b, ",\"Depth\":%llu", (unsigned long long)model->depth);
    put_seconds(b, "OldestSeconds", model->oldest_ms);
    buf_put_char(b, '}');
}

/* With Model=NAME the numbers are of that model: a scaler reads one member, by its path. */
static void put_depth(struct buf *b, const struct depth *depth, struct str only)
{
    struct depth_model all = {.depth = depth->depth, .oldest_ms = depth->oldest_ms};
    bool is_first = true;
    if (only.n > 0)
        all = (struct depth_model){.depth = 0};
    for (size_t i = 0; i < depth->model_n && only.n > 0; i++)
        if (str_eq(depth->models[i].name, only))
            all = depth->models[i];
    buf_clear(b);
    buf_printf(b, "{\"Depth\":%llu", (unsigned long long)all.depth);
    put_seconds(b, "OldestSeconds", all.oldest_ms);
    buf_printf(b, ",\"InFlight\":%llu,\"OpenLookups\":%llu,\"ParkedPolls\":%llu",
               (unsigned long long)depth->in_flight, (unsigned long long)depth->lookups,
               (unsigned long long)depth->parked);
    put_engines(b, depth);
    buf_lit(b, ",\"Models\":[");
    for (size_t i = 0; i < depth->model_n; i++) {
        if (only.n > 0 && !str_eq(depth->models[i].name, only))
            continue;
        buf_put(b, is_first ? STR("") : STR(","));
        put_model(b, &depth->models[i]);
        is_first = false;
    }
    buf_put_char(b, ']');
}

static void on_depth(struct request *r, enum err error, const struct gather *all)
{
    struct lines none = lines_of(STR(""));
    const struct str *only = r->state;
    struct buf *b = &r->server->scratch;
    struct depth depth;
    if (reply_refuse(r, error, STR("ok"), &none))
        return;
    depth_init(&depth);
    for (unsigned i = 0; i < all->n; i++)
        if (!gather_is_missing(all, i) &&
            !depth_add(&depth, all->replies[i], queue_drained(broker_of(r)->queue)))
            error = ERR_INTERNAL;
    if (error == ERR_OK) {
        put_depth(b, &depth, *only);
        gather_put_missing(b, all->missing);
        buf_put_char(b, '}');
        respond_json(r, 200, b);
    } else {
        respond_error(r, error, NULL);
    }
    depth_fini(&depth);
}

void broker_depth(struct request *r)
{
    struct str model = request_param(r, "Model"), *only = request_alloc(r, sizeof *only);
    if (model.at != NULL && (model.n == 0 || model.n > MODEL_MAX_BYTES || !str_is_utf8(model))) {
        (void)explain_param(r, "Model", "the name of a model, 1 to 128 bytes");
        return;
    }
    *only = model.n == 0 ? STR("") : names_of(r, model);
    r->state = only;
    struct gather *all = gather_begin_partial(r, on_depth);
    for (unsigned i = 0; i < all->n; i++)
        call_depth(gather_call(r, i));
}
