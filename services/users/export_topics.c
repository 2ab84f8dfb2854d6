/* SPDX-License-Identifier: MIT
 * export_topics.c - topics.json and recommendations.json. Of a topic in which others have a part,
 * too, what the user asked is written, and what it was answered: the rest is theirs. Its pages are
 * of several moments, as in get-topic-thread; what is deleted in between is left out. */
#include "services/users/export.h"

#include "generated/verbs.h"

static unsigned shard_n(const struct export *x)
{
    return x->r->server->shards->n;
}

/* --- the list --------------------------------------------------------------------------------- */

static void begin_topic(struct export *x)
{
    (void)lines_next(&x->rest); /* its place */
    struct str topic = lines_next(&x->rest), name = lines_next(&x->rest);
    struct str plain = x->r->account->namespace.n > 0 ? lines_name_within(topic) : topic;
    export_set(&x->topic, topic);
    export_begin_item(x);
    buf_lit(&x->made, "{\"Topic\":");
    buf_put_json_of_name(&x->made, plain);
    buf_lit(&x->made, ",\"Name\":");
    buf_put(&x->made, name);
    buf_lit(&x->made, ",\"Queries\":[");
    buf_clear(&x->own);
    export_set(&x->after, STR("0"));
    x->stage = EXPORT_THREAD;
    x->is_first = true;
}

void export_topics(struct export *x)
{
    if (!x->is_page) {
        call_user_topics(export_call_at(x, x->shard, export_on_page),
                         .user = x->person.on_behalf.user_name, .after = buf_str(&x->page_after),
                         .limit = NO_NUMBER, .is_whole = true);
    } else if (lines_are_left(&x->rest)) {
        begin_topic(x);
    } else {
        x->is_page = false;
        if (!x->is_last_page)
            return;
        buf_clear(&x->page_after);
        if (++x->shard < shard_n(x))
            return;
        x->shard = 0;
        x->stage = EXPORT_RECOMMENDATIONS;
        export_end_list(x);
        buf_clear(&x->after);
    }
}

/* --- a topic ---------------------------------------------------------------------------------- */

static void put_query(struct export *x, uint64_t seq, const struct outcome *o)
{
    struct buf *b = &x->made;
    export_put_comma(x);
    buf_lit(b, "{\"Seq\":");
    buf_put_u64(b, seq);
    export_put_member(b, "Query", o->row.query);
    export_put_member(b, "Modifiers", o->row.modifiers);
    export_put_member(b, "Model", o->row.model);
    buf_printf(b, ",\"Status\":\"%.*s\"", STR_ARG(o->status));
    buf_put_key(b, "Timestamp");
    buf_put_json_time(b, o->row.created_ms);
    export_put_member(b, "Reason", o->reason);
    export_put_member(b, "Answer", o->answer);
    export_put_member(b, "Think", o->think);
    export_put_member(b, "AnswerModel", o->model);
    if (o->facts.n > 0) {
        buf_put_char(b, ',');
        buf_put(b, o->facts);
    }
    buf_put_char(b, '}');
}

/* Is that query the user's? */
static bool is_own(const struct export *x, uint64_t seq)
{
    return seq < x->own.n && x->own.at[seq] == '1';
}

static void note(struct export *x, uint64_t seq, bool is_users)
{
    while (x->own.n < seq && !x->own.is_over)
        buf_put_char(&x->own, '0');
    buf_put_char(&x->own, is_users ? '1' : '0');
}

static void end_topic(struct export *x)
{
    buf_put(&x->made, x->is_first ? STR("]}") : STR("\n]}"));
    x->stage = EXPORT_TOPICS;
    x->is_first = false;
}

/* A page of its lookups was read, and the next one begins at x->after. */
static void end_page(struct export *x)
{
    if (x->after.n == 0)
        end_topic(x);
    export_go_on(x);
}

static void end_thread(struct export *x)
{
    buf_put(&x->made, x->is_first ? STR("],\"Lookups\":[") : STR("\n],\"Lookups\":["));
    export_set(&x->after, STR("0"));
    x->stage = EXPORT_LOOKUPS;
    x->is_first = true;
}

static void on_thread(struct request *r, enum err error, struct str reply)
{
    struct export *x = r->state;
    struct lines lines = lines_of(reply);
    if (!export_takes(x, error, &lines, STR("missing")))
        return;
    struct str next = lines_next(&lines);
    while (lines_are_left(&lines)) {
        uint64_t seq = lines_next_u64(&lines);
        struct outcome o = lines_next_outcome(&lines);
        bool is_users = str_eq(o.row.user_name, x->person.on_behalf.user_name);
        note(x, seq, is_users);
        if (is_users)
            put_query(x, seq, &o);
    }
    if (x->own.is_over)
        x->made.is_over = true; /* nothing that it says of the topic would be right */
    export_set(&x->after, next);
    if (next.n == 0)
        end_thread(x);
    export_go_on(x);
}

void export_thread(struct export *x)
{
    call_thread(export_call(x, on_thread), .topic = buf_str(&x->topic),
                .user = x->person.on_behalf.user_name, .after = buf_str(&x->after),
                .before = STR(""), .limit = NO_NUMBER, .is_whole = true);
}

static void put_lookup(struct export *x, uint64_t seq, struct str print, struct str fragment,
                       struct str matches)
{
    struct buf *b = &x->made;
    if (!is_own(x, seq))
        return;
    export_put_comma(x);
    buf_lit(b, "{\"Seq\":");
    buf_put_u64(b, seq);
    buf_printf(b, ",\"Fingerprint\":\"%.*s\"", STR_ARG(print));
    export_put_member(b, "Fragment", fragment);
    export_put_member(b, "Matches", matches);
    buf_put_char(b, '}');
}

static void on_lookups(struct request *r, enum err error, struct str reply)
{
    struct export *x = r->state;
    struct lines lines = lines_of(reply);
    if (!export_takes(x, error, &lines, STR("missing")))
        return;
    struct str next = lines_next(&lines);
    while (lines_are_left(&lines)) {
        uint64_t seq = lines_next_u64(&lines);
        (void)lines_next(&lines); /* the query */
        for (uint64_t n = lines_next_u64(&lines); n > 0 && lines_are_left(&lines); n--) {
            struct str print = lines_next(&lines), fragment = lines_next(&lines);
            put_lookup(x, seq, print, fragment, lines_next(&lines));
        }
    }
    export_set(&x->after, next);
    end_page(x);
}

/* --- the same of several shards: the topic's own says which lookups there are, shard 0 what they
 * are. It may know more than fits; then the page ends there. */

static void put_noted(struct export *x, struct lines *found)
{
    struct noted noted = lines_noted_of(buf_str(&x->noted));
    export_set(&x->after, noted.next);
    while (lines_next_noted(&noted))
        for (uint64_t i = 0; i < noted.n; i++) {
            if (!lines_are_left(found)) {
                buf_clear(&x->after);
                buf_printf(&x->after, "%llu.%llu", (unsigned long long)noted.seq,
                           (unsigned long long)(noted.before_n + i));
                return;
            }
            struct str print = lines_next(&noted.lines), fragment = lines_next(found);
            struct str matches = lines_next(found);
            if (fragment.n > 0)
                put_lookup(x, noted.seq, print, fragment, matches);
        }
}

static void on_found(struct request *r, enum err error, struct str reply)
{
    struct export *x = r->state;
    struct lines lines = lines_of(reply);
    if (!export_takes(x, error, &lines, STR("")))
        return;
    put_noted(x, &lines);
    end_page(x);
}

static void on_noted(struct request *r, enum err error, struct str reply)
{
    struct export *x = r->state;
    struct lines lines = lines_of(reply);
    uint64_t lookup_n = 0;
    if (!export_takes(x, error, &lines, STR("missing")))
        return;
    export_set(&x->noted, reply);
    struct noted noted = lines_noted_of(buf_str(&x->noted));
    while (lines_next_noted(&noted))
        for (uint64_t i = 0; i < noted.n; i++, lookup_n++)
            (void)lines_next(&noted.lines);
    if (lookup_n == 0) {
        export_set(&x->after, noted.next);
        end_page(x);
        return;
    }
    noted = lines_noted_of(buf_str(&x->noted));
    export_set(&x->what, buf_str(&x->topic));
    buf_printf(&x->what, ":%.*s", STR_ARG(noted.number));
    struct verb_writer verb =
        begin_read_lookups(export_call(x, on_found), .need = buf_str(&x->what));
    while (lines_next_noted(&noted))
        for (uint64_t i = 0; i < noted.n; i++)
            put_read_lookups_lookup(&verb, .fingerprint = lines_next(&noted.lines));
    end_verb(&verb);
}

void export_lookups(struct export *x)
{
    if (shard_n(x) > 1) {
        call_noted_lookups(export_call(x, on_noted), .topic = buf_str(&x->topic),
                           .user = x->person.on_behalf.user_name, .after = buf_str(&x->after),
                           .limit = NO_NUMBER);
        return;
    }
    call_list_lookups(export_call(x, on_lookups), .topic = buf_str(&x->topic),
                      .user = x->person.on_behalf.user_name, .after = buf_str(&x->after),
                      .limit = NO_NUMBER);
}

/* --- recommendations -------------------------------------------------------------------------- */

static void on_recommendations(struct request *r, enum err error, struct str reply)
{
    struct export *x = r->state;
    struct lines lines = lines_of(reply);
    if (!export_takes(x, error, &lines, STR("")))
        return;
    struct str next = lines_next(&lines);
    while (lines_are_left(&lines)) {
        export_begin_item(x);
        buf_put(&x->made, lines_next(&lines));
    }
    export_set(&x->after, next);
    if (next.n == 0 && ++x->shard == shard_n(x)) {
        export_end_list(x);
        x->shard = 0;
        x->stage = EXPORT_RUNS;
    }
    export_go_on(x);
}

void export_recommendations(struct export *x)
{
    if (x->shard == 0 && x->after.n == 0)
        export_begin_file(x, STR("recommendations.json"));
    call_user_recommendations(export_call_at(x, x->shard, on_recommendations),
                              .user = x->person.on_behalf.user_name, .after = buf_str(&x->after));
}
