/* SPDX-License-Identifier: MIT
 * recommend.c - takes over what users recommended, at the start and then every half minute.
 *
 *   Promote Answer, Add Missing Info    the fragment, and the comment on it
 *   Make Correction, Suggest Improvement,
 *   Clarify Phrasing                    the comment: the fragment is what was wrong
 *   Flag as Off Topic                   passages with the fragment are left out
 *
 * A note begins with the question that it belongs to, so that the question finds it. Everything is
 * fetched again at each start: the nodes keep it. */
#include "services/engine/engine.h"

#include <stdlib.h>

enum {
    PERIOD_MS = 30000,
    QUERY_MAX_BYTES = 2048,
    CURSOR_MAX_BYTES = 512,
    NOTE_MAX_BYTES = 1 << 20
};

struct recommender {
    struct engine *engine;
    struct link_call *call;
    struct timer timer;
    struct backoff backoff;
    struct buf cursor;
    bool has_news;
};

static void put_note(struct recommender *recommender, struct str type, struct str question,
                     struct str fragment, struct str comment)
{
    struct buf name, text;
    buf_init(&name, 256);
    buf_init(&text, NOTE_MAX_BYTES);
    buf_lit(&name, "Recommendation: ");
    buf_put(&name, type);
    if (question.n > 0) {
        buf_lit(&text, "Question: ");
        buf_put(&text, question);
        buf_lit(&text, "\n\n");
    }
    buf_put(&text, fragment);
    if (fragment.n > 0 && comment.n > 0)
        buf_lit(&text, "\n\n");
    buf_put(&text, comment);
    if (!text.is_over && !name.is_over)
        recommender->has_news |=
            library_add_note(recommender->engine->library, buf_str(&name), buf_str(&text));
    buf_fini(&name);
    buf_fini(&text);
}

/* This engine answers for all namespaces out of one library: what the users of one recommend must
 * not show in the answers of another, so it is left to engines that keep them apart. */
static void take(struct recommender *recommender, const json_t *item)
{
    static const struct str none = {"", 0};
    if (json_member_str(item, "Namespace").n > 0)
        return;
    struct str type = json_member_str(item, "Type");
    struct str fragment = str_trim(json_member_str(item, "Fragment"));
    struct str comment = str_trim(json_member_str(item, "Comment"));
    struct str question = str_trim(json_member_str(item, "Query"));
    if (str_eq(type, STR("Flag as Off Topic"))) {
        if (fragment.n > 0)
            library_add_flag(recommender->engine->library, fragment);
    } else if (str_eq(type, STR("Promote Answer")) || str_eq(type, STR("Add Missing Info"))) {
        if (fragment.n > 0 || comment.n > 0)
            put_note(recommender, type, question, fragment, comment);
    } else if (str_eq(type, STR("Make Correction")) || str_eq(type, STR("Suggest Improvement")) ||
               str_eq(type, STR("Clarify Phrasing"))) {
        if (comment.n > 0)
            put_note(recommender, type, question, none, comment);
    }
}

/* Moves the cursor; false when there is nothing beyond it. */
static bool move(struct recommender *recommender, const json_t *next)
{
    struct buf cursor;
    buf_init(&cursor, CURSOR_MAX_BYTES);
    if (next != NULL && !json_is_null(next)) {
        if (json_is_string(next))
            buf_put(&cursor, json_str(next));
        else
            buf_put_json_value(&cursor, next);
    }
    struct str to = buf_str(&cursor);
    bool has_moved = to.at != NULL && to.n > 0 && !cursor.is_over &&
                     str_compare(to, buf_str(&recommender->cursor)) != 0;
    if (has_moved) {
        buf_clear(&recommender->cursor);
        buf_put(&recommender->cursor, to);
    }
    buf_fini(&cursor);
    return has_moved;
}

static void on_fetched(void *context, const struct link_reply *reply)
{
    struct recommender *recommender = context;
    const json_t *list = json_object_get(reply->json, "Recommendations");
    size_t i;
    json_t *item;
    uint64_t after_ms = PERIOD_MS;
    recommender->call = NULL;
    if (reply->verdict == LINK_OK) {
        recommender->backoff.failures = 0;
        json_array_foreach(list, i, item)
        {
            take(recommender, item);
        }
        if (move(recommender, json_object_get(reply->json, "Next")) && json_array_size(list) > 0)
            after_ms = 0;
    } else if (reply->verdict == LINK_RETRY) {
        after_ms = backoff_next_ms(&recommender->backoff, reply->retry_after_s);
    }
    if (after_ms == PERIOD_MS && recommender->has_news) {
        recommender->has_news = false;
        library_build_notes(recommender->engine->library);
    }
    timer_set(&recommender->engine->timers, &recommender->timer, after_ms);
}

static void on_timer(void *context)
{
    struct recommender *recommender = context;
    struct buf query;
    buf_init(&query, QUERY_MAX_BYTES);
    if (recommender->cursor.n > 0) {
        buf_lit(&query, "After=");
        buf_put_url_encoded(&query, buf_str(&recommender->cursor));
    }
    struct link_request request = {.path = "/api/get-recommendations",
                                   .query = buf_str(&query),
                                   .timeout_ms = CALL_TIMEOUT_MS};
    recommender->call = link_start(recommender->engine->link, &request, on_fetched, recommender);
    buf_fini(&query);
}

struct recommender *recommender_create(struct engine *engine)
{
    struct recommender *recommender = calloc(1, sizeof *recommender);
    if (recommender == NULL)
        abort();
    recommender->engine = engine;
    recommender->timer = (struct timer){.fire = on_timer, .context = recommender};
    buf_init(&recommender->cursor, CURSOR_MAX_BYTES);
    return recommender;
}

void recommender_start(struct recommender *recommender)
{
    timer_set(&recommender->engine->timers, &recommender->timer, 0);
}

void recommender_destroy(struct recommender *recommender)
{
    if (recommender == NULL)
        return;
    link_cancel(recommender->call);
    timer_stop(&recommender->timer);
    buf_fini(&recommender->cursor);
    free(recommender);
}
