/* SPDX-License-Identifier: MIT
 * store.c - what the document service's handlers share: owners, ids, refusals, documents as JSON.
 */
#include "services/documents/documents.h"

#include <openssl/rand.h>
#include <stdarg.h>
#include <stdio.h>

enum { NAME_MAX_BYTES = OWNER_MAX_BYTES * 3, LIMITS_MAX_BYTES = 1024 };

static struct str name_of(struct request *r, struct str s)
{
    char bytes[NAME_MAX_BYTES];
    struct buf name = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    buf_put_name(&name, s); /* callers hold `s` to OWNER_MAX_BYTES, so this never grows */
    return request_copy(r, buf_str(&name));
}

bool documents_owner(struct request *r, struct str *ret_owner, struct str *ret_space)
{
    struct str given = request_param(r, "OnBehalfOf");
    if (r->account->role == ROLE_USER) {
        if (given.at != NULL && !str_eq(given, r->account->name)) {
            respond_error(r, ERR_FORBIDDEN, "An account of role user acts for itself only.");
            return false;
        }
        *ret_owner = r->account->name_token;
    } else {
        if (given.n < 1 || given.n > OWNER_MAX_BYTES) {
            respond_error(r, ERR_BAD_REQUEST,
                          "OnBehalfOf, a parameter, must name the owner in 1 to 128 bytes.");
            return false;
        }
        *ret_owner = name_of(r, given);
    }
    char *space = request_alloc(r, ret_owner->n + 2);
    memcpy(space, "o:", 2);
    memcpy(space + 2, ret_owner->at, ret_owner->n);
    *ret_space = (struct str){space, ret_owner->n + 2};
    return true;
}

bool documents_id(struct request *r, struct str *ret_id)
{
    struct str id = request_path_param(r, "id");
    bool is_good = id.n == DOCUMENT_ID_BYTES;
    for (size_t i = 0; i < id.n && is_good; i++)
        is_good = (id.at[i] >= '0' && id.at[i] <= '9') || (id.at[i] >= 'a' && id.at[i] <= 'f');
    if (!is_good)
        respond_error(r, ERR_NOT_FOUND, NULL);
    *ret_id = id;
    return is_good;
}

struct str documents_new_id(struct request *r)
{
    unsigned char random[DOCUMENT_ID_BYTES / 2];
    char *hex = request_alloc(r, DOCUMENT_ID_BYTES + 1);
    if (RAND_bytes(random, sizeof random) != 1)
        abort();
    str_hex(random, sizeof random, hex);
    return (struct str){hex, DOCUMENT_ID_BYTES};
}

struct str documents_limits(struct request *r, const char *format, ...)
{
    char *text = request_alloc(r, LIMITS_MAX_BYTES);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, LIMITS_MAX_BYTES, format, args);
    va_end(args);
    if (n < 0 || n >= LIMITS_MAX_BYTES)
        abort(); /* names are short: a bug of ours */
    return (struct str){text, (size_t)n};
}

/* limited/<retry ms>/<limit>/<window s> */
static void refuse_limited(struct request *r, struct lines *rest)
{
    char number[24];
    uint64_t retry_ms = lines_next_u64(rest), limit = lines_next_u64(rest);
    uint64_t window_s = lines_next_u64(rest);
    unsigned retry_s = (unsigned)((retry_ms + 999) / 1000);
    snprintf(number, sizeof number, "%llu", (unsigned long long)limit);
    respond_header(r, "ratelimit-limit", request_copy(r, str_of(number)));
    respond_header(r, "ratelimit-remaining", STR("0"));
    snprintf(number, sizeof number, "%u", retry_s);
    respond_header(r, "ratelimit-reset", request_copy(r, str_of(number)));
    char detail[128];
    snprintf(detail, sizeof detail, "At most %llu such requests in %llu seconds: retry in %u s.",
             (unsigned long long)limit, (unsigned long long)window_s, retry_s);
    respond_error_more(r, ERR_RATE_LIMITED, detail, NULL, retry_s == 0 ? 1 : retry_s);
}

/* full/<bytes used>/<cap> */
static void refuse_full(struct request *r, struct lines *rest)
{
    char detail[160];
    uint64_t used = lines_next_u64(rest), cap = lines_next_u64(rest);
    snprintf(detail, sizeof detail,
             "Your documents take %llu MiB of the %llu MiB that you may use: delete some first.",
             (unsigned long long)(used >> 20), (unsigned long long)(cap >> 20));
    respond_error(r, ERR_STORAGE_FULL, detail);
}

bool documents_refuse(struct request *r, enum err error, struct str tag, struct lines *rest)
{
    static const struct {
        struct str tag;
        enum err error;
    } refusals[] = {
        {STR("missing"), ERR_NOT_FOUND},
        {STR("gone"), ERR_UPLOAD_AGAIN},
        {STR("many"), ERR_TOO_MANY_DOCUMENTS},
    };
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
        return true;
    }
    if (str_eq(tag, STR("limited"))) {
        refuse_limited(r, rest);
        return true;
    }
    if (str_eq(tag, STR("full"))) {
        refuse_full(r, rest);
        return true;
    }
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if (str_eq(tag, refusals[i].tag)) {
            respond_error(r, refusals[i].error, NULL);
            return true;
        }
    return false;
}

static void put_text(struct buf *b, const char *name, struct str text)
{
    buf_printf(b, ",\"%s\":", name);
    if (text.n == 0)
        buf_lit(b, "null");
    else
        buf_put_json(b, text);
}

static void put_or_null(struct buf *b, const char *name, struct str json)
{
    buf_printf(b, ",\"%s\":", name);
    buf_put(b, json.n == 0 ? STR("null") : json);
}

void documents_put(struct buf *b, struct lines *lines, uint64_t *ret_chunk_n)
{
    buf_lit(b, "{\"id\":");
    buf_put_json(b, lines_next(lines));
    put_or_null(b, "filename", lines_next(lines));
    put_text(b, "contentType", lines_next(lines));
    put_or_null(b, "sizeBytes", lines_next(lines));
    put_text(b, "status", lines_next(lines));
    buf_lit(b, ",\"createdAt\":");
    buf_put_json_ms(b, lines_next_u64(lines));
    buf_lit(b, ",\"updatedAt\":");
    buf_put_json_ms(b, lines_next_u64(lines));
    *ret_chunk_n = lines_next_u64(lines);
    (void)lines_next(lines); /* the path of a collection's file */
    struct str job = lines_next(lines);
    if (job.n == 0) {
        buf_lit(b, ",\"latestJob\":null");
        for (int i = 0; i < 4; i++)
            (void)lines_next(lines);
        return;
    }
    buf_lit(b, ",\"latestJob\":{\"id\":");
    buf_put_json(b, job);
    put_text(b, "status", lines_next(lines));
    put_text(b, "stage", lines_next(lines));
    put_or_null(b, "progress", lines_next(lines));
    put_or_null(b, "errorMessage", lines_next(lines));
    buf_put_char(b, '}');
}
