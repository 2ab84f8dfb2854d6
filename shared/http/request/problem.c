/* SPDX-License-Identifier: MIT
 * problem.c - see problem.h. */
#include "shared/http/request/problem.h"

static const char content_type[] = "application/problem+json";

void problem_put_facts(struct buf *b, const struct problem *problem)
{
    buf_printf(b, "\"status\":%d,\"detail\":", problem->status);
    buf_put_json(b, str_of(problem->detail));
    buf_printf(b, ",\"code\":\"%s\",\"instance\":", problem->info->code);
    buf_put_json(b, problem->instance);
    if (problem->members != NULL)
        buf_printf(b, ",%s", problem->members);
}

void problem_put_members(struct buf *b, const struct problem *problem)
{
    buf_printf(b, "{\"type\":\"about:blank\",\"title\":\"%s\",", err_reason(problem->status));
    problem_put_facts(b, problem);
}

const char *problem_put(struct buf *b, const struct problem *problem)
{
    problem_put_members(b, problem);
    buf_put_char(b, '}');
    return content_type;
}

const char *problem_write(struct buf *b, problem_writer *writer, const struct problem *problem)
{
    const char *type = (writer == NULL ? problem_put : writer)(b, problem);
    if (!b->is_over)
        return type;
    buf_clear(b);
    return problem_put(b,
                       &(struct problem){problem->info, problem->status, "", NULL, STR(""), NULL});
}
