/* SPDX-License-Identifier: MIT
 * find_topics.c - GET /api/find-topics: finds a user's topics that contain a text
 * (lua/topic/find_topics.lua). Shards are searched one after the other, each from its newest topic
 * on. Each call of the verb reads a bounded amount. After CALLS_MAX calls the client gets what was
 * found, possibly nothing, and a cursor to continue. */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/http/pages.h"
#include "shared/text/text.h"

enum {
    TEXT_MAX_BYTES = 256,
    LIMIT_USUAL = 20,
    LIMIT_MAX = 100,
    CALLS_MAX = 8,
    AFTER_MAX_BYTES = 640
};

struct search {
    struct str user, text, escaped, after;
    unsigned shard, calls;
    uint64_t left;
    struct buf found;
};

static void look(struct request *r);

static void put_found(struct buf *b, struct request *r, struct lines *lines)
{
    struct str topic = lines_next(lines);
    uint64_t seq = lines_next_u64(lines);
    struct str name = lines_next(lines), query = lines_next(lines);
    buf_put(b, b->n == 0 ? STR("{\"Topics\":[{\"Topic\":") : STR(",{\"Topic\":"));
    names_put_topic(b, r, topic);
    buf_put_key(b, "Name");
    buf_put(b, name);
    buf_put_key(b, "Seq");
    if (seq == 0) {
        buf_lit(b, "null,\"Query\":null}");
        return;
    }
    buf_put_u64(b, seq);
    buf_put_key(b, "Query");
    buf_put(b, query);
    buf_put_char(b, '}');
}

static void answer(struct request *r, struct search *search, bool has_next)
{
    struct buf *b = &search->found;
    if (has_next) {
        struct buf next;
        buf_init(&next, 1024);
        buf_printf(&next, "%u.%.*s", search->shard, STR_ARG(search->after));
        pages_link(r, buf_str(&next));
        buf_fini(&next);
    }
    buf_put(b, b->n == 0 ? STR("{\"Topics\":[]}") : STR("]}"));
    respond_json(r, 200, b);
}

static void on_found(struct request *r, enum err error, struct str reply)
{
    struct search *search = r->state;
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    search->after = request_copy(r, lines_next(&lines));
    for (; lines_are_left(&lines); search->left -= search->left > 0)
        put_found(&search->found, r, &lines);
    bool has_next = search->after.n > 0 || ++search->shard < r->server->shards->n;
    if (has_next && search->left > 0 && ++search->calls < CALLS_MAX)
        look(r);
    else
        answer(r, search, has_next);
}

static void look(struct request *r)
{
    const struct search *search = r->state;
    call_find_topics(request_call_at(r, search->shard, on_found), .user = search->user,
                     .text = search->text, .escaped = search->escaped, .after = search->after,
                     .limit = search->left);
}

/* "<shard>.<Seq>.<ms>.<name of a topic>", or "<shard>." for its newest topic. */
static bool read_cursor(struct request *r, struct search *search)
{
    uint64_t shard = 0, n;
    struct str rest = request_param(r, "after");
    if (rest.n == 0)
        return true;
    bool is_good = rest.n <= AFTER_MAX_BYTES && str_parse_u64(str_cut(&rest, '.'), &shard) &&
                   shard < r->server->shards->n && rest.at != NULL;
    search->shard = (unsigned)shard;
    search->after = rest;
    if (is_good && rest.n > 0)
        is_good = str_parse_u64(str_cut(&rest, '.'), &n) && n > 0 && n <= INT32_MAX &&
                  str_parse_u64(str_cut(&rest, '.'), &n) && rest.n > 0;
    if (!is_good)
        respond_error(r, ERR_BAD_REQUEST,
                      "after must be the cursor from the Link header of an earlier response.");
    return is_good;
}

/* A text as it stands within a JSON string, in lower case as far as it is ASCII. `is_escaped`: what
 * is not ASCII as \u. */
static struct str as_json(struct request *r, struct str text, bool is_escaped)
{
    struct buf json, out;
    buf_init(&json, TEXT_MAX_BYTES * 8);
    buf_init(&out, TEXT_MAX_BYTES * 8);
    buf_put_json(&json, text);
    struct str rest = {json.at + 1, json.n - 2}; /* without its quotes */
    uint32_t c;
    for (size_t n; (n = text_char(rest, &c)) > 0; rest = (struct str){rest.at + n, rest.n - n})
        if (n == 1)
            buf_put_char(&out, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : (char)c);
        else if (!is_escaped)
            buf_put(&out, (struct str){rest.at, n});
        else if (c < 0x10000)
            buf_printf(&out, "\\u%04x", c);
        else
            buf_printf(&out, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
    struct str copy = request_copy(r, buf_str(&out));
    buf_fini(&json);
    buf_fini(&out);
    return copy;
}

static void on_gone(struct request *r)
{
    buf_fini(&((struct search *)r->state)->found);
}

void broker_find_topics(struct request *r)
{
    struct on_behalf whom;
    struct search *search = request_alloc(r, sizeof *search);
    struct str text = request_param(r, "Text");
    *search = (struct search){.after = STR("")};
    if (!on_behalf_of(r, request_param(r, "OnBehalfOf"), &whom))
        return;
    if (text.n < 1 || text.n > TEXT_MAX_BYTES) {
        respond_error(r, ERR_BAD_REQUEST, "Text must be 1 to 256 bytes.");
        return;
    }
    if (!request_param_u64(r, "limit", 1, LIMIT_MAX, LIMIT_USUAL, &search->left) ||
        !read_cursor(r, search))
        return;
    search->user = whom.user_name;
    search->text = as_json(r, text, false);
    search->escaped = as_json(r, text, true);
    if (str_eq(search->text, search->escaped))
        search->escaped = STR("");
    buf_init(&search->found, 1 << 20);
    r->state = search;
    r->on_gone = on_gone;
    look(r);
}
