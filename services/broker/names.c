/* SPDX-License-Identifier: MIT
 * names.c - maps users and topics between requests and Redis (ADR 36). */
#include "services/broker/broker.h"

#include "shared/ask/topic_name.h"

struct str names_of(struct request *r, struct str s)
{
    return on_behalf_name(r, STR(""), s);
}

struct str names_viewer(struct request *r)
{
    return r->account->role == ROLE_USER ? r->account->user_token : STR("");
}

void names_put_topic(struct buf *b, struct request *r, struct str topic)
{
    buf_put_json_of_name(b, r->account->namespace.n > 0 ? lines_name_within(topic) : topic);
}

bool names_topic_param(struct request *r, struct str *ret_name)
{
    return topic_name(r, request_param_plus(r, "Topic"), explain_param, "Topic", ret_name);
}

bool names_topic_member(struct request *r, struct str *ret_name)
{
    return topic_name(r, request_member_text(r, "Topic"), explain_member, "Topic", ret_name);
}

bool names_topic_either(struct request *r, struct str *ret_name)
{
    if (request_param_plus(r, "Topic").at != NULL || request_entity(r).n == 0)
        return names_topic_param(r, ret_name);
    return request_body(r) && names_topic_member(r, ret_name);
}
