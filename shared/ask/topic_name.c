/* SPDX-License-Identifier: MIT
 * topic_name.c - see topic_name.h. */
#include "shared/ask/topic_name.h"

#include "shared/ask/on_behalf.h"
#include "shared/http/access/gate.h"

static bool is_topic(struct str topic)
{
    bool is_good = topic.n >= 1 && topic.n <= TOPIC_MAX_BYTES;
    for (size_t i = 0; i < topic.n && is_good; i++)
        is_good = (unsigned char)topic.at[i] > ' ' && topic.at[i] != 0x7f;
    return is_good;
}

/* Engines and operators are in no namespace: they send a topic of one as they got it, with the
 * namespace in front. Nobody else may: such a topic would look the same to an engine. */
bool topic_name(struct request *r, struct str topic, explain_cb *explain_topic, const char *member,
                struct str *ret_name)
{
    const struct account *account = r->account;
    bool sees_all = account->role == ROLE_ENGINE || account->role == ROLE_OPERATOR;
    struct str namespace = {NULL, 0}, plain = topic;
    bool is_of_namespace =
        account->namespace.n == 0 &&
        accounts_split_namespace(gate_accounts(r->server->gate), topic, &namespace, &plain);
    if (!is_topic(plain))
        return explain_topic(r, member, "1 to 128 bytes without white space");
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
