/* SPDX-License-Identifier: MIT
 * openai_judge.c - see openai_judge.h. */
#include "services/engine/models/openai_judge.h"

#include "services/engine/models/openai_piece.h"

#include "shared/http/request/error_text.h"
#include "shared/text/chars.h"

static bool is_one_of(int status, const int *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (all[i] == status)
            return true;
    return false;
}

static bool is_about_prompt(struct str body)
{
    char reason[160];
    json_t *json = NULL;
    bool is_it = json_parse(body, reason, sizeof reason, &json) && openai_is_about_prompt(json);
    json_decref(json);
    return is_it;
}

/* Some statuses speak of this engine's settings, not of the prompt: another engine may do better,
 * and this one does when they are put right. Not every server has the routes for texts without
 * messages and for embeddings, and not for every model: that is no reason to rest. */
enum completion_outcome openai_judge(enum api api, int status, struct str body)
{
    static const int of_prompts[] = {400, 413, 415, 422, 451};
    static const int of_routes[] = {404, 405, 501};
    static const int of_settings[] = {401, 402, 403, 404, 405, 407, 408, 429};
    bool is_of_route = is_one_of(status, of_routes, sizeof of_routes / sizeof *of_routes);
    if (is_one_of(status, of_prompts, sizeof of_prompts / sizeof *of_prompts) ||
        is_about_prompt(body) || (is_of_route && api > API_CHAT))
        return COMPLETION_REFUSED;
    if (is_one_of(status, of_settings, sizeof of_settings / sizeof *of_settings) || status < 400 ||
        status >= 500)
        return COMPLETION_AWAY;
    return api == API_NONE ? COMPLETION_RETRY : COMPLETION_REFUSED;
}

bool openai_is_refusing(int status, struct str body, const char *member)
{
    struct buf detail;
    if (status != 400 && status != 422)
        return false;
    buf_init(&detail, SIZE_MAX / 2);
    http_put_error_text(&detail, body);
    bool is_it = detail.n == 0;
    buf_fini(&detail);
    return is_it || memmem(body.at, body.n, member, strlen(member)) != NULL;
}

/* Some servers repeat the key in their 401. */
void openai_put_status(struct buf *b, int status, struct str body)
{
    struct buf detail;
    buf_init(&detail, SIZE_MAX / 2);
    if (status != 401 && status != 403)
        http_put_error_text(&detail, body);
    buf_printf(b, "the model server returned status %d%s%.*s", status, detail.n > 0 ? ": " : "",
               STR_ARG(buf_str(&detail)));
    buf_fini(&detail);
}

static json_t *text_or_null(const json_t *from, const char *name)
{
    enum { MEMBER_MAX_BYTES = 128 };
    struct str text = json_member_str(from, name);
    return text.n == 0 || text.n > MEMBER_MAX_BYTES ? json_null() : json_stringn(text.at, text.n);
}

json_t *openai_make_error(int status, const json_t *json, const char *message)
{
    const json_t *inner = json_object_get(json, "error");
    const json_t *from = json_is_object(inner) ? inner : json;
    struct str text = http_error_message(json);
    if (text.n == 0)
        text = str_of(message);
    text.n =
        text_floor(text, text.n < OPENAI_ERROR_MESSAGE_BYTES ? text.n : OPENAI_ERROR_MESSAGE_BYTES);
    json_t *error = json_pack("{s:i, s:s%, s:o, s:o, s:o}", "status", status, "message", text.at,
                              text.n, "type", text_or_null(from, "type"), "param",
                              text_or_null(from, "param"), "code", text_or_null(from, "code"));
    if (error == NULL)
        abort();
    return error;
}
