/* SPDX-License-Identifier: MIT
 * outcome.c - writes outcomes as check-query and similar routes show them. */
#include "services/broker/broker.h"

#include "shared/base/json.h"

#include <string.h>

static void put_or_null(struct buf *b, struct str json, bool nothing_is_empty_list)
{
    buf_put(b, json.n > 0 ? json : nothing_is_empty_list ? STR("[]") : STR("null"));
}

void outcome_put_facts(struct buf *b, const struct outcome *o)
{
    if (o->facts.n == 0)
        return;
    buf_put_char(b, ',');
    buf_put(b, o->facts);
}

/* Returns whether it says which model answered. */
static bool has_model(const struct outcome *o)
{
    return o->model.n > 0 && !str_eq(o->model, STR("null"));
}

/* By a model other than the one that was asked for. */
static bool is_served_otherwise(const struct outcome *o)
{
    return has_model(o) && !str_eq(o->model, o->row.model) &&
           !str_eq(o->row.model, STR("\"default\""));
}

bool modifiers_replaces(struct str modifiers, uint64_t *ret_seq)
{
    static const char NAME[] = "\"Replaces\":";
    char reason[128];
    json_t *tree = NULL;
    *ret_seq = 0;
    if (memmem(modifiers.at, modifiers.n, NAME, sizeof NAME - 1) == NULL ||
        !json_parse(modifiers, reason, sizeof reason, &tree))
        return true;
    const json_t *seq = json_object_get(tree, "Replaces");
    bool is_good = seq == NULL || json_is_null(seq) ||
                   (json_is_integer(seq) && json_integer_value(seq) >= 1 &&
                    json_integer_value(seq) <= INT32_MAX);
    if (is_good && json_is_integer(seq))
        *ret_seq = (uint64_t)json_integer_value(seq);
    json_decref(tree);
    return is_good;
}

static void put_replaces(struct buf *b, const struct outcome *o)
{
    uint64_t seq;
    if (!modifiers_replaces(o->row.modifiers, &seq) || seq == 0)
        return;
    buf_put_key(b, "Replaces");
    buf_put_u64(b, seq);
}

void outcome_put(struct buf *b, struct request *r, struct str topic, uint64_t seq,
                 const struct outcome *o, bool is_detail, bool nothing_is_empty_list)
{
    bool has_ended_badly = o->reason.n > 0;
    buf_lit(b, "\"Query\":");
    buf_put(b, o->row.query);
    buf_put_key(b, "Topic");
    names_put_topic(b, r, topic);
    buf_put_key(b, "Seq");
    buf_put_u64(b, seq);
    buf_put_key(b, "Answer");
    put_or_null(b, o->answer, nothing_is_empty_list);
    buf_put_key(b, "Think");
    put_or_null(b, o->think, nothing_is_empty_list);
    if (is_detail || has_ended_badly) {
        buf_put_key(b, "Status");
        buf_put_char(b, '"');
        buf_put(b, o->status);
        buf_put_char(b, '"');
    }
    if (has_ended_badly) {
        buf_put_key(b, "Reason");
        buf_put(b, o->reason);
    }
    if (is_detail || (r->account->is_deployed && o->answer.n > 0)) {
        buf_put_key(b, "Model");
        buf_put(b, has_model(o) ? o->model : o->row.model);
    }
    if (is_detail && is_served_otherwise(o)) {
        buf_put_key(b, "AskedModel");
        buf_put(b, o->row.model);
    }
    if (is_detail) {
        buf_put_key(b, "Timestamp");
        buf_put_json_time(b, o->row.created_ms);
        put_replaces(b, o);
        outcome_put_facts(b, o);
    }
}
