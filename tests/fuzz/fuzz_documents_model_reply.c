/* SPDX-License-Identifier: MIT
 * fuzz_documents_model_reply.c - any reply of a model: a ranking stays a permutation, a plan within
 * its bounds, and nothing is opened that was not found. */
#include "services/documents/ask/model_reply.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct agent_found found[] = {
        {STR("0123456789abcdef01234567"), STR("0123456789abcdef01234567:0"), 0},
        {STR("0123456789abcdef01234568"), STR("0123456789abcdef01234568:3"), 3},
    };
    struct str reply = {(const char *)data, size};
    struct agent_step step;
    struct buf query;
    unsigned order[20];
    bool seen[20] = {false};
    buf_init(&query, 65536);
    if (model_reply_rewrite(reply, &query))
        require(query.n > 0 && memchr(query.at, '\n', query.n) == NULL);
    (void)!model_reply_ranking(reply, order, 20);
    for (unsigned i = 0; i < 20; i++) {
        require(order[i] < 20 && !seen[order[i]]);
        seen[order[i]] = true;
    }
    json_t *steps = model_reply_plan(reply);
    require(steps == NULL || (json_array_size(steps) >= AGENT_STEPS_MIN &&
                              json_array_size(steps) <= AGENT_STEPS_MAX));
    json_decref(steps);
    if (model_reply_step(reply, &step)) {
        require(step.tool != AGENT_SEARCH || step.query.n > 0);
        require(agent_find(step.input, found, 2) <= 2);
        agent_step_fini(&step);
    }
    buf_fini(&query);
    return 0;
}
