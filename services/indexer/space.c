/* SPDX-License-Identifier: MIT
 * space.c - see stages.h: the model and vector storage that a space (an owner, or a collection)
 * already uses. This is an early check to save work; the authoritative one is in job_store, in one
 * atomic step. */
#include "services/indexer/stages.h"

enum { KEY_MAX_BYTES = 1024 };

/* One plain command about a key of the space: empty where there is nothing. */
static enum err ask_space(struct pipeline *p, const char *command, const char *kind,
                          struct str field, struct str *ret_value)
{
    struct buf key;
    buf_init(&key, KEY_MAX_BYTES);
    buf_put(&key, str_of(p->prefix));
    buf_put(&key, str_of(kind));
    buf_put(&key, p->job.facts.space);
    struct str words[] = {str_of(command), buf_str(&key), field};
    enum err error = job_ask(&p->job, words, field.n == 0 ? 2 : 3, ret_value);
    buf_fini(&key);
    return error == ERR_CONFLICT ? ERR_INTERNAL : error;
}

/* Are documents of the space searched, besides this one? */
static enum err has_others(struct pipeline *p, bool *ret_has_others)
{
    struct str value;
    uint64_t n = 0;
    enum err error = ask_space(p, "HLEN", "packs:", STR(""), &value);
    if (error == ERR_OK && !str_parse_u64(value, &n))
        error = ERR_INTERNAL;
    if (error == ERR_OK)
        error = ask_space(p, "HGET", "packs:", p->job.facts.doc, &value);
    *ret_has_others = error == ERR_OK && n > (value.at == NULL ? 0 : 1);
    return error;
}

static enum err knows_vector_sets(struct pipeline *p, bool *ret_knows)
{
    struct str first, words[] = {STR("COMMAND"), STR("INFO"), STR("VADD")};
    enum err error = job_ask(&p->job, words, 3, &first);
    *ret_knows = error == ERR_OK && first.at != NULL;
    return error == ERR_CONFLICT ? ERR_OK : error; /* it may be forbidden: then do without */
}

enum err stage_refuse_model(struct pipeline *p, struct str model, uint64_t dimension)
{
    const char *own = p->settings->embedder->name;
    if (str_eq(model, str_of(own)))
        return stage_refuse(
            p,
            "The documents here have vectors of %llu %s, but the model %s now returns %u: "
            "go back to the former model, or reindex the documents.",
            COUNTED(dimension, "dimension"), own, p->dimension);
    return stage_refuse(p,
                        "The documents here were embedded with the model %.*s, but this indexer "
                        "uses %s: go back to that model, or reindex the documents.",
                        STR_ARG(model), own);
}

/* Where the vectors go: a space keeps the back end of what is searched in it already. */
static enum err choose_vectors(struct pipeline *p, bool is_fixed)
{
    struct str value = STR("");
    bool knows = false;
    enum err error = is_fixed ? ask_space(p, "HGET", "space:", STR("vectors"), &value) : ERR_OK;
    p->is_set = is_fixed ? str_eq(value, STR("set")) : p->settings->space.vectors != VECTORS_EXACT;
    if (error == ERR_OK && p->is_set)
        error = knows_vector_sets(p, &knows);
    if (error != ERR_OK || !p->is_set || knows)
        return error;
    if (is_fixed || p->settings->space.vectors == VECTORS_SET)
        return stage_refuse(p, "The vectors of these documents belong to a vector set, which this "
                               "Redis does not support: use Redis 8.");
    p->is_set = false;
    return ERR_OK;
}

enum err stage_look_at_space(struct pipeline *p)
{
    struct str model = STR("");
    bool is_fixed = false;
    enum err error = has_others(p, &is_fixed);
    if (error == ERR_OK && is_fixed)
        error = ask_space(p, "HGET", "space:", STR("model"), &model);
    if (error != ERR_OK)
        return error;
    bool is_other = model.n > 0 && !str_eq(model, str_of(p->settings->embedder->name));
    if (is_other && !p->job.facts.is_reindex)
        return stage_refuse_model(p, model, 0);
    return choose_vectors(p, is_fixed && !is_other);
}
