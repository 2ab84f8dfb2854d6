/* SPDX-License-Identifier: MIT
 * names.c - maps users and topics between requests and Redis (ADR 36). */
#include "services/broker/broker.h"

#include "shared/http/request/explain.h"

#include "shared/http/access/gate.h"

struct str names_of(struct request *r, struct str s)
{
    return on_behalf_name(r, STR(""), s);
}

static bool split_namespace(struct request *r, struct str text, struct str *ret_namespace,
                            struct str *ret_plain)
{
    return accounts_split_namespace(gate_accounts(r->server->gate), text, ret_namespace, ret_plain);
}

struct str names_viewer(struct request *r)
{
    return r->account->role == ROLE_USER ? r->account->user_token : STR("");
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
static bool check_topic(struct request *r, struct str topic, explain_cb *explain_topic,
                        struct str *ret_name)
{
    const struct account *account = r->account;
    bool sees_all = account->role == ROLE_ENGINE || account->role == ROLE_OPERATOR;
    struct str namespace = {NULL, 0}, plain = topic;
    bool is_of_namespace =
        account->namespace.n == 0 && split_namespace(r, topic, &namespace, &plain);
    if (!is_topic(plain))
        return explain_topic(r, "Topic", "1 to 128 bytes without white space");
    if (is_of_namespace && !sees_all) {
        explain(r, ERR_BAD_REQUEST,
                "Topic must not begin with '%.*s~', because that is another namespace: choose "
                "another name.",
                STR_ARG(namespace));
        return false;
    }
    *ret_name = on_behalf_name(r, is_of_namespace ? namespace : account->namespace, plain);
    r->about.topic = *ret_name;
    return true;
}

void names_put_topic(struct buf *b, struct request *r, struct str topic)
{
    buf_put_json_of_name(b, r->account->namespace.n > 0 ? lines_name_within(topic) : topic);
}

bool names_topic_param(struct request *r, struct str *ret_name)
{
    return check_topic(r, request_param_plus(r, "Topic"), explain_param, ret_name);
}

bool names_topic_member(struct request *r, struct str *ret_name)
{
    return check_topic(r, request_member_text(r, "Topic"), explain_member, ret_name);
}

bool names_topic_either(struct request *r, struct str *ret_name)
{
    if (request_param_plus(r, "Topic").at != NULL || request_entity(r).n == 0)
        return names_topic_param(r, ret_name);
    return request_body(r) && names_topic_member(r, ret_name);
}
