/* SPDX-License-Identifier: MIT
 * lookups.c - fragments that users ask engines to find matches for, and what users recommend
 * (lua/lookup). Polls for lookups are parked here: one wake from Redis lets one of them look; with
 * more than one claimable each claim lets the next poll look. */
#include "services/broker/handlers.h"

#include <openssl/sha.h>
#include <stdio.h>

enum {
    FRAGMENT_MAX_BYTES = 64 << 10,
    MATCHES_MAX = 100,
    COMMENT_MAX_BYTES = 16 << 10,
    CURSOR_MAX = 44
};

struct lookup_poll {
    struct lookup_poll *previous, *next;
    struct request *r;
    struct deadline deadline;
    bool is_parked, is_waiting;
};

/* The parked polls of this thread, oldest first. */
static _Thread_local struct lookup_poll *oldest, *newest;

/* --- users ------------------------------------------------------------------------------------ */

/* The first 12 hex digits of SHA-1 of the fragment, with or without a newline behind it. */
static void fingerprint(struct str fragment, bool has_newline, char out[13])
{
    unsigned char digest[SHA_DIGEST_LENGTH];
    char hex[SHA_DIGEST_LENGTH * 2 + 1];
    struct buf text;
    buf_init(&text, FRAGMENT_MAX_BYTES + 1);
    buf_put(&text, fragment);
    if (has_newline)
        buf_put_char(&text, '\n');
    SHA1((const unsigned char *)text.at, text.n, digest);
    buf_fini(&text);
    str_hex(digest, sizeof digest, hex);
    memcpy(out, hex, 12);
    out[12] = 0;
}

static void on_lookup_added(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    char print[13];
    if (store_refuse(r, error, lines_next(&lines), &lines))
        return;
    fingerprint(request_member_text(r, "Fragment"), true, print);
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_printf(b, "{\"Fingerprint\":\"%s\",\"Timestamp\":", print);
    buf_put_json_ms(b, lines_next_u64(&lines));
    buf_put_char(b, '}');
    respond_json(r, 200, buf_str(b));
}

void broker_add_lookup(struct request *r)
{
    struct str topic, fragment;
    uint64_t seq;
    int64_t count = 5;
    char print[13], alias[13], threshold_text[32];
    if (!request_body(r) || !store_topic_member(r, &topic) || !store_seq_member(r, 1, &seq) ||
        !request_text(r, "Fragment", 1, FRAGMENT_MAX_BYTES, &fragment) ||
        (request_member(r, "Count") != NULL && !request_number(r, "Count", 1, 100, &count)))
        return;
    const struct json_span *threshold = request_member(r, "Threshold");
    double value = 1.0;
    bool is_number = threshold == NULL || (threshold->kind == JSON_SPAN_NUMBER &&
                                           str_parse_double(threshold->raw, &value));
    if (!is_number || value < 0 || value > 2) {
        respond_error(r, ERR_BAD_REQUEST, "Threshold must be a number from 0 to 2.");
        return;
    }
    snprintf(threshold_text, sizeof threshold_text, "%.6g", value);
    fingerprint(fragment, true, print);
    fingerprint(fragment, false, alias);
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_put_json(b, fragment);
    struct turn *turn = request_begin_verb(r, LANE_ADD, STR("add_lookup"), on_lookup_added);
    turn_put(turn, topic);
    turn_put_u64(turn, seq);
    turn_put(turn, store_viewer(r));
    turn_put(turn, str_of(print));
    turn_put(turn, str_of(alias));
    turn_put(turn, buf_str(b));
    turn_put_u64(turn, (uint64_t)count);
    turn_put(turn, str_of(threshold_text));
    turn_end(turn);
}

static void put_fragments(struct buf *b, struct lines *lines, struct buf *pending, bool *is_first)
{
    struct str print = lines_next(lines), fragment = lines_next(lines), matches = lines_next(lines);
    if (matches.n > 0) {
        buf_put(b, *is_first ? STR("{") : STR(",{"));
        *is_first = false;
        buf_put(b, fragment);
        buf_put_char(b, ':');
        buf_put(b, matches);
        buf_put_char(b, '}');
    } else {
        buf_printf(pending, "%s\"%.*s\"", pending->n > 0 ? "," : "", STR_ARG(print));
    }
}

static void on_lookups(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (store_refuse(r, error, lines_next(&lines), &lines))
        return;
    bool is_detail = request_param_is_true(r, "Detail");
    struct buf *b = &r->server->scratch, pending;
    buf_init(&pending, 1 << 20);
    buf_clear(b);
    buf_lit(b, "{\"Topic\":");
    buf_put_json_of_name(b, *(struct str *)r->state);
    buf_lit(b, ",\"Lookups\":[");
    lines_next(&lines); /* the last Seq */
    for (bool is_first = true; lines_are_left(&lines); is_first = false) {
        struct str seq = lines_next(&lines);
        buf_put(b, is_first ? STR("{\"Query\":") : STR(",{\"Query\":"));
        buf_put(b, lines_next(&lines));
        buf_lit(b, ",\"Fragments\":[");
        bool is_first_fragment = true;
        buf_clear(&pending);
        for (uint64_t n = lines_next_u64(&lines); n > 0 && lines_are_left(&lines); n--)
            put_fragments(b, &lines, &pending, &is_first_fragment);
        buf_put_char(b, ']');
        if (is_detail)
            buf_printf(b, ",\"Seq\":%.*s,\"Pending\":[%.*s]", STR_ARG(seq),
                       STR_ARG(buf_str(&pending)));
        buf_put_char(b, '}');
    }
    buf_lit(b, "]}");
    buf_fini(&pending);
    respond_json(r, 200, buf_str(b));
}

void broker_get_lookups(struct request *r)
{
    struct str *topic = request_alloc(r, sizeof *topic);
    if (request_param_plus(r, "Topic").at == NULL && r->h2o->entity.len > 0) {
        if (!request_body(r) || !store_topic_member(r, topic))
            return;
    } else if (!store_topic_param(r, topic)) {
        return;
    }
    r->state = topic;
    struct turn *turn = request_begin_verb(r, LANE_READ, STR("list_lookups"), on_lookups);
    turn_put(turn, *topic);
    turn_put(turn, store_viewer(r));
    turn_end(turn);
}

static bool is_recommendation_type(struct str type)
{
    static const struct str types[] = {STR("Suggest Improvement"), STR("Promote Answer"),
                                       STR("Make Correction"),     STR("Add Missing Info"),
                                       STR("Clarify Phrasing"),    STR("Flag as Off Topic")};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (str_eq(type, types[i]))
            return true;
    return false;
}

static void on_recommended(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (store_refuse(r, error, lines_next(&lines), &lines))
        return;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"Timestamp\":");
    buf_put_json_ms(b, lines_next_u64(&lines));
    buf_put_char(b, '}');
    respond_json(r, 200, buf_str(b));
}

void broker_recommend(struct request *r)
{
    static const char *const texts[] = {"Query", "Fragment", "Comment"};
    struct str topic, user, user_name, type, text;
    if (!request_body(r) || !store_topic_member(r, &topic) ||
        !request_optional_text(r, "OnBehalfOf", USER_MAX_BYTES, &user) ||
        !store_on_behalf_of(r, user, &user_name) || !request_text(r, "Type", 1, 64, &type))
        return;
    if (!is_recommendation_type(type)) {
        respond_error(r, ERR_BAD_REQUEST,
                      "Type must be one of Suggest Improvement, Promote Answer, Make Correction, "
                      "Add Missing Info, Clarify Phrasing, Flag as Off Topic.");
        return;
    }
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"Topic\":");
    buf_put_span(b, request_member(r, "Topic"));
    store_put_key(b, "OnBehalfOf");
    buf_put_json(b, user.at == NULL ? r->account->name : user);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t max = i == 0 ? QUERY_MAX_BYTES : i == 1 ? FRAGMENT_MAX_BYTES : COMMENT_MAX_BYTES;
        bool is_comment = i == 2;
        if (is_comment ? !request_optional_text(r, texts[i], max, &text)
                       : !request_text(r, texts[i], 0, max, &text))
            return;
        store_put_key(b, texts[i]);
        buf_put_json(b, text);
    }
    store_put_key(b, "Type");
    buf_put_json(b, type);
    buf_put_char(b, '}');
    struct turn *turn = request_begin_verb(r, LANE_ADD, STR("recommend"), on_recommended);
    turn_put(turn, topic);
    turn_put(turn, store_viewer(r));
    turn_put(turn, buf_str(b));
    turn_end(turn);
}

/* --- engines ---------------------------------------------------------------------------------- */

static void unpark(struct lookup_poll *poll)
{
    if (!poll->is_parked)
        return;
    *(poll->previous == NULL ? &oldest : &poll->previous->next) = poll->next;
    *(poll->next == NULL ? &newest : &poll->next->previous) = poll->previous;
    poll->is_parked = false;
}

static void park(struct lookup_poll *poll)
{
    poll->next = NULL;
    poll->previous = newest;
    *(newest == NULL ? &oldest : &newest->next) = poll;
    newest = poll;
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
    struct turn *turn =
        request_begin_verb(poll->r, LANE_CLAIM, STR("claim_lookup"), on_lookup_claimed);
    turn_put(turn, poll->is_waiting ? STR("1") : STR("0"));
    turn_end(turn);
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
    if (store_refuse(r, error, tag, &lines))
        return;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    struct str print = lines_next(&lines);
    buf_lit(b, "{\"Fragment\":");
    buf_put(b, lines_next(&lines));
    buf_printf(b, ",\"Fingerprint\":\"%.*s\",\"Count\":", STR_ARG(print));
    buf_put(b, lines_next(&lines));
    store_put_key(b, "Threshold");
    buf_put(b, lines_next(&lines));
    buf_put_char(b, '}');
    struct broker *broker = broker_of(r);
    respond_json(r, 200, buf_str(b));
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

static void on_poll_left(struct request *r, void *arg)
{
    struct lookup_poll *poll = arg;
    loop_cancel_deadline(r->server->loop, &poll->deadline);
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
    if (!request_param_u64(r, "Wait", 0, WAIT_MAX_S, 0, &wait_s))
        return;
    struct lookup_poll *poll = request_alloc(r, sizeof *poll);
    *poll = (struct lookup_poll){.r = r,
                                 .deadline = {.on_expire = on_poll_deadline},
                                 .is_waiting = wait_s > 0 && !r->server->is_draining};
    r->state = poll;
    r->on_gone = on_poll_gone;
    r->was_parked = poll->is_waiting;
    if (poll->is_waiting) {
        loop_set_deadline(r->server->loop, &poll->deadline, wait_s * 1000);
        r->on_left = on_poll_left;
        r->on_left_arg = poll;
    }
    ask(poll);
}

void lookups_on_wake(struct broker *broker)
{
    (void)broker;
    while (oldest != NULL) {
        struct lookup_poll *poll = oldest;
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
    (void)broker;
    while (oldest != NULL)
        answer_none(oldest);
}

static void on_matched(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (!store_refuse(r, error, lines_next(&lines), &lines))
        respond_json(r, 200, STR("{\"status\":\"OK\"}"));
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
    struct str name = store_name(r, print);
    struct turn *turn = request_begin_verb(r, LANE_FIRST, STR("match"), on_matched);
    turn_put(turn, name);
    turn_put(turn, buf_str(b));
    turn_end(turn);
}

static void on_recommendations(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (store_refuse(r, error, lines_next(&lines), &lines))
        return;
    struct str next = lines_next(&lines);
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"Recommendations\":[");
    for (bool is_first = true; lines_are_left(&lines); is_first = false) {
        if (!is_first)
            buf_put_char(b, ',');
        buf_put(b, lines_next(&lines));
    }
    buf_printf(b, "],\"Next\":\"%.*s\"}", STR_ARG(next));
    respond_json(r, 200, buf_str(b));
}

/* A cursor is the id of a stream entry: digits, '-', digits. */
static bool is_cursor(struct str text)
{
    uint64_t ms, n;
    struct str rest = text;
    struct str first = str_cut(&rest, '-');
    return text.n <= CURSOR_MAX && str_parse_u64(first, &ms) && str_parse_u64(rest, &n);
}

void broker_get_recommendations(struct request *r)
{
    struct str after = request_param(r, "After");
    if (after.n == 0)
        after = STR("0-0");
    if (!is_cursor(after)) {
        respond_error(r, ERR_BAD_REQUEST, "After must be the Next of an earlier answer.");
        return;
    }
    struct turn *turn =
        request_begin_verb(r, LANE_READ, STR("recommendations"), on_recommendations);
    turn_put(turn, after);
    turn_end(turn);
}
