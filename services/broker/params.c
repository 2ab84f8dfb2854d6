/* SPDX-License-Identifier: MIT
 * params.c - parameters and members that several routes take. */
#include "services/broker/broker.h"

#include "shared/http/request/explain.h"

bool params_seq(struct request *r, int64_t min, uint64_t *ret_seq)
{
    int64_t seq;
    if (!request_number(r, "Seq", min, INT32_MAX, &seq))
        return false;
    *ret_seq = r->about.seq = (uint64_t)seq;
    return true;
}

/* The deployed engine has one thread and looks for lookups between two polls; the deployed UI
 * counts three waits of 30 s. */
bool params_wait(struct request *r, enum wait_for what, uint64_t *ret_s)
{
    static const unsigned usual_s[2][WAIT_FOR_NR] = {
        {[WAIT_FOR_OUTCOME] = 60, [WAIT_FOR_CLAIM] = 100, [WAIT_FOR_LOOKUP] = 0},
        {[WAIT_FOR_OUTCOME] = 30, [WAIT_FOR_CLAIM] = 20, [WAIT_FOR_LOOKUP] = 0}};
    if (!request_param_u64(r, "Wait", 0, WAIT_MAX_S, usual_s[r->account->is_deployed][what], ret_s))
        return false;
    if (request_is_head(r))
        *ret_s = 0;
    return true;
}

/* Reads a comma-separated list of names into `list`, as names. */
static void put_names(struct buf *list, struct str given)
{
    while (given.at != NULL) {
        struct str name = str_trim(str_cut(&given, ','));
        if (name.n == 0)
            continue;
        if (list->n > 0)
            buf_put_char(list, ',');
        buf_put_name(list, name);
    }
}

static void put_models_of(struct buf *list, struct str api, struct str models)
{
    while (models.at != NULL) {
        buf_put_char(list, ',');
        buf_put(list, api);
        buf_put_char(list, '/');
        buf_put(list, str_cut(&models, ','));
    }
}

/* Puts each of `models` once more for each of the Apis, and for `continues`, which is one to the
 * queue (lua/queue/continuing.lua), if the engine does. Answers 400 and returns false for a word
 * that is none. */
static bool put_models_of_apis(struct request *r, struct buf *list, struct str models)
{
    static const struct str apis[] = {STR("chat"), STR("completions"), STR("embeddings"),
                                      STR("messages")};
    struct str given = request_param(r, "Apis");
    while (given.at != NULL) {
        struct str api = str_trim(str_cut(&given, ','));
        size_t i = 0;
        while (i < sizeof apis / sizeof *apis && !str_eq(apis[i], api))
            i++;
        if (api.n > 0 && i == sizeof apis / sizeof *apis)
            return explain_param(r, "Apis",
                                 "a list of `chat`, `completions`, `embeddings`, `messages`");
        if (api.n > 0)
            put_models_of(list, api, models);
    }
    if (request_param_is_true(r, "Continues") && request_param(r, "Apis").n > 0)
        put_models_of(list, STR("continues"), models);
    return true;
}

/* Puts the list into the request's pool. */
static bool read_models(struct request *r, struct str given, struct buf *list,
                        struct str *ret_models)
{
    put_names(list, given);
    if (list->is_over || list->n > MODELS_MAX_BYTES) {
        respond_error(r, ERR_BAD_REQUEST,
                      "Models must be at most 512 bytes when everything except letters, digits, "
                      "'-', '_' and '.' is written as %XX.");
        return false;
    }
    struct str names = request_copy(r, buf_str(list));
    if (!put_models_of_apis(r, list, names))
        return false;
    if (list->is_over || list->n > MODELS_OF_APIS_MAX_BYTES) {
        respond_error(r, ERR_BAD_REQUEST,
                      "Models and Apis must be fewer: all models, and each of them once more for "
                      "each of the Apis and for Continues, make more than 1,024 bytes.");
        return false;
    }
    *ret_models = request_copy(r, buf_str(list));
    return true;
}

bool params_models(struct request *r, struct str *ret_models)
{
    struct str given = request_param(r, "Models");
    struct buf list;
    if (given.at == NULL || str_trim(given).n == 0) {
        *ret_models = STR("*");
        if (request_param(r, "Apis").n == 0)
            return true;
        respond_error(r, ERR_BAD_REQUEST,
                      "Apis needs Models: clients of these Apis ask for a model by its name.");
        return false;
    }
    if (given.n > MODELS_MAX_BYTES / 2) {
        explain(r, ERR_BAD_REQUEST, "Models must be at most 256 bytes, not %zu.", given.n);
        return false;
    }
    buf_init(&list, 4 * MODELS_OF_APIS_MAX_BYTES);
    bool is_good = read_models(r, given, &list, ret_models);
    buf_fini(&list);
    return is_good;
}
