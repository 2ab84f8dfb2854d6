/* SPDX-License-Identifier: MIT
 * cache.c - see cache.h. Spaces are in a hash table by name and in a list by when they were last
 * entered, oldest first.
 *
 * One load at a time per space. It holds a copy of the list, asks for the packs that the index has
 * not, a part at a time, and puts each where it belongs as it comes; in the end it removes what is
 * not on the list and says which version this is. Until then the index keeps its old version, so
 * a search that comes in between learns from Redis that there is a newer one, and waits here too.
 *
 * A pack that went between the list and the fetch comes empty: there is a newer version by then,
 * and the next search is notified of it. */
#include "services/documents/search/cache.h"

#include "generated/verbs.h"
#include "shared/base/hash.h"
#include "shared/base/mem.h"
#include "shared/queue/lines.h"

#include <stdio.h>

enum { BUCKET_N = 1024, ASK_DOCS = 400, DIGITS_MAX = 24 };

/* Fetches packs for one space. Outlives the space's use: it holds it itself. */
struct load {
    struct call call;
    struct cache *cache;
    struct cache_space *space;
    struct buf list;        /* what `marks` borrow from */
    struct rag_mark *marks; /* all documents of the version */
    size_t n;
    struct rag_mark *missing; /* those that the index has not */
    size_t missing_n, next, asked_n;
    uint64_t version;
};

struct cache_space {
    struct cache_space *in_bucket;
    struct list_link link;
    struct rag_index *index;
    struct load *load;
    struct list waits; /* struct cache_wait, for `load` */
    uint64_t version;
    char version_text[DIGITS_MAX];
    size_t bytes; /* as counted in the cache's sum */
    unsigned use_n;
    struct str name; /* after the struct */
};

struct cache {
    struct shards *shards;
    struct metrics *metrics;
    struct cache_space *buckets[BUCKET_N];
    struct list spaces; /* struct cache_space, oldest first */
    size_t bytes, max_bytes;
};

/* --- spaces ----------------------------------------------------------------------------------- */

static uint32_t bucket_of(struct str name)
{
    return hash_fnv32(name, 0) % BUCKET_N;
}

static void set_bytes(struct cache *cache, struct cache_space *space, size_t bytes)
{
    metrics_add(cache->metrics, METRIC_INDEX_BYTES, (int64_t)bytes - (int64_t)space->bytes);
    cache->bytes += bytes - space->bytes;
    space->bytes = bytes;
}

static void count_bytes(struct cache *cache, struct cache_space *space)
{
    set_bytes(cache, space, sizeof *space + space->name.n + rag_index_bytes(space->index));
}

static void drop_space(struct cache *cache, struct cache_space *space)
{
    struct cache_space **at = &cache->buckets[bucket_of(space->name)];
    while (*at != space)
        at = &(*at)->in_bucket;
    *at = space->in_bucket;
    list_remove(&space->link);
    set_bytes(cache, space, 0);
    rag_index_destroy(space->index);
    free(space);
}

static void drop_old(struct cache *cache)
{
    list_for_each (struct cache_space, space, &cache->spaces, link) {
        if (cache->bytes <= cache->max_bytes)
            return;
        if (space->use_n == 0)
            drop_space(cache, space);
    }
}

struct cache *cache_create(struct shards *shards, struct metrics *metrics, uint64_t max_bytes)
{
    struct cache *cache = mem_zeroed(sizeof *cache);
    cache->shards = shards;
    cache->metrics = metrics;
    cache->max_bytes = max_bytes;
    return cache;
}

void cache_destroy(struct cache *cache)
{
    if (cache == NULL)
        return;
    list_for_each (struct cache_space, space, &cache->spaces, link) {
        rag_index_destroy(space->index);
        free(space);
    }
    free(cache);
}

struct cache_space *cache_enter(struct cache *cache, struct str name)
{
    struct cache_space **bucket = &cache->buckets[bucket_of(name)], *space = *bucket;
    while (space != NULL && !str_eq(space->name, name))
        space = space->in_bucket;
    if (space != NULL) {
        list_remove(&space->link);
    } else {
        space = mem_zeroed(sizeof *space + name.n);
        memcpy(space + 1, name.at, name.n);
        space->name = (struct str){(const char *)(space + 1), name.n};
        space->index = rag_index_create();
        space->in_bucket = *bucket;
        *bucket = space;
        count_bytes(cache, space);
    }
    list_append(&cache->spaces, &space->link);
    space->use_n++;
    return space;
}

void cache_leave(struct cache *cache, struct cache_space *space)
{
    if (space == NULL)
        return;
    space->use_n--;
    drop_old(cache);
}

struct str cache_version(const struct cache_space *space)
{
    return str_of(space->version_text);
}

const struct rag_index *cache_index(const struct cache_space *space)
{
    return space->index;
}

/* --- loading ---------------------------------------------------------------------------------- */

static void notify_waits(struct cache_space *space, enum err error)
{
    struct cache_wait *wait;
    while ((wait = list_first(&space->waits, struct cache_wait, link)) != NULL) {
        list_remove(&wait->link);
        wait->on_loaded(wait,
                        error == ERR_OK && wait->version > space->version ? ERR_CONFLICT : error);
    }
}

static void end_load(struct load *load, enum err error)
{
    struct cache *cache = load->cache;
    struct cache_space *space = load->space;
    if (error == ERR_OK) {
        rag_index_keep(space->index, load->marks, load->n);
        space->version = load->version;
        snprintf(space->version_text, sizeof space->version_text, "%llu",
                 (unsigned long long)load->version);
    }
    count_bytes(cache, space);
    space->load = NULL;
    buf_fini(&load->list);
    free(load->marks);
    free(load->missing);
    free(load);
    notify_waits(space, error);
    cache_leave(cache, space);
}

static void ask_for_packs(struct load *load);

/* Takes one document off the reply, which has six parts of each, in the order that they were asked
 * for, as many as fitted; false when there is none left. */
static bool take_pack(struct load *load, struct lines *parts)
{
    struct str generation, embedding;
    struct rag_parts new;
    if (!lines_next_part(parts, &new.id) || !lines_next_part(parts, &generation) ||
        !lines_next_part(parts, &new.title_json) || !lines_next_part(parts, &new.url_json) ||
        !lines_next_part(parts, &embedding) || !lines_next_part(parts, &new.pack))
        return false;
    new.embedding = rag_embedding(embedding);
    new.text = (struct str){NULL, 0};
    if (new.pack.n > 0 &&
        (!str_parse_u64(generation, &new.generation) || !rag_index_put(load->space->index, &new)))
        log_write(LOG_ERROR, "damaged search index: reindex the document",
                  LOG_STR("document", new.id));
    return true;
}

static void on_packs(struct call *call, enum err error, struct str reply)
{
    struct load *load = container_of(call, struct load, call);
    struct lines parts = lines_of(reply);
    size_t came_n = 0;
    if (error != ERR_OK) {
        end_load(load, error);
        return;
    }
    for (; take_pack(load, &parts); came_n++)
        metrics_add(load->cache->metrics, METRIC_PACKS_FETCHED, 1);
    if (came_n == 0 || came_n > load->asked_n) {
        end_load(load, ERR_INTERNAL);
        return;
    }
    load->next += came_n;
    ask_for_packs(load);
}

static void ask_for_packs(struct load *load)
{
    size_t left = load->missing_n - load->next;
    load->asked_n = left < ASK_DOCS ? left : ASK_DOCS;
    if (left == 0) {
        end_load(load, ERR_OK);
        return;
    }
    struct call_start start = shards_call(load->cache->shards, &load->call, on_packs);
    struct verb_writer verb = begin_packs(start, .space = load->space->name);
    for (size_t i = 0; i < load->asked_n; i++)
        put_packs_pack(&verb, .doc = load->missing[load->next + i].doc,
                       .generation = load->missing[load->next + i].generation);
    end_verb(&verb);
}

static struct rag_mark *new_marks(size_t n)
{
    struct rag_mark *marks = mem_zeroed_n(n + 1, sizeof *marks);
    return marks;
}

static void read_marks(struct load *load)
{
    struct str rest = buf_str(&load->list), line;
    size_t most = 0;
    str_expect(rest);
    for (size_t i = 0; i < rest.n; i++)
        most += rest.at[i] == '\n';
    load->marks = new_marks(most + 1);
    load->missing = new_marks(most + 1);
    while ((line = str_cut(&rest, '\n')).at != NULL) {
        struct rag_mark mark = {.doc = str_cut(&line, ' ')};
        if (!str_parse_u64(line, &mark.generation))
            continue;
        load->marks[load->n++] = mark;
        if (!rag_index_has(load->space->index, mark.doc, mark.generation))
            load->missing[load->missing_n++] = mark;
    }
}

bool cache_load(struct cache *cache, struct cache_space *space, uint64_t version, struct str list,
                struct cache_wait *wait)
{
    if (space->load == NULL) {
        struct load *load = mem_zeroed(sizeof *load);
        *load = (struct load){.cache = cache, .version = version};
        load->space = cache_enter(cache, space->name);
        space->load = load;
        buf_init(&load->list, list.n + 1);
        buf_put(&load->list, list);
        read_marks(load);
        bool is_done = load->missing_n == 0;
        ask_for_packs(load);
        if (is_done)
            return true;
    }
    wait->version = version;
    list_prepend(&space->waits, &wait->link);
    return false;
}

void cache_stop_waiting(struct cache_wait *wait)
{
    list_remove(&wait->link);
}
