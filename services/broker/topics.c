/* SPDX-License-Identifier: MIT
 * topics.c - users' actions on topics: rename, delete, cancel a query. Reading topics is in
 * topic_pages.c. */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/http/request/explain.h"

enum { DESCRIPTION_MAX_BYTES = 1024, REASON_MAX_BYTES = 1024 };

static void on_ok(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (!reply_refuse(r, error, lines_next(&lines), &lines))
        respond_json_fixed(r, 200, STR("{\"status\":\"OK\"}"));
}

/* Reads a text from the query string or from a JSON body: clients of these two routes do both. */
static bool read_either(struct request *r, const char *name, struct str *ret_text)
{
    *ret_text = request_param(r, name);
    if (ret_text->at == NULL && request_entity(r).n > 0) {
        if (!request_body(r))
            return false;
        *ret_text = request_member_text(r, name);
    }
    return true;
}

static bool read_user_and_topic(struct request *r, struct str *ret_user, struct str *ret_topic)
{
    struct str given;
    struct on_behalf person;
    if (!read_either(r, "OnBehalfOf", &given) || !on_behalf_of(r, given, &person))
        return false;
    *ret_user = person.user_name;
    return names_topic_either(r, ret_topic);
}

struct deletion {
    struct str user, topic;
};

static void delete_step(struct request *r, struct str step);

/* A topic with very many rows is deleted in several steps. A client that leaves in between finds
 * what is left of it, and deletes that. */
static void on_deleted(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    if (error == ERR_OK && str_eq(tag, STR("more")))
        delete_step(r, lines_next(&lines));
    else if (!reply_refuse(r, error, tag, &lines))
        respond_json_fixed(r, 200, STR("{\"status\":\"OK\"}"));
}

static void delete_step(struct request *r, struct str step)
{
    const struct deletion *deletion = r->state;
    call_delete(request_call(r, on_deleted), .user = deletion->user, .topic = deletion->topic,
                .step = step);
}

void broker_delete_topic(struct request *r)
{
    struct deletion *deletion = request_alloc(r, sizeof *deletion);
    if (!read_user_and_topic(r, &deletion->user, &deletion->topic))
        return;
    r->state = deletion;
    delete_step(r, STR(""));
}

void broker_rename_topic(struct request *r)
{
    struct str user, topic, description;
    if (!read_user_and_topic(r, &user, &topic) || !read_either(r, "Description", &description))
        return;
    if (description.n < 1 || description.n > DESCRIPTION_MAX_BYTES) {
        (void)explain_either(r, "Description", "a string of 1 to 1024 bytes");
        return;
    }
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_put_json(b, description);
    call_rename(request_call(r, on_ok), .user = user, .topic = topic, .name = buf_str(b));
}

static void on_cancelled(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    if (str_eq(lines_next(&lines), STR("ended")))
        metrics_add(r->server->metrics, METRIC_LEASES_CANCELLED, 1);
    respond_json_fixed(r, 200, STR("{\"Status\":\"Cancelled\"}"));
}

void broker_cancel_query(struct request *r)
{
    struct str topic, reason;
    uint64_t seq;
    if (!request_body(r) || !names_topic_member(r, &topic) || !params_seq(r, 1, &seq) ||
        !request_optional_text(r, "Reason", REASON_MAX_BYTES, &reason))
        return;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_put_json(b, reason.n > 0 ? reason : STR("Cancelled by its user."));
    call_cancel(request_call(r, on_cancelled), .topic = topic, .seq = seq, .user = names_viewer(r),
                .reason = buf_str(b));
}
