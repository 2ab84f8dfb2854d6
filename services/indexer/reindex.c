/* SPDX-License-Identifier: MIT
 * reindex.c - `parley reindex`: after a change of the embedding model, a job for each document
 * whose vectors are of another one. The nodes' indexers do the work, from the stored text.
 *
 *   which dimension has the model --> the spaces (SCAN) --> their documents, a page at a time
 *     --> searched, of another embedding, not being indexed already --> doc_reindex
 *
 * Only names are kept between steps, and each document is decided by its own state, so the command
 * may be interrupted and run again at any time. A space created during the run already uses the new
 * model. */
#include "services/commands/commands.h"

#include "generated/verbs.h"
#include "shared/base/log_options.h"
#include "shared/base/trust.h"
#include "shared/embed/embed_options.h"
#include "shared/queue/lines.h"
#include "shared/redis/blocking.h"
#include "shared/redis/start.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    PATIENCE_MS = 30000,
    PAGE_DOCS = 500,
    KEY_MAX_BYTES = 1024,
    NAMES_MAX_BYTES = 256 << 20,
};

static const struct config_group reindex_options = {
    "Flags",
    (const struct config_option[]){
        OPTION_TEXT("owner", "NAME", NULL,
                    "Reindexes only this owner's documents. Unset: all owners and collections."),
        OPTION_TEXT("namespace", "NAME", NULL,
                    "The namespace of the owner's accounts, if they have one."),
        OPTION_BOOL("dry-run", "off",
                    "Prints how many documents would be reindexed and changes nothing."),
        {0}}};

struct reindex {
    const struct config *config;
    struct shard_map map;
    struct embedder *embedder;
    struct blocking *connections[SHARDS_MAX]; /* one for each server */
    struct blocking *blocking;                /* that of the shard in use */
    const char *prefix;                       /* of its keys */
    uint32_t dimension;
    bool is_dry;
    size_t seen_n, old_n, queued_n, gone_n, busy_n;
};

static bool complain(const char *line)
{
    fprintf(stderr, "parley: %s (see parley reindex --help)\n", line);
    return false;
}

static bool read_settings(struct reindex *x)
{
    const struct config *c = x->config;
    if (config_text(c, "namespace") != NULL && config_text(c, "owner") == NULL)
        return complain("--namespace needs --owner");
    if (!redis_read_options(c, &x->map))
        return false;
    log_read_options(c);
    x->is_dry = config_number(c, "dry-run");
    x->embedder = embed_read_options(c);
    return x->embedder != NULL;
}

static bool find_dimension(struct reindex *x)
{
    const struct str text = STR("dimension");
    float *vector = NULL;
    struct embed_reason reason;
    if (!embed_texts(x->embedder, &text, 1, NULL, &vector, &x->dimension, &reason)) {
        fprintf(stderr, "parley: the embedding model %s returned no vectors: %s\n",
                x->embedder->name, reason.text);
        return false;
    }
    free(vector);
    return true;
}

/* --- one document ----------------------------------------------------------------------------- */

static struct str put_key(struct buf *key, const struct reindex *x, const char *kind,
                          struct str name)
{
    buf_init(key, KEY_MAX_BYTES);
    buf_put(key, str_of(x->prefix));
    buf_put(key, str_of(kind));
    buf_put(key, name);
    return buf_str(key);
}

static enum err queue(struct reindex *x, struct str space, struct str doc)
{
    char job[STR_UUID_BYTES + 1];
    str_random_uuid(job);
    struct blocking_call call = {.blocking = x->blocking};
    call_doc_reindex(blocking_start(&call), .space = space, .doc = doc, .job = str_of(job),
                     .account = STR(""), .key = STR(""));
    if (call.error != ERR_OK)
        return call.error;
    x->queued_n += str_has_prefix(call.reply, STR("ok"));
    x->gone_n += str_eq(call.reply, STR("gone"));
    return ERR_OK;
}

static enum err check_document(struct reindex *x, struct str space, struct str doc)
{
    struct buf key;
    struct blocking_answer answer;
    uint64_t dimension = 0;
    struct str words[] = {STR("HMGET"),      put_key(&key, x, "doc:", doc),
                          STR("generation"), STR("model"),
                          STR("dimension"),  STR("status")};
    enum err error = blocking_command(x->blocking, words, 6, 0, &answer);
    buf_fini(&key);
    if (error != ERR_OK || answer.n != 4)
        return error == ERR_OK ? ERR_INTERNAL : error;
    if (answer.at[0].at == NULL || str_eq(answer.at[0], STR("0")))
        return ERR_OK; /* gone meanwhile, or nothing of it is searched */
    x->seen_n++;
    if (str_eq(answer.at[1], str_of(x->embedder->name)) &&
        str_parse_u64(answer.at[2], &dimension) && dimension == x->dimension)
        return ERR_OK;
    x->old_n++;
    if (str_eq(answer.at[3], STR("QUEUED")) || str_eq(answer.at[3], STR("INDEXING"))) {
        x->busy_n++;
        return ERR_OK;
    }
    return x->is_dry ? ERR_OK : queue(x, space, doc);
}

/* --- spaces ----------------------------------------------------------------------------------- */

/* A page of the space's documents, as lines; the answer to one call is gone with the next. */
static enum err read_page(struct reindex *x, struct str space, size_t from, struct buf *ret_docs)
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

static enum err check_space(struct reindex *x, struct str space)
{
    struct buf docs;
    enum err error = ERR_OK;
    size_t n = PAGE_DOCS;
    buf_init(&docs, NAMES_MAX_BYTES);
    for (size_t from = 0; error == ERR_OK && n == PAGE_DOCS; from += PAGE_DOCS) {
        error = read_page(x, space, from, &docs);
        struct str rest = buf_str(&docs), doc;
        for (n = 0; error == ERR_OK && (doc = str_cut(&rest, '\n')).n > 0; n++)
            error = check_document(x, space, doc);
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
static enum err list_spaces(struct reindex *x, struct buf *spaces)
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

/* --- the run ---------------------------------------------------------------------------------- */

static void use_shard(struct reindex *x, unsigned shard)
{
    x->blocking = x->connections[shard % x->map.server_n];
    x->prefix = x->map.prefixes[shard];
    blocking_use(x->blocking, x->prefix);
}

static enum err check_owner(struct reindex *x, const char *owner)
{
    struct buf space;
    const char *namespace = config_text(x->config, "namespace");
    buf_init(&space, KEY_MAX_BYTES);
    buf_lit(&space, "o:");
    if (namespace != NULL) {
        buf_put_name(&space, str_of(namespace));
        buf_put_char(&space, '~');
    }
    buf_put_name(&space, str_of(owner));
    use_shard(x, shard_of(buf_str(&space), x->map.n));
    enum err error = check_space(x, buf_str(&space));
    buf_fini(&space);
    return error;
}

static enum err check_shard(struct reindex *x, unsigned shard)
{
    struct buf spaces;
    use_shard(x, shard);
    buf_init(&spaces, NAMES_MAX_BYTES);
    enum err error = list_spaces(x, &spaces);
    if (error == ERR_OK && spaces.is_over)
        error = ERR_INTERNAL;
    struct str rest = buf_str(&spaces), space;
    while (error == ERR_OK && !redis_is_interrupted() && (space = str_cut(&rest, '\n')).n > 0)
        error = check_space(x, space);
    buf_fini(&spaces);
    return error;
}

static enum err run_all(struct reindex *x)
{
    const char *owner = config_text(x->config, "owner");
    enum err error = ERR_OK;
    if (owner != NULL)
        return check_owner(x, owner);
    for (unsigned i = 0; error == ERR_OK && i < x->map.n && !redis_is_interrupted(); i++)
        error = check_shard(x, i);
    return error;
}

static int run(struct reindex *x)
{
    redis_connect_all(&x->map, "parley-reindex", PATIENCE_MS, x->connections);
    use_shard(x, 0);
    enum err error = run_all(x);
    bool is_whole = error == ERR_OK && !redis_is_interrupted();
    printf("%s%zu of %llu %s not embedded by %s (%llu %s): %zu queued, %zu already in "
           "progress, %zu to be uploaded again%s\n",
           x->is_dry ? "dry run, nothing was changed: " : "", x->old_n,
           COUNTED_AS(x->seen_n, "document was", "documents were"), x->embedder->name,
           COUNTED(x->dimension, "dimension"), x->queued_n, x->busy_n, x->gone_n,
           is_whole                 ? ""
           : redis_is_interrupted() ? ", interrupted"
                                    : ", Redis lost");
    fflush(stdout);
    if (!is_whole && !redis_is_interrupted())
        fprintf(stderr, "parley: %s (run it again to continue)\n", blocking_problem(x->blocking));
    redis_ignore_signals();
    redis_disconnect_all(&x->map, x->connections);
    return is_whole && x->gone_n == 0 ? 0 : 1;
}

static int run_reindex(const struct config *config)
{
    struct reindex x = {.config = config};
    int code = 2;
    if (read_settings(&x))
        code = redis_check_start(&x.map) && redis_await_agreement(&x.map, true, PATIENCE_MS) &&
                       find_dimension(&x)
                   ? run(&x)
                   : 1;
    embed_destroy(x.embedder);
    return code;
}

const struct command reindex_command = {
    .name = "reindex",
    .is_flags_only = true,
    .summary = "queue documents for reindexing after a change of the embedding model",
    .about =
        "usage: parley reindex [--redis URL] [--embeddings MODEL] [--owner NAME] [--dry-run]\n"
        "\n"
        "Run this after changing the embedding model. It queues every document for reindexing "
        "whose\n"
        "vectors come from a model other than --embeddings, or have a dimension other than that\n"
        "model returns now. The nodes' indexers do the work from the stored text: start the nodes\n"
        "with the new model first. Until a document is reindexed, it is found by words only.\n"
        "Documents that already have the model's vectors, or are being indexed, are skipped, so\n"
        "the command can be run again at any time. The last line sums up.\n"
        "\n",
    .more =
        "\n"
        "Exit codes\n"
        "  0  all documents are queued\n"
        "  1  Redis was unreachable for 30 seconds, the command was interrupted, the embedding\n"
        "     server returned no vector, or a document has to be uploaded again\n"
        "  2  a wrong flag or value\n"
        "\n"
        "Examples\n"
        "  parley reindex --redis redis://10.0.0.5:6379/0 --dry-run \\\n"
        "      --embeddings openai:http://10.0.0.7:8000/v1#bge-m3\n",
    .groups = (const struct config_group *const[]){&reindex_options, &embed_options, &redis_options,
                                                   &trust_options, &log_tool_options, NULL},
    .run = run_reindex,
};
