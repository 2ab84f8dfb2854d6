/* SPDX-License-Identifier: MIT
 * files.c - see files.h; and GET and DELETE of /v1/files/{file_id}. */
#include "services/openai/files/files.h"

#include "generated/verbs.h"
#include "services/openai/input.h"
#include "shared/ask/reply.h"
#include "shared/base/mem.h"
#include "shared/http/request/explain.h"
#include "shared/redis/blocks.h"

#include <openssl/evp.h>
#include <stdlib.h>

/* --- where they are --------------------------------------------------------------------------- */

struct file_ways {
    const struct shard_map *map;
    struct blocks *blocks[SHARDS_MAX];
};

struct file_ways *file_ways_create(struct loop *loop, const struct shard_map *map)
{
    struct file_ways *ways = mem_zeroed(sizeof *ways);
    ways->map = map;
    for (unsigned i = 0; i < map->server_n; i++)
        ways->blocks[i] = blocks_create(loop, &map->servers[i]);
    return ways;
}

void file_ways_destroy(struct file_ways *ways)
{
    if (ways == NULL)
        return;
    for (unsigned i = 0; i < ways->map->server_n; i++)
        blocks_destroy(ways->blocks[i]);
    free(ways);
}

struct blocks *file_ways_blocks(const struct file_ways *ways, struct str owner)
{
    return ways->blocks[shard_of(owner, ways->map->n) % ways->map->server_n];
}

const char *file_ways_prefix(const struct file_ways *ways, struct str owner)
{
    return ways->map->prefixes[shard_of(owner, ways->map->n)];
}

/* --- whose they are --------------------------------------------------------------------------- */

void file_owner_digest(struct str account, struct str user_name, char *ret_owner)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    if (digest == NULL || EVP_DigestInit_ex(digest, EVP_sha256(), NULL) != 1 ||
        EVP_DigestUpdate(digest, account.at, account.n) != 1 ||
        EVP_DigestUpdate(digest, " ", 1) != 1 ||
        EVP_DigestUpdate(digest, user_name.at, user_name.n) != 1 ||
        EVP_DigestFinal_ex(digest, bytes, NULL) != 1)
        abort();
    EVP_MD_CTX_free(digest);
    str_hex(bytes, FILE_OWNER_CHARS / 2, ret_owner);
}

bool file_owner_of(struct request *r, struct file_owner *ret_owner)
{
    char *owner = request_alloc(r, FILE_OWNER_CHARS + 1);
    if (!input_person(r, (struct str){NULL, 0}, &ret_owner->person))
        return false;
    file_owner_digest(r->account->name_token, ret_owner->person.user_name, owner);
    ret_owner->owner = str_of(owner);
    return true;
}

bool file_is_hex(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (memchr("0123456789abcdef", text.at[i], 16) == NULL)
            return false;
    return true;
}

bool file_id_read(struct str text, struct str *ret_id)
{
    size_t before = sizeof FILE_PREFIX - 1;
    if (!str_has_prefix(text, STR(FILE_PREFIX)) || text.n != before + FILE_ID_CHARS)
        return false;
    *ret_id = (struct str){text.at + before, FILE_ID_CHARS};
    return file_is_hex(*ret_id);
}

/* --- answers ---------------------------------------------------------------------------------- */

void file_put(struct buf *b, struct lines *lines, struct str *ret_id)
{
    struct str id = lines_next(lines);
    unsigned long long bytes = lines_next_u64(lines), created_ms = lines_next_u64(lines);
    unsigned long long expires_ms = lines_next_u64(lines);
    if (ret_id != NULL)
        *ret_id = id;
    buf_printf(b,
               "{\"id\":\"" FILE_PREFIX "%.*s\",\"object\":\"file\",\"bytes\":%llu,"
               "\"created_at\":%llu,",
               STR_ARG(id), bytes, created_ms / 1000);
    if (expires_ms > 0)
        buf_printf(b, "\"expires_at\":%llu,", expires_ms / 1000);
    buf_lit(b, "\"filename\":");
    buf_put(b, lines_next(lines));
    buf_lit(b, ",\"purpose\":");
    buf_put_json(b, lines_next(lines));
    buf_lit(b, ",\"status\":\"processed\"}");
}

bool file_refuse(struct request *r, enum err error, struct str tag, struct lines *lines)
{
    if (error == ERR_OK && str_eq(tag, STR("missing"))) {
        (void)!explain_missing(r, "file", request_path_param(r, "file_id"), NULL);
        return true;
    }
    if (error == ERR_OK && str_eq(tag, STR("many"))) {
        respond_error(r, ERR_TOO_MUCH_STORED,
                      "This person has 10,000 files, which is the limit: delete some.");
        return true;
    }
    if (error == ERR_OK && str_eq(tag, STR("gone"))) /* Redis lost what was pushed, or was slow */
        error = ERR_REDIS_LOST;
    return reply_refuse(r, error, tag, lines);
}

/* --- one of them ------------------------------------------------------------------------------ */

static bool find(struct request *r, struct file_owner *ret_owner, struct str *ret_id)
{
    struct str id = request_path_param(r, "file_id");
    return file_owner_of(r, ret_owner) &&
           (file_id_read(id, ret_id) || explain_missing(r, "file", id, NULL));
}

static void on_shown(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct buf b;
    if (file_refuse(r, error, lines_next(&lines), &lines))
        return;
    buf_init(&b, 8192);
    file_put(&b, &lines, NULL);
    respond_json(r, 200, &b);
    buf_fini(&b);
}

void openai_show_file(struct request *r)
{
    struct file_owner owner;
    struct str id;
    if (find(r, &owner, &id))
        call_file_show(request_call(r, on_shown), .owner = owner.owner,
                       .account = r->account->name_token, .user = owner.person.user_name,
                       .file = id);
}

static void on_deleted(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct buf b;
    if (file_refuse(r, error, lines_next(&lines), &lines))
        return;
    buf_init(&b, 4096);
    buf_lit(&b, "{\"id\":");
    buf_put_json(&b, request_path_param(r, "file_id"));
    buf_lit(&b, ",\"object\":\"file\",\"deleted\":true}");
    respond_json(r, 200, &b);
    buf_fini(&b);
}

void openai_delete_file(struct request *r)
{
    struct file_owner owner;
    struct str id;
    if (find(r, &owner, &id))
        call_file_delete(request_call(r, on_deleted), .owner = owner.owner,
                         .account = r->account->name_token, .user = owner.person.user_name,
                         .file = id);
}
