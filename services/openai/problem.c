/* SPDX-License-Identifier: MIT
 * problem.c - errors as OpenAI's clients read them. `code` is the word of the error table
 * (shared/base/err.h), except where those clients know a word of their own. */
#include "services/openai/openai.h"

static const char content_type[] = "application/json";

static bool is_of(const struct problem *problem, enum err error)
{
    return problem->info == err_info(error);
}

static const char *type_of(const struct problem *problem)
{
    if (is_of(problem, ERR_QUOTA_USED))
        return "insufficient_quota";
    switch (problem->status) {
    case 403: return "permission_error";
    case 429: return "requests";
    default: return problem->status >= 500 ? "server_error" : "invalid_request_error";
    }
}

static const char *code_of(const struct problem *problem)
{
    if (is_of(problem, ERR_TOO_MUCH_STORED) || is_of(problem, ERR_QUOTA_USED))
        return "insufficient_quota";
    switch (problem->status) {
    case 401: return "invalid_api_key";
    case 429: return "rate_limit_exceeded";
    default: return problem->info->code;
    }
}

const char *openai_put_problem(struct buf *b, const struct problem *problem)
{
    buf_lit(b, "{\"error\":{\"message\":");
    buf_put_json(b, str_of(problem->detail));
    buf_printf(b, ",\"type\":\"%s\",\"param\":null,\"code\":\"%s\"}}", type_of(problem),
               code_of(problem));
    return content_type;
}
