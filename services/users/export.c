/* SPDX-License-Identifier: MIT
 * export.c - see export.h.
 *
 *   TOPICS -> THREAD -> LOOKUPS -+-> RECOMMENDATIONS -> RUNS -> MESSAGES -> BOTS --.
 *     ^--------------------------'                                                |
 *   .-----------------------------------------------------------------------------'
 *   '-> EVALUATIONS -> TURNS -+-> DOCUMENTS -> FILES -> CONTENT -+--.
 *            ^----------------'                  ^---------------'  |
 *   .---------------------------------------------------------------'
 *   '-> BATCHES -> UPLOADS -> UPLOAD -> BYTES -+-> END
 *                                ^-------------'
 *
 * One page of a verb after the other. What a reply brings is put into `made`, from there in slices
 * into the zip, and what that has written to the client; the next page is asked for when the client
 * has taken all of it. So an export holds only one page. Those who export take
 * turns at that (ADR 77): a few pages are in memory at a time, and a client that does not read its
 * page while others wait is cut off.
 *
 * The answer begins with the first reply. A later failure closes the connection before the end of
 * the response and of the zip, so a client cannot mistake it for a complete export. */
#include "services/users/export.h"

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/http/request/respond.h"

enum {
    EXPORTS_MAX = 64,        /* of a node at once; half of them of one account */
    PAGES_MAX = 8,           /* of them in memory */
    PATIENCE_MS = 10000,     /* with the reader of one, while others wait */
    MADE_MAX = 64 << 20,     /* the largest row, as JSON */
    SLICE_BYTES = 128 << 10, /* that are compressed in a step: some milliseconds */
    OUT_MAX = 1 << 20,
    RETRY_S = 30,
};

static const char content_type[] = "application/zip", filename[] = "export.zip";

static void step(struct export *x)
{
    switch (x->stage) {
    case EXPORT_TOPICS: export_topics(x); break;
    case EXPORT_THREAD: export_thread(x); break;
    case EXPORT_LOOKUPS: export_lookups(x); break;
    case EXPORT_RECOMMENDATIONS: export_recommendations(x); break;
    case EXPORT_RUNS: export_runs(x); break;
    case EXPORT_MESSAGES: export_messages(x); break;
    case EXPORT_BOTS: export_bots(x); break;
    case EXPORT_EVALUATIONS: export_evaluations(x); break;
    case EXPORT_TURNS: export_turns(x); break;
    case EXPORT_DOCUMENTS: export_documents(x); break;
    case EXPORT_FILES: export_files(x); break;
    case EXPORT_CONTENT: export_content(x); break;
    case EXPORT_BATCHES: export_batches(x); break;
    case EXPORT_UPLOADS: export_uploads(x); break;
    case EXPORT_UPLOAD: export_upload(x); break;
    case EXPORT_BYTES: export_bytes(x); break;
    case EXPORT_END:
    case EXPORT_NR:
        zip_finish(&x->zip);
        download_end(&x->download);
        break;
    }
}

/* Puts a slice of what was made into the zip, or makes more. */
static void advance(struct export *x)
{
    size_t left = x->made.n - x->zipped_n;
    if (x->made.is_over || x->zip.is_broken) {
        export_fail(x, "does not fit");
    } else if (left > 0) {
        size_t n = left < SLICE_BYTES ? left : SLICE_BYTES;
        zip_put(&x->zip, (struct str){x->made.at + x->zipped_n, n});
        x->zipped_n += n;
        if (x->zipped_n == x->made.n) {
            buf_clear(&x->made);
            x->zipped_n = 0;
        }
    } else {
        step(x);
    }
}

/* --- turns ------------------------------------------------------------------------------------ */

struct fair_slots *exports_turns(void)
{
    return fair_slots_create(&(struct fair_slots_config){.slot_n = PAGES_MAX});
}

/* Compressing takes milliseconds, and many do it at once: it is one of the loop's long works. */
static void go_on_soon(struct export *x)
{
    loop_begin_steps(x->r->server->loop, &x->steps);
}

static void fill(struct users *users)
{
    struct fair_entry *entry;
    while ((entry = fair_slots_next(users->turns)) != NULL) {
        struct export *x = container_of(entry, struct export, entry);
        loop_set_deadline(x->r->server->loop, &x->patience, PATIENCE_MS);
        go_on_soon(x);
    }
}

static void wait_for_turn(struct export *x)
{
    struct users *users = users_of(x->r);
    const struct fair_owner owner = {x->r->account->name_token, x->person.on_behalf.user_name,
                                     STR("")};
    fair_slots_wait(users->turns, &x->entry, &owner, 1);
    fill(users);
}

/* With the memory of its page, which may have been a large one. */
static void give_back(struct export *x)
{
    struct users *users = users_of(x->r);
    buf_fini(&x->made);
    buf_init(&x->made, MADE_MAX);
    x->zipped_n = 0;
    loop_cancel_deadline(x->r->server->loop, &x->patience);
    fair_slots_leave(users->turns, &x->entry);
    fill(users);
}

static void on_impatient(struct deadline *deadline)
{
    struct export *x = container_of(deadline, struct export, patience);
    if (x->is_asking || fair_slots_waiting(users_of(x->r)->turns) == 0) {
        loop_set_deadline(x->r->server->loop, &x->patience, PATIENCE_MS);
        return;
    }
    give_back(x); /* its client may never take what was sent, and learn of its end */
    export_fail(x, "its client reads too slowly, and others wait");
}

/* Returns whether it can continue without a reply, and without its client. */
static bool pump(struct steps *steps)
{
    struct export *x = container_of(steps, struct export, steps);
    if (x->is_asking || (x->download.is_started && !download_is_idle(&x->download)))
        return false;
    if (x->entry.part == NULL)
        wait_for_turn(x);
    if (!x->entry.has_slot)
        return false;
    advance(x);
    download_flush(&x->download);
    if (!x->is_asking && x->zipped_n == x->made.n)
        give_back(x);
    return !x->is_asking && download_is_idle(&x->download);
}

static void on_idle(struct download *download)
{
    go_on_soon(container_of(download, struct export, download));
}

void export_go_on(struct export *x)
{
    x->is_asking = false;
    go_on_soon(x);
}

void export_fail(struct export *x, const char *why)
{
    log_write(LOG_WARN, "user export cut off", LOG_S("reason", why),
              LOG_STR("user", x->person.on_behalf.user_name), LOG_STR("request", x->r->id));
    download_cut(&x->download);
}

struct call_start export_call(struct export *x, request_reply_cb *on_reply)
{
    x->is_asking = true;
    return request_call(x->r, on_reply);
}

struct call_start export_call_at(struct export *x, unsigned shard, request_reply_cb *on_reply)
{
    x->is_asking = true;
    return request_call_at(x->r, shard, on_reply);
}

/* The first reply: now the answer begins. */
static void start(struct export *x)
{
    zip_init(&x->zip, &x->download.out);
    download_start(&x->download, content_type, filename);
    zip_begin(&x->zip, STR("user.json"), x->now_s);
    struct buf *b = &x->r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"Format\":1,\"User\":");
    buf_put_json(b, x->person.on_behalf.user);
    buf_lit(b, ",\"Timestamp\":");
    buf_put_json_time(b, x->now_s * 1000);
    buf_lit(b, "}\n");
    zip_put(&x->zip, buf_str(b));
    export_begin_file(x, STR("topics.json"));
}

bool export_takes(struct export *x, enum err error, struct lines *lines, struct str other)
{
    struct str tag = lines_next(lines);
    if (!x->download.is_started) {
        if (reply_refuse(x->r, error, tag, lines))
            return false;
        if (request_is_head(x->r)) {
            download_answer_head(x->r, content_type, filename);
            return false;
        }
        start(x);
    }
    if (error != ERR_OK) {
        x->is_asking = false;
        export_fail(x, err_info(error)->code);
        return false;
    }
    if (str_eq(tag, STR("ok")) || (other.n > 0 && str_eq(tag, other)))
        return true;
    x->is_asking = false;
    export_fail(x, "the data was deleted during the export");
    return false;
}

void export_begin_file(struct export *x, struct str path)
{
    zip_begin(&x->zip, path, x->now_s);
    x->is_first = true;
}

void export_put_comma(struct export *x)
{
    buf_put(&x->made, x->is_first ? STR("\n") : STR(",\n"));
    x->is_first = false;
}

void export_begin_item(struct export *x)
{
    buf_put(&x->made, x->is_first ? STR("[") : STR(""));
    export_put_comma(x);
}

void export_end_list(struct export *x)
{
    buf_put(&x->made, x->is_first ? STR("[]\n") : STR("\n]\n"));
}

void export_put_member(struct buf *b, const char *key, struct str json)
{
    buf_put_key(b, key);
    buf_put(b, json.n > 0 ? json : STR("null"));
}

void export_set(struct buf *b, struct str s)
{
    buf_clear(b);
    buf_put(b, s);
}

void export_on_page(struct request *r, enum err error, struct str reply)
{
    struct export *x = r->state;
    struct lines lines = lines_of(reply);
    if (!export_takes(x, error, &lines, STR("")))
        return;
    struct str next = lines_next(&lines);
    export_set(&x->page_after, next);
    x->is_last_page = next.n == 0;
    export_set(&x->page, lines.rest);
    x->rest = lines_of(lines.rest.at == NULL ? lines.rest : buf_str(&x->page));
    x->is_page = true;
    export_go_on(x);
}

/* --- life ------------------------------------------------------------------------------------- */

static void on_gone(struct request *r)
{
    struct export *x = r->state;
    struct buf *own[] = {&x->made, &x->page, &x->page_after, &x->after, &x->topic,
                         &x->own,  &x->doc,  &x->filename,   &x->what,  &x->noted};
    list_remove(&x->link);
    steps_end(&x->steps);
    give_back(x);
    zip_fini(&x->zip);
    download_fini(&x->download);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        buf_fini(own[i]);
}

/* May it begin beside those under way on this node? */
static bool has_place(struct request *r, const struct user_of_path *person)
{
    unsigned n = 0, of_account_n = 0;
    list_for_each (struct export, x, &users_of(r)->exports, link) {
        if (x->download.is_ending || x->download.is_cut)
            continue;
        n++;
        of_account_n += str_eq(x->r->account->name_token, r->account->name_token);
        if (str_eq(x->person.on_behalf.user_name, person->on_behalf.user_name)) {
            respond_error_more(r, ERR_RATE_LIMITED,
                               "An export of this user is already running: wait for it or end it.",
                               NULL, RETRY_S);
            return false;
        }
    }
    if (of_account_n >= EXPORTS_MAX / 2)
        respond_error_more(r, ERR_RATE_LIMITED,
                           "Too many exports of this account are running: wait for one or end it.",
                           NULL, RETRY_S);
    else if (n >= EXPORTS_MAX)
        respond_error_more(r, ERR_BUSY, NULL, NULL, RETRY_S);
    else
        return true;
    return false;
}

void users_export(struct request *r)
{
    struct user_of_path person;
    if (!person_of_path(r, &person) || !has_place(r, &person))
        return;
    struct export *x = request_alloc(r, sizeof *x);
    *x = (struct export){.r = r, .person = person, .now_s = clock_wall_s()};
    struct buf *own[] = {&x->made, &x->page, &x->page_after, &x->after, &x->topic,
                         &x->own,  &x->doc,  &x->filename,   &x->what,  &x->noted};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        buf_init(own[i], MADE_MAX);
    x->steps.step = pump;
    x->patience.on_expire = on_impatient;
    x->is_first = true;
    list_prepend(&users_of(r)->exports, &x->link);
    download_init(&x->download, r, OUT_MAX, on_idle);
    r->state = x;
    r->on_gone = on_gone;
    go_on_soon(x);
}
