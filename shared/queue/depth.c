/* SPDX-License-Identifier: MIT
 * depth.c - see depth.h. The models of each shard come sorted, and are kept so. */
#include "shared/queue/depth.h"

#include "shared/base/mem.h"

#include <string.h>

enum { MODELS_AT_FIRST = 16 };

const char *const engine_state_names[ENGINE_NR] = {[ENGINE_WAITING] = "waiting",
                                                   [ENGINE_WORKING] = "working",
                                                   [ENGINE_RESTING] = "resting",
                                                   [ENGINE_DRAINED] = "drained"};

void depth_init(struct depth *depth)
{
    *depth = (struct depth){.depth = 0};
}

void depth_fini(struct depth *depth)
{
    for (size_t i = 0; i < depth->model_n; i++)
        free((char *)depth->models[i].name.at);
    free(depth->models);
    *depth = (struct depth){.depth = 0};
}

static int compare(struct str one, struct str other)
{
    size_t n = one.n < other.n ? one.n : other.n;
    int order = n == 0 ? 0 : memcmp(one.at, other.at, n);
    return order != 0 ? order : (one.n > other.n) - (one.n < other.n);
}

/* Where the model is, or belongs. */
static size_t place_of(const struct depth *depth, struct str name)
{
    size_t low = 0, high = depth->model_n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(depth->models[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct depth_model *model_of(struct depth *depth, struct str name)
{
    size_t at = place_of(depth, name);
    if (at < depth->model_n && str_eq(depth->models[at].name, name))
        return &depth->models[at];
    depth->models = mem_grow(depth->models, depth->model_n, sizeof *depth->models);
    memmove(depth->models + at + 1, depth->models + at,
            (depth->model_n++ - at) * sizeof *depth->models);
    depth->models[at] = (struct depth_model){.name = {str_copy(name), name.n}};
    return &depth->models[at];
}

static void add_oldest(uint64_t *oldest_ms, struct str age)
{
    uint64_t age_ms;
    /* One that has just been added is there, too: it has waited for a moment. */
    if (!str_parse_u64(age, &age_ms))
        return;
    age_ms = age_ms == 0 ? 1 : age_ms;
    *oldest_ms = age_ms > *oldest_ms ? age_ms : *oldest_ms;
}

static void add_engines(struct depth *depth, struct lines *lines, struct str drained)
{
    bool is_drained = str_is_listed(drained, lines_next(lines));
    depth->engines[is_drained ? ENGINE_DRAINED : ENGINE_WAITING] += lines_next_u64(lines);
    depth->engines[ENGINE_WORKING] += lines_next_u64(lines);
    depth->engines[ENGINE_RESTING] += lines_next_u64(lines);
}

bool depth_add(struct depth *depth, struct str reply, struct str drained)
{
    struct lines lines = lines_of(reply);
    if (!str_eq(lines_next(&lines), STR("ok")))
        return false;
    depth->depth += lines_next_u64(&lines);
    depth->in_flight += lines_next_u64(&lines);
    depth->lookups += lines_next_u64(&lines);
    depth->parked += lines_next_u64(&lines);
    add_oldest(&depth->oldest_ms, lines_next(&lines));
    depth->batches += lines_next_u64(&lines);
    depth->batch_lines += lines_next_u64(&lines);
    for (uint64_t n = lines_next_u64(&lines); n > 0 && lines_are_left(&lines); n--)
        add_engines(depth, &lines, drained);
    while (lines_are_left(&lines)) {
        struct depth_model *model = model_of(depth, lines_next(&lines));
        model->depth += lines_next_u64(&lines);
        add_oldest(&model->oldest_ms, lines_next(&lines));
    }
    return true;
}
