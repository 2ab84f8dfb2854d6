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

bool params_models(struct request *r, struct str *ret_models)
{
    struct str given = request_param(r, "Models");
    *ret_models = STR("*");
    if (given.at == NULL || str_trim(given).n == 0)
        return true;
    if (given.n > MODELS_MAX_BYTES / 2) {
        explain(r, ERR_BAD_REQUEST, "Models must be at most 256 bytes, not %zu.", given.n);
        return false;
    }
    struct buf list;
    buf_init(&list, MODELS_MAX_BYTES * 2);
    while (given.at != NULL) {
        struct str name = str_trim(str_cut(&given, ','));
        if (name.n == 0)
            continue;
        if (list.n > 0)
            buf_put_char(&list, ',');
        buf_put_name(&list, name);
    }
    *ret_models = request_copy(r, buf_str(&list));
    buf_fini(&list);
    if (ret_models->n > MODELS_MAX_BYTES) {
        respond_error(r, ERR_BAD_REQUEST,
                      "Models must be at most 512 bytes when everything except letters, digits, "
                      "'-', '_' and '.' is written as %XX.");
        return false;
    }
    return true;
}
