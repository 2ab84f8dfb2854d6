/* SPDX-License-Identifier: MIT
 * claim.c - see claim.h. */
#include "services/engine/slots/claim.h"

#include "shared/base/mem.h"
#include "shared/base/sm.h"
#include "shared/base/trace.h"

static const struct sm_state states[] = {
    [QUERY_OPEN] = {"OPEN", SM(QUERY_ANSWERED) | SM(QUERY_GONE) | SM(QUERY_REFUSED)},
    [QUERY_ANSWERED] = {"ANSWERED", 0},
    [QUERY_GONE] = {"GONE", 0},
    [QUERY_REFUSED] = {"REFUSED", 0},
};
static const struct sm sm = SM_OF("query of a claim", states);

enum { LEASE_DEFAULT_S = 150, LEASE_MAX_S = 86400 };

/* One element of Queries: {"<seq>": "<text>"}, or, in the deployed dialect, an array that begins
 * with the text. */
static bool read_query(struct claim *claim, const json_t *item, const json_t *details)
{
    void *at = json_object_iter((json_t *)item);
    if (at == NULL)
        return false;
    const char *key = json_object_iter_key(at);
    const json_t *value = json_object_iter_value(at);
    struct claim_query query = {.details = json_object_get(details, key)};
    claim->is_of_door |= json_member_str(query.details, "Api").n > 0;
    query.text = json_str(json_is_array(value) ? json_array_get(value, 0) : value);
    if (query.text.at == NULL || !str_parse_u64(str_of(key), &query.seq))
        return false;
    struct str id = json_member_str(query.details, "RequestId");
    if (trace_is_request_id(id))
        query.request_id = id;
    claim->queries[claim->query_n++] = query;
    return true;
}

static int compare_queries(const void *a, const void *b)
{
    const struct claim_query *x = a, *y = b;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

bool claim_read(struct claim *claim, const json_t *json)
{
    const json_t *queries = json_object_get(json, "Queries");
    struct str topic = json_member_str(json, "Topic");
    *claim = (struct claim){0};
    if (json_is_object(json) && topic.at == NULL && !json_is_array(queries))
        return true;
    size_t n = json_array_size(queries);
    if (topic.at == NULL || n == 0)
        return false;
    claim->root = json_incref((json_t *)json);
    claim->topic = topic;
    claim->lease = json_object_get(json, "Lease");
    const json_t *lease_s = json_object_get(json, "LeaseSeconds");
    claim->lease_s = LEASE_DEFAULT_S;
    if (json_is_number(lease_s) && json_number_value(lease_s) >= 1 &&
        json_number_value(lease_s) <= LEASE_MAX_S)
        claim->lease_s = (uint64_t)json_number_value(lease_s);
    const json_t *history = json_object_get(json, "History");
    claim->history = json_is_array(history) ? json_copy((json_t *)history) : json_array();
    claim->queries = mem_zeroed_n(n, sizeof *claim->queries);
    if (claim->history == NULL)
        abort();
    for (size_t i = 0; i < n; i++)
        if (!read_query(claim, json_array_get(queries, i), json_object_get(json, "Details"))) {
            claim_fini(claim);
            return false;
        }
    qsort(claim->queries, claim->query_n, sizeof *claim->queries, compare_queries);
    return true;
}

void claim_fini(struct claim *claim)
{
    json_decref(claim->root);
    json_decref(claim->history);
    free(claim->queries);
    *claim = (struct claim){0};
}

struct claim_query *claim_find(struct claim *claim, uint64_t seq)
{
    for (size_t i = 0; i < claim->query_n; i++)
        if (claim->queries[i].seq == seq)
            return &claim->queries[i];
    return NULL;
}

struct claim_query *claim_next(const struct claim *claim)
{
    for (size_t i = 0; i < claim->query_n; i++)
        if (claim->queries[i].state == QUERY_OPEN)
            return &claim->queries[i];
    return NULL;
}

bool claim_has_open_after(const struct claim *claim, const struct claim_query *query)
{
    while (++query < claim->queries + claim->query_n)
        if (query->state == QUERY_OPEN)
            return true;
    return false;
}

void claim_end_query(struct claim_query *query, enum query_state state)
{
    query->state = sm_move(&sm, query->seq, query->state, state);
}

void claim_note_answer(struct claim *claim, const struct claim_query *query, struct str answer)
{
    json_t *entry =
        json_pack("{s:I, s:s%, s:[s%]}", "Seq", (json_int_t)query->seq, "Query", query->text.at,
                  query->text.n, "Answer", answer.at == NULL ? "" : answer.at, answer.n);
    if (entry == NULL || json_array_append_new(claim->history, entry) != 0)
        abort();
}

struct log_field claim_log_id(const struct claim_query *query)
{
    if (query->request_id.at == NULL)
        return (struct log_field){.name = NULL};
    return LOG_STR("id", query->request_id);
}

struct log_field claim_log_ids(const struct claim *claim, char ids[CLAIM_IDS_BYTES])
{
    size_t n = 0;
    for (size_t i = 0; i < claim->query_n; i++) {
        struct str id = claim->queries[i].request_id;
        if (id.at == NULL || n + 1 + id.n > CLAIM_IDS_BYTES)
            continue;
        if (n > 0)
            ids[n++] = ' ';
        memcpy(ids + n, id.at, id.n);
        n += id.n;
    }
    if (n == 0)
        return (struct log_field){.name = NULL};
    return LOG_STR("id", ((struct str){ids, n}));
}

struct str claim_request_id(const struct claim *claim)
{
    return claim->query_n == 1 ? claim->queries[0].request_id : (struct str){NULL, 0};
}

/* The JSON string after `key`, from `from` on; its end in *ret_after. NULL when there is none. */
static json_t *find_text(struct str text, const char *key, struct str *ret_after)
{
    char reason[160];
    const char *at = memmem(text.at, text.n, key, strlen(key));
    json_t *value;
    if (at == NULL)
        return NULL;
    const char *start = at + strlen(key), *last = text.at + text.n, *end = start + 1;
    if (start == last || *start != '"')
        return NULL;
    while (end < last && *end != '"')
        end += *end == '\\' ? 2 : 1;
    if (end >= last ||
        !json_parse((struct str){start, (size_t)(end + 1 - start)}, reason, sizeof reason, &value))
        return NULL;
    *ret_after = (struct str){end + 1, (size_t)(last - end - 1)};
    return value;
}

bool claim_rescue(struct claim *claim, struct str text, bool is_next)
{
    struct str rest = text;
    json_t *topic = find_text(rest, is_next ? ",\"Next\":{\"Topic\":" : "{\"Topic\":", &rest);
    /* Questions are before it as strings, in which a quote is escaped: the first one is the
     * claim's. */
    json_t *lease = topic == NULL ? NULL : find_text(rest, ",\"Lease\":", &rest);
    if (lease == NULL) {
        json_decref(topic);
        return false;
    }
    *claim = (struct claim){.root = json_pack("{s:o, s:o}", "Topic", topic, "Lease", lease),
                            .lease_s = LEASE_DEFAULT_S};
    if (claim->root == NULL)
        abort();
    claim->topic = json_member_str(claim->root, "Topic");
    claim->lease = json_object_get(claim->root, "Lease");
    return true;
}
