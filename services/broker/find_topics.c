/* SPDX-License-Identifier: MIT
 * find_topics.c - GET /api/find-topics: finds a user's topics that contain a text. Shards are
 * searched one after the other, each from its newest topic on. Redis returns pages of texts
 * (lua/topic/user_texts.lua), and the node looks for the text in them, in steps between which it
 * serves others. After SCAN_MAX_BYTES or SCAN_MAX_ROWS the client gets what was found, possibly
 * nothing, and a cursor to continue.
 *
 *   waits for its turn --> reads a page --> searches it --> is answered
 *                    ^------------------------------'
 *
 * A thread has SEARCHES_MAX at a time. After each page a search waits for its next turn. */
#include "services/broker/handlers.h"
#include "services/broker/text_page.h"

#include "generated/verbs.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/pages.h"
#include "shared/http/wire/connection.h"
#include "shared/text/text.h"

enum {
    TEXT_MAX_BYTES = 256,
    TEXT_MAX_JSON_BYTES = TEXT_MAX_BYTES * 6,
    LIMIT_USUAL = 20,
    LIMIT_MAX = 100,
    SHOWN_CHARACTERS = 200,
    AFTER_MAX_BYTES = 640,
    SCAN_MAX_BYTES = 64 << 20, /* of one request */
    SCAN_MAX_ROWS = 40000,
    SEARCHES_MAX = 4,       /* one reads while another one searches */
    STEP_BYTES = 256 << 10, /* about half a millisecond */
    REPLY_MAX_BYTES = 32 << 20,
    FOUND_MAX_BYTES = 1 << 20,
};

struct search {
    struct request *r;
    struct str user, after;
    unsigned shard;
    uint64_t left; /* topics that may still be found */
    uint64_t scanned_bytes, scanned_rows;
    struct text_wanted wanted;
    struct fair_entry entry;
    struct left_listener left_listener;
    struct steps steps;
    struct buf reply;      /* the page that is searched */
    size_t reply_bytes;    /* counted for it */
    struct text_page page; /* borrows from it */
    struct buf found;
};

static void put_found(struct buf *b, struct request *r, const struct text_found *found)
{
    buf_put(b, b->n == 0 ? STR("{\"Topics\":[{\"Topic\":") : STR(",{\"Topic\":"));
    names_put_topic(b, r, found->topic);
    buf_put_key(b, "Name");
    buf_put(b, found->name);
    buf_put_key(b, "Seq");
    if (found->seq == 0) {
        buf_lit(b, "null,\"Query\":null}");
        return;
    }
    buf_put_u64(b, found->seq);
    buf_put_key(b, "Query");
    text_page_put_cut(b, found->query, SHOWN_CHARACTERS);
    buf_put_char(b, '}');
}

/* Those whose turn has come read their next page. */
static void begin_next(struct broker *broker);

/* Nothing of it continues. */
static void end(struct search *search)
{
    struct broker *broker = broker_of(search->r);
    steps_end(&search->steps);
    request_off_left(search->r, &search->left_listener);
    fair_slots_leave(broker->searches, &search->entry);
    begin_next(broker);
}

static void answer(struct search *search)
{
    struct request *r = search->r;
    struct buf *b = &search->found;
    if (search->after.n > 0 || search->shard < r->server->shards->n) {
        struct buf next;
        buf_init(&next, 1024);
        buf_printf(&next, "%u.%.*s", search->shard, STR_ARG(search->after));
        pages_link(r, buf_str(&next));
        buf_fini(&next);
    }
    buf_put(b, b->n == 0 ? STR("{\"Topics\":[]}") : STR("]}"));
    end(search);
    respond_json(r, 200, b);
}

/* --- one page --------------------------------------------------------------------------------- */

/* Where the search continues, now or with the client's next request. */
static void note_cursor(struct search *search)
{
    struct buf next;
    buf_init(&next, AFTER_MAX_BYTES);
    text_page_put_cursor(&next, &search->page);
    search->after = request_copy(search->r, buf_str(&next));
    search->shard += next.n == 0;
    buf_fini(&next);
}

static void fetch(struct request *r);

static void go_on(struct search *search)
{
    struct broker *broker = broker_of(search->r);
    if (search->r->server->is_draining)
        answer(search);
    else if (fair_slots_yield(broker->searches, &search->entry))
        fetch(search->r);
    else
        begin_next(broker);
}

static void end_page(struct search *search)
{
    note_cursor(search);
    search->scanned_bytes += search->reply.n;
    search->scanned_rows += search->page.rows_n;
    connection_ungather(&search->r->exchange, search->reply_bytes);
    search->reply_bytes = 0;
    buf_fini(&search->reply);
    if (search->left > 0 && search->shard < search->r->server->shards->n &&
        search->scanned_bytes < SCAN_MAX_BYTES && search->scanned_rows < SCAN_MAX_ROWS)
        go_on(search);
    else
        answer(search);
}

static bool search_some(struct steps *steps)
{
    struct search *search = container_of(steps, struct search, steps);
    struct text_found found;
    enum text_page_state state = TEXT_PAGE_FOUND;
    for (size_t bytes = STEP_BYTES; state == TEXT_PAGE_FOUND && search->left > 0;) {
        state = text_page_read(&search->page, &search->wanted, &bytes, &found);
        if (state != TEXT_PAGE_FOUND)
            break;
        put_found(&search->found, search->r, &found);
        search->left--;
    }
    if (state == TEXT_PAGE_MORE)
        return true;
    end_page(search);
    return false;
}

static void on_texts(struct request *r, enum err error, struct str reply)
{
    struct search *search = r->state;
    struct lines lines = lines_of(reply);
    if (search->entry.part == NULL) /* it was answered meanwhile */
        return;
    struct str word = lines_next(&lines);
    if (error != ERR_OK || !str_eq(word, STR("ok"))) {
        end(search);
        reply_refuse(r, error, word, &lines);
        return;
    }
    if (!connection_gather(&r->exchange, reply.n)) {
        end(search);
        respond_error(r, ERR_BUSY,
                      "This node is searching too many long texts: retry the request shortly.");
        return;
    }
    search->reply_bytes = reply.n;
    buf_put(&search->reply, lines.rest);
    text_page_init(&search->page, lines_of(buf_str(&search->reply)));
    loop_begin_steps(r->server->loop, &search->steps);
}

static void fetch(struct request *r)
{
    const struct search *search = r->state;
    call_user_texts(request_call_at(r, search->shard, on_texts), .user = search->user,
                    .after = search->after);
}

/* --- turns ------------------------------------------------------------------------------------ */

struct fair_slots *searches_turns(void)
{
    return fair_slots_create(&(struct fair_slots_config){.slot_n = SEARCHES_MAX});
}

static void begin_next(struct broker *broker)
{
    struct fair_entry *entry;
    while ((entry = fair_slots_next(broker->searches)) != NULL)
        fetch(container_of(entry, struct search, entry)->r);
}

static void wait_for_turn(struct search *search)
{
    struct broker *broker = broker_of(search->r);
    const struct fair_owner owner = {search->r->account->name_token, search->user, STR("")};
    fair_slots_wait(broker->searches, &search->entry, &owner, 1);
    begin_next(broker);
}

/* --- the request ------------------------------------------------------------------------------ */

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
    return is_good || explain_param(r, "after", PAGES_CURSOR);
}

/* A text as it stands within a JSON string. `is_escaped`: what is not ASCII as \u, as some clients
 * write it. */
static void put_json(struct buf *out, struct str text, bool is_escaped)
{
    struct buf json;
    buf_init(&json, TEXT_MAX_JSON_BYTES + 2);
    buf_put_json(&json, text);
    struct str rest = {json.at + 1, json.n - 2}; /* without its quotes */
    uint32_t c;
    for (size_t n; (n = text_char(rest, &c)) > 0; rest = (struct str){rest.at + n, rest.n - n})
        if (n == 1 || !is_escaped)
            buf_put(out, (struct str){rest.at, n});
        else if (c < 0x10000)
            buf_printf(out, "\\u%04x", c);
        else
            buf_printf(out, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
    buf_fini(&json);
}

static void read_wanted(struct text_wanted *wanted, struct str text)
{
    struct buf plain, escaped;
    buf_init(&plain, TEXT_MAX_JSON_BYTES);
    buf_init(&escaped, TEXT_MAX_JSON_BYTES);
    put_json(&plain, text, false);
    put_json(&escaped, text, true);
    find_init(&wanted->plain, buf_str(&plain));
    find_init(&wanted->escaped, buf_str(&escaped));
    wanted->has_escaped = !str_eq(buf_str(&plain), buf_str(&escaped));
    buf_fini(&plain);
    buf_fini(&escaped);
}

/* Its client has left, or it has lost its right: nobody waits for more. */
static void on_left(struct left_listener *listener)
{
    answer(container_of(listener, struct search, left_listener));
}

static void on_gone(struct request *r)
{
    struct search *search = r->state;
    end(search);
    buf_fini(&search->reply);
    buf_fini(&search->found);
}

static void begin(struct search *search)
{
    struct request *r = search->r;
    buf_init(&search->reply, REPLY_MAX_BYTES);
    buf_init(&search->found, FOUND_MAX_BYTES);
    search->left_listener.on_left = on_left;
    search->steps.step = search_some;
    r->state = search;
    r->on_gone = on_gone;
    request_on_left(r, &search->left_listener);
    wait_for_turn(search);
}

void broker_find_topics(struct request *r)
{
    struct on_behalf person;
    struct search *search = request_alloc(r, sizeof *search);
    struct str text = request_param(r, "Text");
    *search = (struct search){.r = r, .after = STR("")};
    if (!on_behalf_of(r, request_param(r, "OnBehalfOf"), &person))
        return;
    if (text.n < 1 || text.n > TEXT_MAX_BYTES) {
        (void)explain_param(r, "Text", "1 to 256 bytes");
        return;
    }
    if (!request_param_u64(r, "limit", 1, LIMIT_MAX, LIMIT_USUAL, &search->left) ||
        !read_cursor(r, search))
        return;
    search->user = person.user_name;
    read_wanted(&search->wanted, text);
    begin(search);
}
