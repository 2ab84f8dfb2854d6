/* SPDX-License-Identifier: MIT
 * routes.c - /v1/batches: created, listed, read, cancelled (lua/batches/). */
#include "services/openai/batches/batches.h"

#include "generated/verbs.h"
#include "services/openai/files/files.h"
#include "services/openai/members.h"
#include "services/openai/metadata.h"
#include "shared/ask/reply.h"
#include "shared/http/request/explain.h"

enum { LIMIT_MAX = 100, LIMIT = 20, BATCH_MAX_BYTES = 256 << 10, LIST_MAX_BYTES = 16 << 20 };
enum { OPEN_RETRY_S = 60 };

bool batch_endpoint(struct str path, enum openai_api *ret_api)
{
    static const struct {
        const char *path;
        enum openai_api api;
    } known[] = {{"/v1/chat/completions", OPENAI_CHAT},
                 {"/v1/completions", OPENAI_COMPLETIONS},
                 {"/v1/embeddings", OPENAI_EMBEDDINGS},
                 {"/v1/responses", OPENAI_CHAT}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_eq(path, str_of(known[i].path))) {
            *ret_api = known[i].api;
            return true;
        }
    return false;
}

/* --- one as JSON ------------------------------------------------------------------------------ */

static void put_time(struct buf *b, const char *name, struct lines *lines)
{
    unsigned long long ms = lines_next_u64(lines);
    if (ms > 0)
        buf_printf(b, ",\"%s\":%llu", name, ms / 1000);
}

static void put_file_id(struct buf *b, const char *name, struct lines *lines)
{
    struct str id = lines_next(lines);
    if (id.n > 0)
        buf_printf(b, ",\"%s\":\"" FILE_PREFIX "%.*s\"", name, STR_ARG(id));
}

/* Takes 20 lines, as lua/batches/batches.lua writes them. `ret_id`: borrowed. */
static void put_batch(struct buf *b, struct lines *lines, struct str *ret_id)
{
    static const char *const times[] = {"finalizing_at", "completed_at",  "failed_at",
                                        "expired_at",    "cancelling_at", "cancelled_at"};
    *ret_id = lines_next(lines);
    buf_printf(
        b, "{\"id\":\"" BATCH_PREFIX "%.*s\",\"object\":\"batch\",\"endpoint\":", STR_ARG(*ret_id));
    buf_put_json(b, lines_next(lines));
    put_file_id(b, "input_file_id", lines);
    buf_lit(b, ",\"completion_window\":\"24h\",\"status\":");
    buf_put_json(b, lines_next(lines));
    put_time(b, "created_at", lines);
    put_time(b, "in_progress_at", lines);
    put_time(b, "expires_at", lines);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        put_time(b, times[i], lines);
    unsigned long long total = lines_next_u64(lines), completed = lines_next_u64(lines);
    unsigned long long failed = lines_next_u64(lines);
    buf_printf(b, ",\"request_counts\":{\"total\":%llu,\"completed\":%llu,\"failed\":%llu}", total,
               completed, failed);
    put_file_id(b, "output_file_id", lines);
    put_file_id(b, "error_file_id", lines);
    struct str errors = lines_next(lines), metadata = lines_next(lines);
    if (errors.n > 0) {
        buf_lit(b, ",\"errors\":{\"object\":\"list\",\"data\":");
        buf_put(b, errors);
        buf_put_char(b, '}');
    }
    buf_lit(b, ",\"metadata\":");
    buf_put(b, metadata.n > 0 ? metadata : STR("null"));
    buf_put_char(b, '}');
}

/* --- refusals --------------------------------------------------------------------------------- */

static bool refuse_create(struct request *r, struct str tag, struct lines *lines)
{
    if (str_eq(tag, STR("missing"))) {
        (void)!explain_member(r, "input_file_id", "the id of a file of this person");
    } else if (str_eq(tag, STR("purpose"))) {
        respond_error(r, ERR_BAD_REQUEST, "The file of a batch must have the purpose `batch`.");
    } else if (str_eq(tag, STR("open"))) {
        char detail[128];
        uint64_t most = lines_next_u64(lines);
        snprintf(detail, sizeof detail,
                 "This person has %llu %s that have not ended, which is the limit.",
                 COUNTED_AS(most, "batch", "batches"));
        respond_error_more(r, ERR_USER_QUEUE_FULL, detail, NULL, OPEN_RETRY_S);
    } else if (str_eq(tag, STR("many"))) {
        respond_error_more(r, ERR_USER_QUEUE_FULL,
                           "This person has 1,000 batches, and none of the oldest has ended.", NULL,
                           OPEN_RETRY_S);
    } else {
        return false;
    }
    return true;
}

bool batch_refuse(struct request *r, enum err error, struct str tag, struct lines *lines)
{
    if (error == ERR_OK && str_eq(tag, STR("missing"))) {
        (void)!explain_missing(r, "batch", request_path_param(r, "batch_id"), NULL);
        return true;
    }
    if (error == ERR_OK && str_eq(tag, STR("ended"))) {
        explain(r, ERR_CONFLICT, "The batch has ended: its status is %s.",
                explain_quoted(r, lines_next(lines)));
        return true;
    }
    return reply_refuse(r, error, tag, lines);
}

static void answer(struct request *r, struct lines *lines)
{
    struct str id;
    struct buf b;
    buf_init(&b, BATCH_MAX_BYTES);
    put_batch(&b, lines, &id);
    respond_json(r, 200, &b);
    buf_fini(&b);
}

/* --- the routes ------------------------------------------------------------------------------- */

static void on_created(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    if (error == ERR_OK && refuse_create(r, tag, &lines))
        return;
    if (!reply_refuse(r, error, tag, &lines))
        answer(r, &lines);
}

static bool read_endpoint(struct request *r, struct str *ret_endpoint)
{
    enum openai_api api;
    if (!request_text(r, "endpoint", 1, 64, ret_endpoint))
        return false;
    return batch_endpoint(*ret_endpoint, &api) ||
           explain_member(r, "endpoint",
                          "/v1/chat/completions, /v1/completions, /v1/embeddings or /v1/responses");
}

/* How long its results are kept: from when they become files. */
static bool read_kept(struct request *r, uint64_t *ret_kept_s)
{
    const struct json_span *given = request_member(r, "output_expires_after");
    struct members members;
    *ret_kept_s = FILE_KEPT_S;
    if (given == NULL)
        return true;
    if (given->kind == JSON_SPAN_OBJECT && members_read(&members, given->raw)) {
        const struct json_span *anchor = members_get_kind(&members, "anchor", JSON_SPAN_TEXT);
        *ret_kept_s = members_u64(&members, "seconds", 0);
        if (anchor != NULL && str_eq(anchor->raw, STR("created_at")) &&
            *ret_kept_s >= FILE_EXPIRES_MIN_S && *ret_kept_s <= FILE_EXPIRES_MAX_S)
            return true;
    }
    return explain_member(r, "output_expires_after",
                          "an object with the anchor `created_at` and 3600 to 2592000 seconds");
}

static bool read_metadata(struct request *r, struct str *ret_json)
{
    struct str lines;
    struct buf b;
    if (!metadata_read(r, &lines))
        return false;
    buf_init(&b, BATCH_MAX_BYTES);
    metadata_put(&b, lines);
    *ret_json = request_copy(r, buf_str(&b));
    buf_fini(&b);
    return true;
}

void openai_create_batch(struct request *r)
{
    struct file_owner owner;
    struct str endpoint, input, window, metadata, file;
    char id[BATCH_ID_CHARS + 1];
    uint64_t kept_s;
    if (!request_body(r) || !file_owner_of(r, &owner) || !read_endpoint(r, &endpoint) ||
        !request_text(r, "input_file_id", 1, 128, &input) ||
        !request_text(r, "completion_window", 1, 16, &window) || !read_kept(r, &kept_s) ||
        !read_metadata(r, &metadata))
        return;
    if (!str_eq(window, STR("24h"))) {
        (void)!explain_member(r, "completion_window", "24h");
        return;
    }
    if (!file_id_read(input, &file)) {
        (void)!explain_member(r, "input_file_id", "the id of a file of this person");
        return;
    }
    if (r->identity != NULL) { /* ADR 99 */
        respond_error(r, ERR_FORBIDDEN,
                      "A batch may run for 24 hours, but the provider's token proves this user's "
                      "rights only until it expires. Use the key of an account of this cluster.");
        return;
    }
    str_random_hex(BATCH_ID_CHARS / 2, id);
    call_batch_create(request_call(r, on_created), .owner = owner.owner,
                      .account = r->account->name_token, .user = owner.person.user_name,
                      .batch = str_of(id), .input = file, .endpoint = endpoint,
                      .metadata = metadata, .window_s = BATCH_WINDOW_S, .kept_s = kept_s);
}

bool batch_id_read(struct str text, struct str *ret_id)
{
    struct str prefix = STR(BATCH_PREFIX);
    if (!str_has_prefix(text, prefix) || text.n != prefix.n + BATCH_ID_CHARS)
        return false;
    *ret_id = (struct str){text.at + prefix.n, BATCH_ID_CHARS};
    return file_is_hex(*ret_id);
}

static bool find(struct request *r, struct file_owner *ret_owner, struct str *ret_id)
{
    struct str id = request_path_param(r, "batch_id");
    return file_owner_of(r, ret_owner) &&
           (batch_id_read(id, ret_id) || explain_missing(r, "batch", id, NULL));
}

static void on_shown(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (!batch_refuse(r, error, lines_next(&lines), &lines))
        answer(r, &lines);
}

void openai_show_batch(struct request *r)
{
    struct file_owner owner;
    struct str id;
    if (find(r, &owner, &id))
        call_batch_show(request_call(r, on_shown), .owner = owner.owner,
                        .account = r->account->name_token, .user = owner.person.user_name,
                        .batch = id);
}

void openai_cancel_batch(struct request *r)
{
    struct file_owner owner;
    struct str id;
    if (find(r, &owner, &id))
        call_batch_cancel(request_call(r, on_shown), .owner = owner.owner,
                          .account = r->account->name_token, .user = owner.person.user_name,
                          .batch = id);
}

static void on_listed(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines), first = STR(""), last = STR("");
    struct buf b;
    if (error == ERR_OK && str_eq(tag, STR("after"))) {
        (void)!explain_param(r, "after", "the id of a batch in this list");
        return;
    }
    if (reply_refuse(r, error, tag, &lines))
        return;
    bool is_more = lines_next_u64(&lines) == 1;
    buf_init(&b, LIST_MAX_BYTES);
    buf_lit(&b, "{\"object\":\"list\",\"data\":[");
    while (lines_are_left(&lines)) {
        if (first.n > 0)
            buf_put_char(&b, ',');
        put_batch(&b, &lines, &last);
        if (first.n == 0)
            first = last;
    }
    buf_put_char(&b, ']');
    if (first.n > 0)
        buf_printf(&b,
                   ",\"first_id\":\"" BATCH_PREFIX "%.*s\",\"last_id\":\"" BATCH_PREFIX "%.*s\"",
                   STR_ARG(first), STR_ARG(last));
    buf_printf(&b, ",\"has_more\":%s}", is_more ? "true" : "false");
    respond_json(r, 200, &b);
    buf_fini(&b);
}

void openai_list_batches(struct request *r)
{
    struct file_owner owner;
    struct str after = request_param(r, "after"), id = STR("");
    uint64_t limit;
    if (!file_owner_of(r, &owner) || !request_param_u64(r, "limit", 1, LIMIT_MAX, LIMIT, &limit))
        return;
    if (after.at != NULL && !batch_id_read(after, &id)) {
        (void)!explain_param(r, "after", "the id of a batch in this list");
        return;
    }
    call_batch_list(request_call(r, on_listed), .owner = owner.owner,
                    .account = r->account->name_token, .user = owner.person.user_name, .after = id,
                    .limit = limit);
}
