/* SPDX-License-Identifier: MIT
 * completions.c - POST /v1/completions. */
#include "services/openai/input.h"

#include "shared/http/request/explain.h"

void openai_complete(struct request *r)
{
    struct job_settings settings = {.api = OPENAI_COMPLETIONS};
    if (!request_body(r) || !input_read(r, &settings))
        return;
    const struct json_span *prompt = request_member(r, "prompt");
    if (prompt == NULL || (prompt->kind != JSON_SPAN_TEXT && prompt->kind != JSON_SPAN_LIST)) {
        explain_member(r, "prompt", "a string, or a list of strings or of tokens");
        return;
    }
    settings.title = input_title_of(r, prompt);
    job_start(r, &settings);
}
