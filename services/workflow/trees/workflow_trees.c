/* SPDX-License-Identifier: MIT
 * workflow_trees.c - GET /api/workflows: the trees and the agents, for drawing. */
#include "services/workflow/trees/trees.h"
#include "services/workflow/workflow.h"

#include "shared/http/request/respond.h"

void workflow_trees(struct request *r)
{
    struct trees *trees = trees_file_current(workflow_of(r)->settings->trees);
    struct buf b;
    buf_init(&b, TREES_JSON_MAX_BYTES);
    trees_put_json(&b, trees);
    respond_json(r, 200, &b);
    buf_fini(&b);
    trees_unref(trees);
}
