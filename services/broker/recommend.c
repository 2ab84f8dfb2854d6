/* SPDX-License-Identifier: MIT
 * recommend.c - what users recommend to engines: corrections, additions, praise (lua/lookup). They
 * are kept in a stream that engines read page by page, each at its own pace. */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/ask/room.h"

enum { COMMENT_MAX_BYTES = 16 << 10, CURSOR_MAX = 44 };

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

struct recommend {
    struct str topic, user_name, text;
};

static void on_recommended(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"Timestamp\":");
    buf_put_json_ms(b, lines_next_u64(&lines));
    buf_put_char(b, '}');
    respond_json(r, 200, b);
}

static void store(struct request *r, const struct recommend *op, bool is_known)
{
    call_recommend(request_call(r, on_recommended), .topic = op->topic, .viewer = names_viewer(r),
                   .is_known = is_known, .recommendation = op->text,
                   .account = r->account->name_token, .user = op->user_name,
                   .max_stored = room_of_account(r), .max_stored_per_user = room_of_user(r));
}

static void on_part(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (!reply_refuse(r, error, lines_next(&lines), &lines))
        store(r, r->state, true);
}

/* With several shards the topic is looked at on its own. */
static void look_first(struct request *r, const struct recommend *op)
{
    struct recommend *kept = request_alloc(r, sizeof *kept);
    *kept = *op;
    kept->text = request_copy(r, op->text);
    r->state = kept;
    call_topic_part(request_call(r, on_part), .topic = op->topic, .viewer = names_viewer(r));
}

void broker_recommend(struct request *r)
{
    static const char *const texts[] = {"Query", "Fragment", "Comment"};
    struct str topic, user, type, text;
    struct on_behalf whom;
    if (!request_body(r) || !names_topic_member(r, &topic) ||
        !request_optional_text(r, "OnBehalfOf", USER_MAX_BYTES, &user) ||
        !on_behalf_of(r, user, &whom) || !request_text(r, "Type", 1, 64, &type))
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
    buf_put_key(b, "OnBehalfOf");
    buf_put_json(b, whom.user);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t max = i == 0 ? QUERY_MAX_BYTES : i == 1 ? FRAGMENT_MAX_BYTES : COMMENT_MAX_BYTES;
        bool is_comment = i == 2;
        if (is_comment ? !request_optional_text(r, texts[i], max, &text)
                       : !request_text(r, texts[i], 0, max, &text))
            return;
        buf_put_key(b, texts[i]);
        buf_put_json(b, text);
    }
    buf_put_key(b, "Type");
    buf_put_json(b, type);
    if (r->account->namespace.n > 0) {
        buf_put_key(b, "Namespace");
        buf_put_json(b, r->account->namespace);
    }
    buf_put_char(b, '}');
    struct recommend op = {topic, whom.user_name, buf_str(b)};
    if (r->server->shards->n == 1)
        store(r, &op, false);
    else
        look_first(r, &op);
}

static void on_recommendations(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
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
    respond_json(r, 200, b);
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
    call_recommendations(request_call(r, on_recommendations), .after = after);
}
