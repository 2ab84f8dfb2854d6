/* SPDX-License-Identifier: MIT
 * topic_pages.c - reading topics: one of them whole (lua/topic/thread.lua), and a user's list
 * (lua/topic/user_topics.lua). Both can have any length, so they come in pages. A thread's pages
 * are read at different times: a query that is answered in between may be shown in either state. A
 * topic that is deleted in between is 404. */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "services/broker/merged_pages.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/gather.h"
#include "shared/http/request/pages.h"

struct reading {
    struct pages pages;
    struct str name; /* of the topic, or of the user */
    struct str user; /* as the request names it */
    bool is_detail;
};

static void on_gone(struct request *r)
{
    pages_fini(&((struct reading *)r->state)->pages);
}

/* NULL: answered already. */
static struct reading *begin(struct request *r, struct str name, struct str first,
                             bool (*is_cursor)(struct str))
{
    struct reading *reading = request_alloc(r, sizeof *reading);
    if (!pages_init(&reading->pages, r, first, is_cursor))
        return NULL;
    reading->name = name;
    reading->is_detail = request_param_is_true(r, "Detail");
    r->state = reading;
    r->on_gone = on_gone;
    return reading;
}

/* --- a thread --------------------------------------------------------------------------------- */

static void ask_for_thread(struct request *r);

static void on_thread(struct request *r, enum err error, struct str reply)
{
    struct reading *reading = r->state;
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    struct buf *b = pages_buf(&reading->pages, r);
    struct str next = lines_next(&lines);
    uint64_t n = 0;
    for (; lines_are_left(&lines); n++) {
        uint64_t seq = lines_next_u64(&lines);
        struct outcome o = lines_next_outcome(&lines);
        buf_put_char(b, b->n == 0 ? '[' : ',');
        buf_put_char(b, '{');
        outcome_put(b, r, reading->name, seq, &o, reading->is_detail, r->account->is_deployed);
        buf_put_char(b, '}');
    }
    if (pages_go_on(&reading->pages, r, next, n, ask_for_thread))
        return;
    buf_put(b, b->n == 0 ? STR("[]") : STR("]"));
    pages_respond(&reading->pages, r, b);
}

static void ask_for_thread(struct request *r)
{
    struct reading *reading = r->state;
    call_thread(request_call(r, on_thread), .topic = reading->name, .user = names_viewer(r),
                .after = reading->pages.after, .before = STR(""),
                .limit = pages_limit(&reading->pages), .is_whole = false);
}

static bool is_seq(struct str after)
{
    uint64_t seq;
    return str_parse_u64(after, &seq) && seq <= INT32_MAX;
}

void broker_get_topic_thread(struct request *r)
{
    struct str topic;
    if (names_topic_param(r, &topic) && begin(r, topic, STR("0"), is_seq) != NULL)
        ask_for_thread(r);
}

/* --- a user's topics -------------------------------------------------------------------------- */

static void ask_for_topics(struct request *r);

/* `place`: "<ms>.<topic>", or "". */
static void set_place(struct merged_page *page, struct str place)
{
    struct str rest = place;
    page->place = place;
    if (!str_parse_u64(str_cut(&rest, '.'), &page->ms))
        page->ms = 0;
}

/* Reads up to its next topic's text. */
static void step(struct merged_page *page)
{
    set_place(page, lines_next(&page->rest));
    page->topic = lines_next(&page->rest);
}

static void on_user_topics(struct request *r, enum err error, const struct gather *all)
{
    struct reading *reading = r->state;
    struct lines none = lines_of(STR(""));
    struct merged_page pages[SHARDS_MAX], *page;
    if (reply_refuse(r, error, STR("ok"), &none))
        return;
    struct str next = STR(""), last = reading->pages.after;
    for (unsigned i = 0; i < all->n; i++) {
        pages[i] = (struct merged_page){.rest = lines_of(all->replies[i])};
        (void)lines_next(&pages[i].rest); /* "ok" */
        struct str its_next = lines_next(&pages[i].rest);
        pages[i].has_next = its_next.n > 0;
        if (pages[i].has_next)
            next = its_next;
        step(&pages[i]);
        if (pages[i].place.n == 0)
            set_place(&pages[i], its_next); /* its topics up to there are gone */
    }
    struct buf *b = pages_buf(&reading->pages, r);
    uint64_t n = 0, most = reading->pages.left;
    while (n < most && (page = merged_pages_first(pages, all->n)) != NULL) {
        if (page->topic.n > 0) {
            buf_put_char(b, b->n == 0 ? '{' : ',');
            names_put_topic(b, r, page->topic);
            buf_put_char(b, ':');
            buf_put(b, lines_next(&page->rest));
            n++;
        }
        last = page->place;
        step(page);
    }
    if (all->n > 1) /* what was not taken comes again */
        next = next.n > 0 || merged_pages_first(pages, all->n) != NULL ? last : STR("");
    if (pages_go_on(&reading->pages, r, next, n, ask_for_topics))
        return;
    if (b->n == 0 && reading->pages.after.n == 0 && !r->account->is_deployed) {
        explain(r, ERR_NOT_FOUND, "The user %s has no topics.", explain_quoted(r, reading->user));
        return;
    }
    buf_put(b, b->n == 0 ? STR("{}") : STR("}"));
    pages_respond(&reading->pages, r, b);
}

static void ask_for_topics(struct request *r)
{
    struct reading *reading = r->state;
    struct gather *all = gather_begin(r, on_user_topics);
    for (unsigned i = 0; i < all->n; i++)
        call_user_topics(gather_call(r, i), .user = reading->name, .after = reading->pages.after,
                         .limit = pages_limit(&reading->pages), .is_whole = reading->is_detail);
}

/* "<ms>.<name of a topic>" */
static bool is_topic_cursor(struct str after)
{
    uint64_t ms;
    struct str rest = after;
    return str_parse_u64(str_cut(&rest, '.'), &ms) && rest.n > 0;
}

void broker_user_topics(struct request *r)
{
    struct on_behalf person;
    struct reading *reading;
    if (!on_behalf_of(r, request_param(r, "OnBehalfOf"), &person) ||
        (reading = begin(r, person.user_name, STR(""), is_topic_cursor)) == NULL)
        return;
    reading->user = person.user;
    ask_for_topics(r);
}
