/* SPDX-License-Identifier: MIT
 * store.c - what the broker's handlers share: names, refusals, and outcomes as JSON. */
#include "services/broker/broker.h"

#include <stdio.h>

enum { TOKEN_NAME_MAX = 1024, ETA_DEFAULT_S = 5, RETRY_MAX_S = 300 };

/* The name of the user or topic `plain` of that namespace; callers hold it to 128 bytes. */
static struct str name_in(struct request *r, struct str namespace, struct str plain)
{
    char bytes[TOKEN_NAME_MAX];
    struct buf name = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    namespace_put_name(&name, namespace, plain);
    return request_copy(r, buf_str(&name));
}

struct str store_name(struct request *r, struct str s)
{
    return name_in(r, STR(""), s);
}

static bool split_namespace(struct request *r, struct str text, struct str *ret_namespace,
                            struct str *ret_plain)
{
    return accounts_split_namespace(gate_accounts(&r->server->gate), text, ret_namespace,
                                    ret_plain);
}

struct str store_viewer(struct request *r)
{
    return r->account->role == ROLE_USER ? r->account->user_token : STR("");
}

struct str store_any_user(struct request *r, struct str text)
{
    struct str namespace, plain;
    return split_namespace(r, text, &namespace, &plain) ? name_in(r, namespace, plain)
                                                        : store_name(r, text);
}

/* waiting/<depth>/<eta>, full/<depth>/<eta>: how much waits, and when to try again. */
static void refuse_full(struct request *r, enum err error, struct lines *rest)
{
    char members[96];
    uint64_t depth = lines_next_u64(rest), eta_s = 0;
    bool has_eta = str_parse_u64(lines_next(rest), &eta_s);
    if (has_eta)
        snprintf(members, sizeof members, "\"depth\":%llu,\"eta_seconds\":%llu",
                 (unsigned long long)depth, (unsigned long long)eta_s);
    else
        snprintf(members, sizeof members, "\"depth\":%llu,\"eta_seconds\":null",
                 (unsigned long long)depth);
    unsigned retry_s = !has_eta              ? ETA_DEFAULT_S
                       : eta_s > RETRY_MAX_S ? RETRY_MAX_S
                                             : (unsigned)eta_s;
    respond_error_more(r, error, NULL, members, retry_s == 0 ? 1 : retry_s);
}

bool store_refuse(struct request *r, enum err error, struct str tag, struct lines *rest)
{
    static const struct {
        struct str tag;
        enum err error;
    } refusals[] = {
        {STR("missing"), ERR_NOT_FOUND},       {STR("forbidden"), ERR_FORBIDDEN},
        {STR("mismatch"), ERR_QUERY_MISMATCH}, {STR("done"), ERR_ALREADY_DONE},
        {STR("cancelled"), ERR_CANCELLED},     {STR("failed"), ERR_FAILED},
        {STR("lost"), ERR_LEASE_LOST},         {STR("large"), ERR_TOO_LARGE},
        {STR("pending"), ERR_CONFLICT},
    };
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
        return true;
    }
    if (str_eq(tag, STR("waiting")) || str_eq(tag, STR("full"))) {
        refuse_full(r, tag.at[0] == 'w' ? ERR_USER_QUEUE_FULL : ERR_QUEUE_FULL, rest);
        return true;
    }
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if (str_eq(tag, refusals[i].tag)) {
            respond_error(r, refusals[i].error, NULL);
            return true;
        }
    return false;
}

static bool is_topic(struct str topic)
{
    bool is_good = topic.n >= 1 && topic.n <= TOPIC_MAX_BYTES;
    for (size_t i = 0; i < topic.n && is_good; i++)
        is_good = (unsigned char)topic.at[i] > ' ' && topic.at[i] != 0x7f;
    return is_good;
}

/* Engines and operators are in no namespace: they send a topic of one as they got it, with the
 * namespace in front. Nobody else may: such a topic would look the same to an engine. */
static bool check_topic(struct request *r, struct str topic, struct str *ret_name)
{
    const struct account *account = r->account;
    bool sees_all = account->role == ROLE_ENGINE || account->role == ROLE_OPERATOR;
    struct str namespace = {NULL, 0}, plain = topic;
    bool is_of_namespace =
        account->namespace.n == 0 && split_namespace(r, topic, &namespace, &plain);
    if (!is_topic(plain)) {
        respond_error(r, ERR_BAD_REQUEST, "Topic must be 1 to 128 bytes without white space.");
        return false;
    }
    if (is_of_namespace && !sees_all) {
        char detail[160];
        snprintf(detail, sizeof detail,
                 "Topic must not begin with '%.*s~', the name of a namespace of other accounts: "
                 "choose another name.",
                 STR_ARG(namespace));
        respond_error(r, ERR_BAD_REQUEST, detail);
        return false;
    }
    *ret_name = name_in(r, is_of_namespace ? namespace : account->namespace, plain);
    r->about.topic = *ret_name;
    return true;
}

void store_put_topic(struct buf *b, struct request *r, struct str topic)
{
    buf_put_json_of_name(b, r->account->namespace.n > 0 ? lines_name_within(topic) : topic);
}

bool store_topic_param(struct request *r, struct str *ret_name)
{
    return check_topic(r, request_param_plus(r, "Topic"), ret_name);
}

bool store_topic_member(struct request *r, struct str *ret_name)
{
    return check_topic(r, request_member_text(r, "Topic"), ret_name);
}

bool store_seq_member(struct request *r, int64_t min, uint64_t *ret_seq)
{
    int64_t seq;
    if (!request_number(r, "Seq", min, INT32_MAX, &seq))
        return false;
    *ret_seq = r->about.seq = (uint64_t)seq;
    return true;
}

bool store_on_behalf_of(struct request *r, struct str given, struct str *ret_name)
{
    if (r->account->role == ROLE_USER) {
        if (given.at != NULL && !str_eq(given, r->account->name)) {
            respond_error(r, ERR_FORBIDDEN, "An account of role user acts for itself only.");
            return false;
        }
        *ret_name = r->account->user_token;
        return true;
    }
    if (given.n < 1 || given.n > USER_MAX_BYTES) {
        respond_error(r, ERR_BAD_REQUEST, "OnBehalfOf must be 1 to 128 bytes.");
        return false;
    }
    *ret_name = name_in(r, r->account->namespace, given);
    return true;
}

/* The deployed engine has one thread and looks for lookups between two polls; the deployed UI
 * counts three waits of 30 s. */
bool store_wait_param(struct request *r, enum wait_for what, uint64_t *ret_s)
{
    static const unsigned usual_s[2][WAIT_FOR_NR] = {
        {[WAIT_FOR_OUTCOME] = 60, [WAIT_FOR_CLAIM] = 100, [WAIT_FOR_LOOKUP] = 0},
        {[WAIT_FOR_OUTCOME] = 30, [WAIT_FOR_CLAIM] = 20, [WAIT_FOR_LOOKUP] = 0}};
    return request_param_u64(r, "Wait", 0, WAIT_MAX_S, usual_s[r->account->is_deployed][what],
                             ret_s);
}

bool store_models_param(struct request *r, struct str *ret_models)
{
    struct str given = request_param(r, "Models");
    *ret_models = STR("*");
    if (given.at == NULL || str_trim(given).n == 0)
        return true;
    if (given.n > MODELS_MAX_BYTES / 2) {
        respond_error(r, ERR_BAD_REQUEST, "Models must be at most 256 bytes.");
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
        respond_error(r, ERR_BAD_REQUEST, "Models must be at most 256 bytes.");
        return false;
    }
    return true;
}

void store_put_engine_info(struct buf *b, struct str models)
{
    buf_clear(b);
    buf_lit(b, "{\"Models\":\"");
    buf_put(b, models);
    buf_lit(b, "\"}");
}

void store_put_key(struct buf *b, const char *name)
{
    buf_lit(b, ",\"");
    buf_put(b, str_of(name));
    buf_lit(b, "\":");
}

static void put_or_null(struct buf *b, struct str json, bool nothing_is_empty_list)
{
    buf_put(b, json.n > 0 ? json : nothing_is_empty_list ? STR("[]") : STR("null"));
}

void store_put_outcome(struct buf *b, struct request *r, struct str topic, uint64_t seq,
                       const struct outcome *o, bool is_detail, bool nothing_is_empty_list)
{
    bool has_ended_badly = o->reason.n > 0;
    buf_lit(b, "\"Query\":");
    buf_put(b, o->row.query);
    store_put_key(b, "Topic");
    store_put_topic(b, r, topic);
    store_put_key(b, "Seq");
    buf_put_u64(b, seq);
    store_put_key(b, "Answer");
    put_or_null(b, o->answer, nothing_is_empty_list);
    store_put_key(b, "Think");
    put_or_null(b, o->think, nothing_is_empty_list);
    if (is_detail || has_ended_badly) {
        store_put_key(b, "Status");
        buf_put_char(b, '"');
        buf_put(b, o->status);
        buf_put_char(b, '"');
    }
    if (has_ended_badly) {
        store_put_key(b, "Reason");
        buf_put(b, o->reason);
    }
    if (is_detail || (r->account->is_deployed && o->answer.n > 0)) {
        store_put_key(b, "Model");
        buf_put(b, o->model.n > 0 && !str_eq(o->model, STR("null")) ? o->model : o->row.model);
    }
    if (is_detail) {
        store_put_key(b, "Timestamp");
        buf_put_json_ms(b, o->row.created_ms);
    }
}
