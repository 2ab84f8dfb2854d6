/* SPDX-License-Identifier: MIT
 * restore_lookups.c - see restore.h: how many queries need each lookup. It is counted here, since a
 * lookup is on the first shard and the topics that need it are on any.
 *
 *   lookup:* --> a table of fingerprints --> lookups:<topic>: one more each --> restore_refs
 *                                                  '--of several shards--> restore_needs
 *
 * Of several shards a lookup knows the topics themselves (lua/lookup/needs.lua). One that comes
 * from a cluster of one shard has no number yet: it gets 0, which nobody else is given.
 *
 * SCAN may show a key twice, so names of topics are listed before they are counted. */
#include "services/backup/restore.h"

#include "shared/base/mem.h"

enum { NAMES_MAX_BYTES = 1 << 30, NEEDS_MAX = 500 /* of one call */ };

struct counted {
    struct str fingerprint; /* in `names` */
    uint64_t refs;
};

struct counting {
    struct restore *restore;
    struct buf lookups, topics; /* names, as parts */
    struct counted *at;
    size_t n;
};

static bool note(struct counting *c, struct buf *names, struct str name)
{
    archive_put_part(names, name);
    return !names->is_over || tool_complain(&c->restore->tool, "too many lookups");
}

static bool visit_lookup(void *data, struct str name)
{
    struct counting *c = data;
    (void)str_cut(&name, ':');
    return note(c, &c->lookups, name);
}

static bool visit_topic(void *data, struct str name)
{
    struct counting *c = data;
    (void)str_cut(&name, ':');
    return note(c, &c->topics, name);
}

static int by_name(const void *one, const void *other)
{
    const struct str *a = one, *b = other;
    size_t n = a->n < b->n ? a->n : b->n;
    int order = n == 0 ? 0 : memcmp(a->at, b->at, n);
    return order != 0 ? order : (a->n > b->n) - (a->n < b->n);
}

/* The names, each once, in their order. */
static struct str *list_names(const struct buf *names, size_t *ret_n)
{
    struct str rest = buf_str(names), name;
    size_t n = 0, kept = 0;
    while (archive_cut_part(&rest, &name))
        n++;
    struct str *list = mem_zeroed_n(n + 1, sizeof *list);
    rest = buf_str(names);
    for (n = 0; archive_cut_part(&rest, &name); n++)
        list[n] = name;
    qsort(list, n, sizeof *list, by_name);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || !str_eq(list[kept - 1], list[i]))
            list[kept++] = list[i];
    *ret_n = kept;
    return list;
}

static void make_table(struct counting *c)
{
    struct str *names = list_names(&c->lookups, &c->n);
    c->at = mem_zeroed_n(c->n + 1, sizeof *c->at);
    for (size_t i = 0; i < c->n; i++)
        c->at[i].fingerprint = names[i];
    free(names);
}

/* A field is "<seq> <fingerprint>". */
static struct counted *find(const struct counting *c, struct str field)
{
    (void)str_cut(&field, ' ');
    return field.at == NULL || c->n == 0 ? NULL
                                         : bsearch(&field, c->at, c->n, sizeof *c->at, by_name);
}

/* Counts what a topic needs; `ret_known` gets the fingerprints, and `ret_unknown` the fields of
 * lookups that are not there. */
static bool count_topic(struct counting *c, struct str key, struct buf *ret_known,
                        struct buf *ret_unknown)
{
    struct blocking_answer answer;
    struct str words[] = {STR("HKEYS"), key};
    if (blocking_command(c->restore->tool.blocking, words, 2, 0, &answer) != ERR_OK)
        return tool_complain_redis(&c->restore->tool);
    for (size_t i = 0; i < answer.n; i++) {
        struct counted *found = find(c, answer.at[i]);
        if (found != NULL) {
            found->refs++;
            archive_put_part(ret_known, found->fingerprint);
        } else {
            archive_put_part(ret_unknown, answer.at[i]);
        }
    }
    return true;
}

/* Puts how shard 0 knows the topic. */
static bool put_need(struct counting *c, struct str topic, struct buf *need)
{
    struct restore *x = c->restore;
    struct buf key;
    struct blocking_answer answer;
    struct str name = restore_put_key(&key, x, "t:", topic);
    struct str give[] = {STR("HSETNX"), name, STR("lookups"), STR("0")};
    struct str get[] = {STR("HGET"), name, STR("lookups")};
    bool is_good = blocking_command(x->tool.blocking, give, 4, 0, &answer) == ERR_OK &&
                   blocking_command(x->tool.blocking, get, 3, 0, &answer) == ERR_OK &&
                   answer.n == 1;
    buf_fini(&key);
    if (!is_good)
        return tool_complain_redis(&x->tool);
    buf_put(need, topic);
    buf_put_char(need, ':');
    buf_put(need, answer.at[0]);
    return true;
}

static bool state_needs(struct counting *c, struct str need, struct str known)
{
    struct restore *x = c->restore;
    struct str rest = known, fingerprint;
    unsigned n = 0;
    while (n < NEEDS_MAX && archive_cut_part(&rest, &fingerprint))
        n++;
    if (n == 0)
        return true;
    struct blocking_call call = restore_call(x);
    struct verb_writer verb = begin_restore_needs(blocking_start(&call), .need = need);
    while (n-- > 0 && archive_cut_part(&known, &fingerprint))
        put_restore_needs_lookup(&verb, .fingerprint = fingerprint);
    end_verb(&verb);
    return restore_has_reply(x, &call) && state_needs(c, need, known);
}

/* With several shards: puts what the topic, on the shard in use, needs of these. */
static bool put_needs(struct counting *c, struct str topic, struct str known)
{
    struct buf need;
    if (c->restore->tool.map.n == 1 || known.n == 0)
        return true;
    buf_init(&need, RESTORE_KEY_MAX_BYTES);
    bool is_good = put_need(c, topic, &need);
    tool_use(&c->restore->tool, 0);
    is_good = is_good && state_needs(c, buf_str(&need), known);
    buf_fini(&need);
    return is_good;
}

static bool drop_unknown(struct counting *c, struct str key, struct str fields)
{
    struct blocking_answer answer;
    struct str words[] = {STR("HDEL"), key, STR("")};
    bool is_good = true;
    while (is_good && archive_cut_part(&fields, &words[2]))
        is_good = blocking_command(c->restore->tool.blocking, words, 3, 0, &answer) == ERR_OK ||
                  tool_complain_redis(&c->restore->tool);
    return is_good;
}

static bool check_topic(struct counting *c, struct str topic)
{
    struct restore *x = c->restore;
    struct buf key, known, unknown;
    tool_use(&x->tool, shard_of(topic, x->tool.map.n));
    struct str name = restore_put_key(&key, x, "lookups:", topic);
    buf_init(&known, NAMES_MAX_BYTES);
    buf_init(&unknown, NAMES_MAX_BYTES);
    bool is_good = count_topic(c, name, &known, &unknown) &&
                   drop_unknown(c, name, buf_str(&unknown)) && put_needs(c, topic, buf_str(&known));
    buf_fini(&unknown);
    buf_fini(&known);
    buf_fini(&key);
    return is_good;
}

static bool count_all(struct counting *c)
{
    size_t n;
    struct str *topics = list_names(&c->topics, &n);
    bool is_good = true;
    make_table(c);
    for (size_t i = 0; is_good && i < n; i++)
        is_good = check_topic(c, topics[i]);
    free(topics);
    tool_use(&c->restore->tool, 0);
    bool has_refs = c->restore->tool.map.n == 1;
    for (size_t i = 0; is_good && i < c->n; i++) {
        if (!has_refs && c->at[i].refs > 0)
            continue;
        struct blocking_call call = restore_call(c->restore);
        call_restore_refs(blocking_start(&call), .fingerprint = c->at[i].fingerprint,
                          .refs = c->at[i].refs);
        is_good = restore_has_reply(c->restore, &call);
    }
    free(c->at);
    return is_good;
}

bool restore_count_lookups(struct restore *x)
{
    struct counting c = {.restore = x};
    buf_init(&c.lookups, NAMES_MAX_BYTES);
    buf_init(&c.topics, NAMES_MAX_BYTES);
    bool is_good = tool_each_key(&x->tool, "lookup:", visit_lookup, &c) &&
                   tool_each_key(&x->tool, "lookups:", visit_topic, &c) && count_all(&c);
    buf_fini(&c.topics);
    buf_fini(&c.lookups);
    return is_good;
}
