/* SPDX-License-Identifier: MIT
 * recommend.c - takes recommendations of users to engines: corrections, additions, praise
 * (lua/lookup). They are kept in a stream that engines read page by page, each at its own pace. */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/ask/storage_limit.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/once.h"
#include "shared/text/marks.h"
#include "shared/text/text.h"

#include <openssl/sha.h>

enum { COMMENT_MAX_BYTES = 16 << 10, CURSOR_MAX = 44, DIGEST_BYTES = 16 };

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
    char digest[DIGEST_BYTES * 2 + 1]; /* of a fragment that is promoted or flagged; else empty */
    bool is_flag;
};

/* By it a Promote finds the Flags of the same fragment, and the reverse: letter case, white space,
 * marks and the list of sources aside. */
static void put_digest(struct recommend *op, struct str type, struct str fragment)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    struct buf plain, normal;
    op->is_flag = str_eq(type, STR("Flag as Off Topic"));
    op->digest[0] = 0;
    if (!op->is_flag && !str_eq(type, STR("Promote Answer")))
        return;
    buf_init(&plain, FRAGMENT_MAX_BYTES + 1);
    buf_init(&normal, (size_t)4 * FRAGMENT_MAX_BYTES + 1); /* some letters get longer */
    marks_put_without(&plain, fragment);
    text_put_normal(&normal, buf_str(&plain));
    if (normal.n > 0 && !normal.is_over) {
        SHA256((const unsigned char *)normal.at, normal.n, digest);
        str_hex(digest, DIGEST_BYTES, op->digest);
    }
    buf_fini(&plain);
    buf_fini(&normal);
}

static void on_recommended(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"Timestamp\":");
    buf_put_json_zoneless_time(b, lines_next_u64(&lines));
    struct str id = lines_next(&lines);
    if (request_param_is_true(r, "Detail"))
        buf_printf(b, ",\"Id\":\"%.*s\",\"Undone\":%llu", STR_ARG(id),
                   (unsigned long long)lines_next_u64(&lines));
    buf_put_char(b, '}');
    respond_json(r, 200, b);
}

static void store(struct request *r, const struct recommend *op, bool is_known)
{
    call_recommend(request_call(r, on_recommended), .topic = op->topic, .viewer = names_viewer(r),
                   .is_known = is_known, .recommendation = op->text,
                   .account = r->account->name_token, .user = op->user_name,
                   .max_stored = storage_limit_of_account(r),
                   .max_stored_per_user = storage_limit_of_user(r), .digest = str_of(op->digest),
                   .is_flag = op->is_flag, .key = once_key(r));
}

static void on_tie(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (!reply_refuse(r, error, lines_next(&lines), &lines))
        store(r, r->state, true);
}

/* With several shards the topic is looked at on its own. */
static void check_topic(struct request *r, const struct recommend *op)
{
    struct recommend *kept = request_alloc(r, sizeof *kept);
    *kept = *op;
    kept->text = request_copy(r, op->text);
    r->state = kept;
    call_topic_tie(request_call(r, on_tie), .topic = op->topic, .viewer = names_viewer(r));
}

void broker_recommend(struct request *r)
{
    static const char *const texts[] = {"Query", "Fragment", "Comment"};
    struct str topic, user, type, text, fragment = {NULL, 0};
    struct on_behalf person;
    if (!request_body(r) || !names_topic_member(r, &topic) ||
        !request_optional_text(r, "OnBehalfOf", USER_MAX_BYTES, &user) ||
        !on_behalf_of(r, user, &person) || !request_text(r, "Type", 1, 64, &type))
        return;
    if (!is_recommendation_type(type)) {
        (void)explain_member(r, "Type",
                             "Suggest Improvement, Promote Answer, Make Correction, Add Missing "
                             "Info, Clarify Phrasing or Flag as Off Topic");
        return;
    }
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"Topic\":");
    buf_put_span(b, request_member(r, "Topic"));
    buf_put_key(b, "OnBehalfOf");
    buf_put_json(b, person.user);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t max = i == 0 ? QUERY_MAX_BYTES : i == 1 ? FRAGMENT_MAX_BYTES : COMMENT_MAX_BYTES;
        bool is_comment = i == 2;
        if (is_comment ? !request_optional_text(r, texts[i], max, &text)
                       : !request_text(r, texts[i], 0, max, &text))
            return;
        if (i == 1)
            fragment = text;
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
    struct recommend op = {.topic = topic, .user_name = person.user_name, .text = buf_str(b)};
    put_digest(&op, type, fragment);
    if (r->server->shards->n == 1)
        store(r, &op, false);
    else
        check_topic(r, &op);
}

/* The item, which is a JSON object, with its id as the first member. */
static void put_with_id(struct buf *b, struct str id, struct str item)
{
    buf_printf(b, "{\"Id\":\"%.*s\",", STR_ARG(id));
    buf_put(b, item.n > 1 ? (struct str){item.at + 1, item.n - 1} : STR("}"));
}

static void put_removed(struct buf *b, struct str ids, bool is_restart)
{
    buf_lit(b, ",\"Removed\":[");
    for (bool is_first = true; ids.n > 0; is_first = false) {
        struct str id = str_cut(&ids, ' ');
        buf_printf(b, is_first ? "\"%.*s\"" : ",\"%.*s\"", STR_ARG(id));
    }
    buf_printf(b, "],\"Restart\":%s", is_restart ? "true" : "false");
}

static void on_recommendations(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    bool is_detail = request_param_is_true(r, "Detail");
    struct str next = lines_next(&lines);
    bool is_restart = str_eq(lines_next(&lines), STR("1"));
    struct str removed = lines_next(&lines);
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"Recommendations\":[");
    for (bool is_first = true; lines_are_left(&lines); is_first = false) {
        struct str id = lines_next(&lines), item = lines_next(&lines);
        if (!is_first)
            buf_put_char(b, ',');
        if (is_detail)
            put_with_id(b, id, item);
        else
            buf_put(b, item);
    }
    buf_printf(b, "],\"Next\":\"%.*s\"", STR_ARG(next));
    if (is_detail)
        put_removed(b, removed, is_restart);
    buf_put_char(b, '}');
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

/* From the beginning without one. Answers what is none. */
static bool read_after(struct request *r, struct str *ret_after)
{
    struct str after = request_param(r, "After");
    *ret_after = after.n == 0 ? STR("0-0") : after;
    return is_cursor(*ret_after) || explain_param(r, "After", "the Next of an earlier response");
}

void broker_get_recommendations(struct request *r)
{
    struct str after;
    if (!read_after(r, &after))
        return;
    call_recommendations(request_call(r, on_recommendations), .after = after,
                         .with_removed = request_param_is_true(r, "Detail"));
}

/* --- operators -------------------------------------------------------------------------------- */

static void put_listed(struct buf *b, struct lines *lines)
{
    struct str id = lines_next(lines), account = lines_next(lines), user = lines_next(lines);
    struct str item = lines_next(lines), ms = id;
    uint64_t at_ms;
    if (!str_parse_u64(str_cut(&ms, '-'), &at_ms))
        at_ms = 0;
    buf_printf(b, "{\"Id\":\"%.*s\",\"Timestamp\":", STR_ARG(id));
    buf_put_json_time(b, at_ms);
    buf_lit(b, ",\"Account\":");
    buf_put_json_of_name(b, account);
    buf_lit(b, ",\"User\":");
    buf_put_json_of_name(b, user);
    buf_put_char(b, ',');
    buf_put(b, item.n > 1 ? (struct str){item.at + 1, item.n - 1} : STR("}"));
}

static void on_listed(struct request *r, enum err error, struct str reply)
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
        put_listed(b, &lines);
    }
    buf_lit(b, "],\"Next\":");
    if (next.n > 0)
        buf_printf(b, "\"%.*s\"}", STR_ARG(next));
    else
        buf_lit(b, "null}");
    respond_json(r, 200, b);
}

void broker_list_recommendations(struct request *r)
{
    struct str after, user = request_param(r, "OnBehalfOf"), user_name = STR("");
    if (!read_after(r, &after) || (user.n > 0 && !on_behalf_any_name(r, user, &user_name)))
        return;
    call_list_recommendations(request_call(r, on_listed), .after = after, .user = user_name);
}

static void on_removed(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    if (error == ERR_OK && str_eq(tag, STR("missing")))
        (void)explain_missing(r, "recommendation with the Id", request_param(r, "Id"), NULL);
    else if (!reply_refuse(r, error, tag, &lines))
        respond_json_fixed(r, 200, STR("{\"status\":\"OK\"}"));
}

void broker_remove_recommendation(struct request *r)
{
    struct str id = request_param(r, "Id");
    if (!is_cursor(id)) {
        (void)explain_param(r, "Id", "the Id of a listed recommendation");
        return;
    }
    call_unrecommend(request_call(r, on_removed), .id = id);
}
