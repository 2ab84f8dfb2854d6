/* SPDX-License-Identifier: MIT
 * lookup_polls.c - engines that wait for fragments to look up, and what they found (lua/lookup).
 * Polls are parked here: a wake goes to each node that may have one, and lets one of its polls
 * look; with more than one claimable each claim lets the next poll look. */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
enum { MATCHES_MAX = 100, MATCHES_MAX_BYTES = 1 << 20 /* as lua/lookup/match.lua takes them */ };

struct lookup_poll {
    struct lookup_poll *previous, *next; /* of the broker, while it is parked */
    struct request *r;
    struct deadline deadline;
    struct left_listener left;
    bool is_parked, is_waiting;
};

static void unpark(struct lookup_poll *poll)
{
    struct broker *broker = broker_of(poll->r);
    if (!poll->is_parked)
        return;
    *(poll->previous == NULL ? &broker->oldest_lookup : &poll->previous->next) = poll->next;
    *(poll->next == NULL ? &broker->newest_lookup : &poll->next->previous) = poll->previous;
    poll->is_parked = false;
}

static void park(struct lookup_poll *poll)
{
    struct broker *broker = broker_of(poll->r);
    struct lookup_poll *newest = broker->newest_lookup;
    poll->next = NULL;
    poll->previous = newest;
    *(newest == NULL ? &broker->oldest_lookup : &newest->next) = poll;
    broker->newest_lookup = poll;
    poll->is_parked = true;
}

static void answer_none(struct lookup_poll *poll)
{
    unpark(poll);
    loop_cancel_deadline(poll->r->server->loop, &poll->deadline);
    respond_error(poll->r, ERR_NOT_FOUND, "There is no lookup to do.");
}

static void on_lookup_claimed(struct request *r, enum err error, struct str reply);

static void ask(struct lookup_poll *poll)
{
    call_claim_lookup(request_call(poll->r, on_lookup_claimed), .is_parking = poll->is_waiting);
}

static void on_lookup_claimed(struct request *r, enum err error, struct str reply)
{
    struct lookup_poll *poll = r->state;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    if (error == ERR_OK && str_eq(tag, STR("parked"))) {
        if (r->server->is_draining || !poll->is_waiting)
            answer_none(poll);
        else
            park(poll);
        return;
    }
    if (error == ERR_OK && str_eq(tag, STR("empty"))) {
        answer_none(poll);
        return;
    }
    loop_cancel_deadline(r->server->loop, &poll->deadline);
    if (reply_refuse(r, error, tag, &lines))
        return;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    struct str print = lines_next(&lines);
    buf_lit(b, "{\"Fragment\":");
    buf_put(b, lines_next(&lines));
    buf_printf(b, ",\"Fingerprint\":\"%.*s\",\"Count\":", STR_ARG(print));
    buf_put(b, lines_next(&lines));
    buf_put_key(b, "Threshold");
    buf_put(b, lines_next(&lines));
    buf_put_char(b, '}');
    struct broker *broker = broker_of(r);
    respond_json(r, 200, b);
    lookups_on_wake(broker); /* there may be more */
}

static void on_poll_deadline(struct deadline *deadline)
{
    struct lookup_poll *poll = H2O_STRUCT_FROM_MEMBER(struct lookup_poll, deadline, deadline);
    if (poll->is_parked)
        answer_none(poll);
    else
        poll->is_waiting = false; /* its look is under way and is the last one */
}

static void on_poll_left(struct left_listener *listener)
{
    struct lookup_poll *poll = H2O_STRUCT_FROM_MEMBER(struct lookup_poll, left, listener);
    loop_cancel_deadline(poll->r->server->loop, &poll->deadline);
    on_poll_deadline(&poll->deadline);
}

static void on_poll_gone(struct request *r)
{
    struct lookup_poll *poll = r->state;
    unpark(poll);
    loop_cancel_deadline(r->server->loop, &poll->deadline);
}

void broker_get_new_lookup(struct request *r)
{
    uint64_t wait_s;
    if (!params_wait(r, WAIT_FOR_LOOKUP, &wait_s))
        return;
    struct lookup_poll *poll = request_alloc(r, sizeof *poll);
    *poll = (struct lookup_poll){.r = r,
                                 .deadline = {.on_expire = on_poll_deadline},
                                 .left = {.on_left = on_poll_left},
                                 .is_waiting = wait_s > 0 && !r->server->is_draining};
    r->state = poll;
    r->on_gone = on_poll_gone;
    r->was_parked = poll->is_waiting;
    if (poll->is_waiting) {
        loop_set_deadline(r->server->loop, &poll->deadline, wait_s * 1000);
        request_on_left(r, &poll->left);
    }
    ask(poll);
}

void lookups_on_wake(struct broker *broker)
{
    struct lookup_poll *poll;
    while ((poll = broker->oldest_lookup) != NULL) {
        unpark(poll);
        if (!request_client_left(poll->r)) {
            ask(poll);
            return;
        }
        poll->r->h2o->http1_is_persistent = 0;
        answer_none(poll);
    }
}

void lookups_drain(struct broker *broker)
{
    while (broker->oldest_lookup != NULL)
        answer_none(broker->oldest_lookup);
}

static void on_matched(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (!reply_refuse(r, error, lines_next(&lines), &lines))
        respond_json_fixed(r, 200, STR("{\"status\":\"OK\"}"));
}

void broker_give_new_matches(struct request *r)
{
    struct str print;
    if (!request_body(r) || !request_text(r, "Fingerprint", 1, 40, &print))
        return;
    const struct json_span *matches = request_member(r, "Matches");
    bool is_good = matches != NULL && matches->kind == JSON_SPAN_LIST;
    struct json_span item;
    size_t n = 0;
    for (struct str rest = json_list_inside(matches); json_next_item(&rest, &item); n++)
        is_good = is_good && item.kind == JSON_SPAN_TEXT && n < MATCHES_MAX;
    if (!is_good) {
        respond_error(r, ERR_BAD_REQUEST, "Matches must be an array of at most 100 strings.");
        return;
    }
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_put_span(b, matches);
    if (b->is_over || b->n > MATCHES_MAX_BYTES) {
        respond_error(r, ERR_TOO_LARGE, "Matches are larger than 1 MiB as JSON.");
        return;
    }
    struct str name = names_of(r, print);
    call_match(request_call(r, on_matched), .fingerprint = name, .matches = buf_str(b));
}
