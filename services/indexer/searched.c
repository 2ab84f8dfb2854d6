/* SPDX-License-Identifier: MIT
 * searched.c - see searched.h.
 *
 *   the spaces of a shard (SCAN) --> their documents, a page at a time --> visit */
#include "services/indexer/searched.h"

#include "shared/redis/start.h"

#include <stdio.h>

enum { PAGE_DOCS = 500, KEY_MAX_BYTES = 1024, NAMES_MAX_BYTES = 256 << 20 };

/* --- one document ----------------------------------------------------------------------------- */

static struct str put_key(struct buf *key, const struct searched *x, const char *kind,
                          struct str name)
{
    buf_init(key, KEY_MAX_BYTES);
    buf_put(key, str_of(x->prefix));
    buf_put(key, str_of(kind));
    buf_put(key, name);
    return buf_str(key);
}

/* Nothing of a document without a generation is searched, and one that was deleted has none. */
static enum err visit_document(struct searched *x, struct str space, struct str id)
{
    struct buf key;
    struct blocking_answer answer;
    struct str words[] = {STR("HMGET"),       put_key(&key, x, "doc:", id),
                          STR("generation"),  STR("status"),
                          STR("filename"),    STR("path"),
                          STR("kind"),        STR("readers"),
                          STR("model"),       STR("dimension"),
                          STR("pack_version")};
    enum err error = blocking_command(x->blocking, words, 11, 0, &answer);
    const struct str *at = answer.at;
    buf_fini(&key);
    if (error != ERR_OK || answer.n != 9)
        return error == ERR_OK ? ERR_INTERNAL : error;
    if (at[0].at == NULL || str_eq(at[0], STR("0")))
        return ERR_OK;
    return x->visit(x->arg, &(struct searched_document){.space = space,
                                                        .id = id,
                                                        .status = at[1],
                                                        .filename_json = at[2],
                                                        .is_file = at[3].n > 0,
                                                        .by = {.kind = at[4],
                                                               .readers = at[5],
                                                               .model = at[6],
                                                               .dimension = at[7],
                                                               .pack_version = at[8]}});
}

/* --- spaces ----------------------------------------------------------------------------------- */

/* A page of the space's documents, as lines; the answer to one call is gone with the next. */
static enum err read_page(struct searched *x, struct str space, size_t from, struct buf *ret_docs)
{
    struct buf key;
    struct blocking_answer answer;
    char first[24], last[24];
    snprintf(first, sizeof first, "%zu", from);
    snprintf(last, sizeof last, "%zu", from + PAGE_DOCS - 1);
    struct str words[] = {STR("ZRANGE"), put_key(&key, x, "docs:", space), str_of(first),
                          str_of(last)};
    enum err error = blocking_command(x->blocking, words, 4, 0, &answer);
    buf_fini(&key);
    buf_clear(ret_docs);
    for (size_t i = 0; error == ERR_OK && i < answer.n; i++) {
        buf_put(ret_docs, answer.at[i]);
        buf_put_char(ret_docs, '\n');
    }
    return error;
}

static enum err visit_space(struct searched *x, struct str space)
{
    struct buf docs;
    enum err error = ERR_OK;
    size_t n = PAGE_DOCS;
    buf_init(&docs, NAMES_MAX_BYTES);
    for (size_t from = 0; error == ERR_OK && n == PAGE_DOCS; from += PAGE_DOCS) {
        error = read_page(x, space, from, &docs);
        struct str rest = buf_str(&docs), doc;
        for (n = 0; error == ERR_OK && (doc = str_cut(&rest, '\n')).n > 0; n++)
            error = visit_document(x, space, doc);
    }
    buf_fini(&docs);
    return error;
}

/* Puts the pattern that SCAN takes for "<prefix>docs:*". */
static void put_pattern(struct buf *pattern, struct str prefix)
{
    for (size_t i = 0; i < prefix.n; i++) {
        if (memchr("*?[]\\", prefix.at[i], 5) != NULL)
            buf_put_char(pattern, '\\');
        buf_put_char(pattern, prefix.at[i]);
    }
    buf_lit(pattern, "docs:*");
}

/* All spaces of a shard, as lines. One that SCAN returns twice is handled twice, which changes
 * nothing. */
static enum err list_spaces(struct searched *x, struct buf *spaces)
{
    struct buf pattern, start;
    struct blocking_answer answer;
    char cursor[24] = "0";
    unsigned connection = 0;
    bool is_last = false;
    enum err error;
    buf_init(&pattern, KEY_MAX_BYTES);
    put_pattern(&pattern, str_of(x->prefix));
    struct str head = put_key(&start, x, "docs:", STR(""));
    do {
        struct str words[] = {STR("SCAN"),       str_of(cursor), STR("MATCH"),
                              buf_str(&pattern), STR("COUNT"),   STR("1000")};
        error = blocking_command(x->blocking, words, 6, 0, &answer);
        if (error == ERR_OK && (answer.n == 0 || answer.at[0].n >= sizeof cursor))
            error = ERR_INTERNAL; /* no cursor: the rest was not seen */
        if (error != ERR_OK)
            break;
        bool is_same = blocking_connection_n(x->blocking) == connection;
        connection = blocking_connection_n(x->blocking);
        is_last = false;
        if (!is_same && strcmp(cursor, "0") != 0) {
            strcpy(cursor, "0"); /* from the beginning: it may be another server */
            continue;
        }
        for (size_t i = 1; i < answer.n; i++) {
            struct str key = answer.at[i];
            if (!str_has_prefix(key, head))
                continue;
            buf_put(spaces, (struct str){key.at + head.n, key.n - head.n});
            buf_put_char(spaces, '\n');
        }
        memcpy(cursor, answer.at[0].at, answer.at[0].n);
        cursor[answer.at[0].n] = 0;
        is_last = strcmp(cursor, "0") == 0;
    } while (!is_last);
    buf_fini(&start);
    buf_fini(&pattern);
    return error;
}

/* --- shards ----------------------------------------------------------------------------------- */

static void use_shard(struct searched *x, unsigned shard)
{
    x->blocking = x->connections[shard % x->map->server_n];
    x->prefix = x->map->prefixes[shard];
    blocking_use(x->blocking, x->prefix);
}

static enum err visit_owner(struct searched *x)
{
    struct buf space;
    buf_init(&space, KEY_MAX_BYTES);
    buf_lit(&space, "o:");
    if (x->namespace != NULL) {
        buf_put_name(&space, str_of(x->namespace));
        buf_put_char(&space, '~');
    }
    buf_put_name(&space, str_of(x->owner));
    use_shard(x, shard_of(buf_str(&space), x->map->n));
    enum err error = visit_space(x, buf_str(&space));
    buf_fini(&space);
    return error;
}

static enum err visit_shard(struct searched *x, unsigned shard)
{
    struct buf spaces;
    use_shard(x, shard);
    buf_init(&spaces, NAMES_MAX_BYTES);
    enum err error = list_spaces(x, &spaces);
    if (error == ERR_OK && spaces.is_over)
        error = ERR_INTERNAL;
    struct str rest = buf_str(&spaces), space;
    while (error == ERR_OK && !redis_is_interrupted() && (space = str_cut(&rest, '\n')).n > 0)
        error = visit_space(x, space);
    buf_fini(&spaces);
    return error;
}

enum err searched_visit_all(struct searched *x)
{
    enum err error = ERR_OK;
    use_shard(x, 0);
    if (x->owner != NULL)
        return visit_owner(x);
    for (unsigned i = 0; error == ERR_OK && i < x->map->n && !redis_is_interrupted(); i++)
        error = visit_shard(x, i);
    return error;
}
