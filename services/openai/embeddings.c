/* SPDX-License-Identifier: MIT
 * embeddings.c - POST /v1/embeddings. */
#include "services/openai/input.h"

#include "shared/http/request/explain.h"

enum { DIMENSIONS_MAX = 1 << 16 };

/* `float` where nothing is asked for, as OpenAI has it; its SDKs ask for base64. */
static bool read_format(struct request *r, bool *ret_is_base64)
{
    const struct json_span *format = request_member(r, "encoding_format");
    *ret_is_base64 = format != NULL && str_eq(format->raw, STR("base64"));
    return format == NULL || *ret_is_base64 || str_eq(format->raw, STR("float")) ||
           explain_member(r, "encoding_format", "`float` or `base64`");
}

void openai_embed(struct request *r)
{
    struct job_settings settings = {.api = OPENAI_EMBEDDINGS};
    int64_t dimensions;
    if (!request_body(r) || !input_read(r, &settings))
        return;
    const struct json_span *input = request_member(r, "input");
    bool is_text = input != NULL && input->kind == JSON_SPAN_TEXT && input->raw.n > 0;
    if (!is_text && !input_list(r, "input"))
        return;
    if (!read_format(r, &settings.wants_base64) ||
        (request_member(r, "dimensions") != NULL &&
         !request_number(r, "dimensions", 1, DIMENSIONS_MAX, &dimensions)))
        return;
    settings.is_stream = false;
    settings.title = input_title_of(r, input);
    job_start(r, &settings);
}
