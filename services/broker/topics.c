/* SPDX-License-Identifier: MIT
 * topics.c - what users do with whole topics: read, list, rename, delete, cancel a query. */
#include "services/broker/handlers.h"

enum { DESCRIPTION_MAX_BYTES = 1024, REASON_MAX_BYTES = 1024 };

static void on_thread(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (store_refuse(r, error, lines_next(&lines), &lines))
        return;
    struct str topic = *(struct str *)r->state;
    bool is_detail = request_param_is_true(r, "Detail");
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    for (char before = '['; lines_are_left(&lines); before = ',') {
        uint64_t seq = lines_next_u64(&lines);
        struct outcome o = lines_next_outcome(&lines);
        buf_put_char(b, before);
        buf_put_char(b, '{');
        store_put_outcome(b, r, topic, seq, &o, is_detail, r->account->is_deployed);
        buf_put_char(b, '}');
    }
    buf_put_char(b, ']');
    if (b->is_over)
        respond_error(r, ERR_INTERNAL, "The topic is too large to be shown in one answer.");
    else
        respond_json(r, 200, buf_str(b));
}

void broker_get_topic_thread(struct request *r)
{
    struct str *topic = request_alloc(r, sizeof *topic);
    if (!store_topic_param(r, topic))
        return;
    r->state = topic;
    struct turn *turn = request_begin_verb(r, LANE_READ, STR("thread"), on_thread);
    turn_put(turn, *topic);
    turn_put(turn, store_viewer(r));
    turn_put(turn, STR(""));
    turn_end(turn);
}

static void on_user_topics(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (store_refuse(r, error, lines_next(&lines), &lines))
        return;
    if (!lines_are_left(&lines) && !r->account->is_deployed) {
        respond_error(r, ERR_NOT_FOUND, "This user has no topics.");
        return;
    }
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_put_char(b, '{');
    for (bool is_first = true; lines_are_left(&lines); is_first = false) {
        if (!is_first)
            buf_put_char(b, ',');
        store_put_topic(b, r, lines_next(&lines));
        buf_put_char(b, ':');
        buf_put(b, lines_next(&lines));
    }
    buf_put_char(b, '}');
    respond_json(r, 200, buf_str(b));
}

void broker_user_topics(struct request *r)
{
    struct str user;
    if (!store_on_behalf_of(r, request_param(r, "OnBehalfOf"), &user))
        return;
    struct turn *turn = request_begin_verb(r, LANE_READ, STR("user_topics"), on_user_topics);
    turn_put(turn, user);
    turn_end(turn);
}

static void on_ok(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (!store_refuse(r, error, lines_next(&lines), &lines))
        respond_json(r, 200, STR("{\"status\":\"OK\"}"));
}

/* What may stand in the query string or in a JSON body: clients of these two routes do both. */
static bool read_either(struct request *r, const char *name, struct str *ret_text)
{
    *ret_text = request_param(r, name);
    if (ret_text->at == NULL && r->h2o->entity.len > 0) {
        if (!request_body(r))
            return false;
        *ret_text = request_member_text(r, name);
    }
    return true;
}

static bool read_user_and_topic(struct request *r, struct str *ret_user, struct str *ret_topic)
{
    struct str given;
    if (!read_either(r, "OnBehalfOf", &given) || !store_on_behalf_of(r, given, ret_user))
        return false;
    bool is_in_query = request_param_plus(r, "Topic").at != NULL || r->members == NULL;
    return is_in_query ? store_topic_param(r, ret_topic) : store_topic_member(r, ret_topic);
}

void broker_delete_topic(struct request *r)
{
    struct str user, topic;
    if (!read_user_and_topic(r, &user, &topic))
        return;
    struct turn *turn = request_begin_verb(r, LANE_FIRST, STR("delete"), on_ok);
    turn_put(turn, user);
    turn_put(turn, topic);
    turn_end(turn);
}

void broker_rename_topic(struct request *r)
{
    struct str user, topic, description;
    if (!read_user_and_topic(r, &user, &topic) || !read_either(r, "Description", &description))
        return;
    if (description.n < 1 || description.n > DESCRIPTION_MAX_BYTES) {
        respond_error(r, ERR_BAD_REQUEST, "Description must be 1 to 1024 bytes.");
        return;
    }
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_put_json(b, description);
    struct turn *turn = request_begin_verb(r, LANE_FIRST, STR("rename"), on_ok);
    turn_put(turn, user);
    turn_put(turn, topic);
    turn_put(turn, buf_str(b));
    turn_end(turn);
}

static void on_cancelled(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (!store_refuse(r, error, lines_next(&lines), &lines))
        respond_json(r, 200, STR("{\"Status\":\"Cancelled\"}"));
}

void broker_cancel_query(struct request *r)
{
    struct str topic, reason;
    uint64_t seq;
    if (!request_body(r) || !store_topic_member(r, &topic) || !store_seq_member(r, 1, &seq) ||
        !request_optional_text(r, "Reason", REASON_MAX_BYTES, &reason))
        return;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_put_json(b, reason.n > 0 ? reason : STR("Cancelled by its user."));
    struct turn *turn = request_begin_verb(r, LANE_FIRST, STR("cancel"), on_cancelled);
    turn_put(turn, topic);
    turn_put_u64(turn, seq);
    turn_put(turn, store_viewer(r));
    turn_put(turn, buf_str(b));
    turn_end(turn);
}
