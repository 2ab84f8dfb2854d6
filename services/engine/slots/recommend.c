/* SPDX-License-Identifier: MIT
 * recommend.c - fetches users' recommendations at the start and then every few seconds, and forgets
 * removed ones. Flags leave passages out (library.h), everything else is a note (notes.h).
 * Everything is fetched again at each start: the nodes keep it. */
#include "services/engine/engine.h"

#include "shared/base/log.h"
#include "shared/base/mem.h"
#include "shared/text/marks.h"

enum {
    PERIOD_MS = 5000,
    QUERY_MAX_BYTES = 2048,
    CURSOR_MAX_BYTES = 512,
};

struct recommender {
    struct engine *engine;
    struct link_call *call;
    struct timer timer;
    struct backoff backoff;
    struct buf cursor;
    bool has_news;
};

/* This engine answers for all namespaces out of one library: what the users of one recommend must
 * not show in the answers of another, so it is left to engines that keep them apart. */
static void take(struct recommender *recommender, const json_t *item)
{
    struct library *library = recommender->engine->library;
    struct str type = json_member_str(item, "Type"), id = json_member_str(item, "Id");
    struct str fragment = json_member_str(item, "Fragment");
    enum note_kind kind;
    if (json_member_str(item, "Namespace").n > 0)
        return;
    if (str_eq(type, STR("Flag as Off Topic"))) {
        struct buf plain;
        buf_init(&plain, fragment.n + 1);
        marks_put_without(&plain, fragment);
        library_add_flag(library, id, buf_str(&plain));
        buf_fini(&plain);
    } else if (note_kind_of(type, &kind)) {
        recommender->has_news |=
            notes_add(library_notes(library), id, kind, json_member_str(item, "Query"), fragment,
                      json_member_str(item, "Comment"));
    }
}

/* Forgets what was removed since the last page. */
static void forget(struct recommender *recommender, const json_t *removed)
{
    struct library *library = recommender->engine->library;
    size_t i;
    json_t *id;
    json_array_foreach(removed, i, id)
    {
        notes_remove(library_notes(library), json_str(id));
        library_remove_flag(library, json_str(id));
    }
    if (json_array_size(removed) > 0)
        log_write(LOG_INFO, "recommendations are gone", LOG_U("n", json_array_size(removed)));
}

/* The node no longer knows all that is gone since the cursor. */
static void begin_again(struct recommender *recommender)
{
    notes_clear(library_notes(recommender->engine->library));
    library_clear_flags(recommender->engine->library);
    buf_clear(&recommender->cursor);
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
        forget(recommender, json_object_get(reply->json, "Removed"));
        if (json_array_size(list) > 0)
            log_write(LOG_INFO, "recommendations were read", LOG_U("n", json_array_size(list)));
        if (json_is_true(json_object_get(reply->json, "Restart"))) {
            begin_again(recommender);
            after_ms = 0;
        } else if (move(recommender, json_object_get(reply->json, "Next")) &&
                   json_array_size(list) > 0)
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
    buf_lit(&query, "Detail=true");
    if (recommender->cursor.n > 0) {
        buf_lit(&query, "&After=");
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
    struct recommender *recommender = mem_zeroed(sizeof *recommender);
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
