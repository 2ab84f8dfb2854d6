/* SPDX-License-Identifier: MIT
 * store.c - what the document service's handlers share: owners, ids, refusals. */
#include "services/documents/documents.h"

#include "shared/text/text.h"

#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>

enum { RETRY_MAX_S = 3600 };

static bool refuse_owner(struct request *r, enum err error, const char *detail)
{
    respond_error(r, error, detail);
    return false;
}

bool request_owner(struct request *r, struct owner *ret_owner)
{
    struct str given = request_param(r, "OnBehalfOf");
    struct owner owner = {r->account->name, {NULL, 0}, {NULL, 0}};
    char bytes[SPACE_MAX_BYTES];
    struct buf space = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    switch (r->account->role) {
    case ROLE_USER:
        if (given.at != NULL && !str_eq(given, owner.name))
            return refuse_owner(r, ERR_FORBIDDEN, "An account of role user acts for itself only.");
        if (owner.name.n < 1 || owner.name.n > OWNER_MAX_BYTES)
            return refuse_owner(r, ERR_FORBIDDEN, "An owner's name has 1 to 128 bytes.");
        break;
    case ROLE_FRONTEND:
        if (given.n < 1 || given.n > OWNER_MAX_BYTES)
            return refuse_owner(r, ERR_BAD_REQUEST, "OnBehalfOf must be 1 to 128 bytes.");
        owner.name = given;
        break;
    default: return refuse_owner(r, ERR_FORBIDDEN, NULL);
    }
    buf_lit(&space, "o:");
    namespace_put_name(&space, r->account->namespace, owner.name);
    owner.space = request_copy(r, buf_str(&space));
    owner.name_token = (struct str){owner.space.at + 2, owner.space.n - 2};
    *ret_owner = owner;
    return true;
}

static bool is_id(struct str id)
{
    bool is_good = id.n == ID_BYTES;
    for (size_t i = 0; i < id.n && is_good; i++)
        is_good = (id.at[i] >= '0' && id.at[i] <= '9') || (id.at[i] >= 'a' && id.at[i] <= 'f');
    return is_good;
}

bool store_id_param(struct request *r, struct str *ret_id)
{
    struct str id = request_path_param(r, "id");
    if (!is_id(id)) {
        respond_error(r, ERR_NOT_FOUND, NULL);
        return false;
    }
    *ret_id = id;
    return true;
}

bool store_question_member(struct request *r, const char *name, size_t max, struct str *ret_text)
{
    struct str text = request_member_text(r, name);
    char detail[128];
    if (str_trim(text).n == 0 || text.n > 4 * max || text_length(text) > max) {
        snprintf(detail, sizeof detail, "%s must be a string of 1 to %zu characters.", name, max);
        respond_error(r, ERR_BAD_REQUEST, detail);
        return false;
    }
    *ret_text = text;
    return true;
}

bool store_top_k_member(struct request *r, const char *name, unsigned *ret_n)
{
    int64_t n = TOP_K_USUAL;
    if (request_member(r, name) != NULL && !request_number(r, name, 1, TOP_K_MAX, &n))
        return false;
    *ret_n = (unsigned)n;
    return true;
}

struct str store_new_id(struct request *r)
{
    unsigned char random[ID_BYTES / 2];
    char *id = request_alloc(r, ID_BYTES + 1);
    if (RAND_bytes(random, sizeof random) != 1)
        abort();
    str_hex(random, sizeof random, id);
    return (struct str){id, ID_BYTES};
}

static void put_header(struct request *r, const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    respond_header(r, name, str_of(text));
}

void documents_refuse_limited(struct request *r, uint64_t retry_ms, uint64_t limit,
                              uint64_t window_s)
{
    char detail[160];
    uint64_t retry_s = retry_ms / 1000 + (retry_ms % 1000 != 0);
    retry_s = retry_s < 1 ? 1 : retry_s > RETRY_MAX_S ? RETRY_MAX_S : retry_s;
    snprintf(detail, sizeof detail,
             "Too many requests: at most %llu in %llu seconds. Retry in %llu seconds.",
             (unsigned long long)limit, (unsigned long long)window_s, (unsigned long long)retry_s);
    put_header(r, "ratelimit-limit", limit);
    put_header(r, "ratelimit-remaining", 0);
    put_header(r, "ratelimit-reset", retry_s);
    respond_error_more(r, ERR_RATE_LIMITED, detail, NULL, (unsigned)retry_s);
}

bool documents_refuse(struct request *r, enum err error, struct str tag, struct lines *rest)
{
    static const struct {
        struct str tag;
        enum err error;
    } refusals[] = {
        {STR("missing"), ERR_NOT_FOUND},
        {STR("gone"), ERR_NOTHING_KEPT},
    };
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
        return true;
    }
    if (str_eq(tag, STR("limited"))) {
        uint64_t retry_ms = lines_next_u64(rest), limit = lines_next_u64(rest);
        documents_refuse_limited(r, retry_ms, limit, lines_next_u64(rest));
        return true;
    }
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if (str_eq(tag, refusals[i].tag)) {
            respond_error(r, refusals[i].error, NULL);
            return true;
        }
    return false;
}

void documents_put_chunk_id(struct buf *b, struct str doc, uint32_t chunk)
{
    buf_put(b, doc);
    buf_put_char(b, ':');
    buf_put_u64(b, chunk);
}
