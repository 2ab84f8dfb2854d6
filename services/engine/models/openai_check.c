/* SPDX-License-Identifier: MIT
 * openai_check.c - see openai_check.h. */
#include "services/engine/models/openai_check.h"

#include "shared/base/mem.h"

#include <stdio.h>

enum { LIST_MAX_BYTES = 4 << 20, CHECK_MS = 5000, NAMES_MAX_BYTES = 160, NAME_MAX_BYTES = 256 };

struct backend_check {
    struct openai_check_settings settings;
    backend_checked_callback callback;
    void *context;
    struct http_call *call;
};

static const json_t *list_of(const json_t *json)
{
    return json_is_array(json) ? json : json_object_get(json, "data");
}

bool openai_lacks_model(const json_t *json, struct str model)
{
    const json_t *list = list_of(json), *item;
    size_t i, names = 0;
    json_array_foreach(list, i, item)
    {
        struct str id = json_member_str(item, "id");
        if (id.at == NULL)
            continue;
        names++;
        if (str_eq(id, model) || str_eq(json_member_str(item, "owned_by"), STR("llamacpp")))
            return false;
        /* Ollama's names have a tag, which is "latest" where none is given. */
        if (str_has_prefix(id, model) &&
            str_eq((struct str){id.at + model.n, id.n - model.n}, STR(":latest")))
            return false;
        const json_t *alias;
        size_t k;
        json_array_foreach(json_object_get(item, "aliases"), k,
                           alias) if (str_eq(json_str(alias), model)) return false;
    }
    return names > 0;
}

/* The first names of the list, for people. */
static void put_names(struct buf *b, const json_t *json)
{
    const json_t *list = list_of(json), *item;
    size_t i;
    json_array_foreach(list, i, item)
    {
        struct str id = json_member_str(item, "id");
        if (b->n + id.n > NAMES_MAX_BYTES) {
            buf_lit(b, ", ...");
            return;
        }
        buf_put(b, b->n > 0 ? STR(", ") : STR(""));
        buf_put(b, id);
    }
}

/* Takes the names that fit into a comma list. */
static void note_names(struct buf *found, const json_t *json)
{
    const json_t *item;
    size_t i;
    buf_clear(found);
    json_array_foreach(list_of(json), i, item)
    {
        struct str id = str_trim(json_member_str(item, "id"));
        if (id.n == 0 || memchr(id.at, ',', id.n) != NULL || found->n + 1 + id.n >= found->max)
            continue;
        if (found->n > 0)
            buf_put_char(found, ',');
        buf_put(found, id);
    }
    buf_terminate(found);
}

static void end(struct backend_check *check, const struct backend_checked *checked)
{
    backend_checked_callback callback = check->callback;
    void *context = check->context;
    free(check);
    callback(context, checked);
}

static bool find_missing(const struct backend_check *check, const json_t *json, char *ret_name)
{
    struct str lists[] = {str_of(check->settings.model), str_of(check->settings.models)};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        while (lists[i].at != NULL) {
            struct str name = str_trim(str_cut(&lists[i], ','));
            if (name.n == 0 || name.n >= NAME_MAX_BYTES || !openai_lacks_model(json, name))
                continue;
            memcpy(ret_name, name.at, name.n);
            ret_name[name.n] = 0;
            return true;
        }
    return false;
}

static void read_list(struct backend_check *check, struct str body)
{
    char why[160], name[NAME_MAX_BYTES], reason[NAMES_MAX_BYTES + 64];
    struct backend_checked checked = {.health = BACKEND_GOOD, .reason = ""};
    json_t *json;
    if (!json_parse(body, why, sizeof why, &json))
        json = NULL; /* something else is on that path: not for us to judge */
    if (json != NULL && check->settings.found != NULL)
        note_names(check->settings.found, json);
    if (json != NULL && find_missing(check, json, name)) {
        struct buf names;
        buf_init(&names, 2 * NAMES_MAX_BYTES);
        put_names(&names, json);
        snprintf(reason, sizeof reason, "it has %.*s", STR_ARG(buf_str(&names)));
        buf_fini(&names);
        checked =
            (struct backend_checked){.health = BACKEND_NO_MODEL, .reason = reason, .model = name};
    }
    json_decref(json);
    end(check, &checked);
}

static enum backend_health judge(int status)
{
    if (status == 401 || status == 403)
        return BACKEND_NO_KEY;
    if (status == 429 || status == 503)
        return BACKEND_BUSY;
    return status >= 500 && status != 501 ? BACKEND_AWAY : BACKEND_GOOD;
}

static void on_done(void *context, const struct http_response *response)
{
    struct backend_check *check = context;
    char reason[80];
    struct backend_checked checked = {.health = BACKEND_AWAY,
                                      .reason = response->reason,
                                      .retry_after_s = response->retry_after_s};
    if (response->outcome == HTTP_TOO_LARGE) {
        checked.health = BACKEND_GOOD;
    } else if (response->outcome == HTTP_ANSWERED) {
        if (response->status >= 200 && response->status <= 299) {
            read_list(check, response->body);
            return;
        }
        snprintf(reason, sizeof reason, "status %d", response->status);
        checked.health = judge(response->status);
        checked.reason = reason;
    }
    end(check, &checked);
}

struct backend_check *openai_check_start(const struct openai_check_settings *settings,
                                         backend_checked_callback callback, void *context)
{
    static const struct http_events events = {.on_done = on_done};
    struct backend_check *check = mem_alloc(sizeof *check);
    *check =
        (struct backend_check){.settings = *settings, .callback = callback, .context = context};
    struct http_request request = {.timeout_ms = CHECK_MS, .body_max_bytes = LIST_MAX_BYTES};
    check->call = http_endpoint_get(settings->endpoint, settings->client, &request, &events, check);
    return check;
}

void openai_check_cancel(struct backend_check *check)
{
    http_call_cancel(check->call);
    free(check);
}
