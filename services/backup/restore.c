/* SPDX-License-Identifier: MIT
 * restore.c - `parley restore`: puts a backup into an empty Redis.
 *
 *   read the file to its end: is it whole? --> is Redis empty? --> restore_begin
 *     --> read it once more, a verb per record --> lookups that no topic needs are dropped
 *     --> is it the same Redis still? --> the mark of restore_begin is taken away
 *
 * So nothing is written of a file that was cut off or damaged. The verbs are in lua/backup; each
 * may run twice, so a lost connection in between does no harm; a Redis that was started again does:
 * what it had taken before may be lost. */
#include "services/commands/commands.h"

#include "generated/verbs.h"
#include "services/backup/archive.h"
#include "services/backup/tool.h"
#include "shared/base/log_options.h"
#include "shared/redis/blocks.h"
#include "shared/redis/start.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    READ_BUFFER_BYTES = 1 << 20,
    KEY_MAX_BYTES = 4096,
    /* Above what the cluster gave, from the backup's end to its own: a day of 10,000 a second. */
    LEASE_GAP = 1000000000,
    RUN_ID_BYTES = 64,
};

static const struct config_group restore_options = {
    "Flags", (const struct config_option[]){
                 {.name = "json",
                  .kind = CONFIG_BOOL,
                  .fallback = "off",
                  .help = "Prints the counts as one JSON object, and no progress."},
                 {0}}};

struct restore {
    struct tool tool;
    FILE *file;
    struct archive archive;
    uint64_t lease;
    bool has_sets, is_skipping, has_begun; /* is_skipping: blobs of a document that is there */
    uint64_t unknown_n, without_vectors_n;
    char id[17], run_id[RUN_ID_BYTES];
};

/* --- one record ------------------------------------------------------------------------------- */

static bool has_reply(struct restore *x, const struct sync_call *call)
{
    return call->error == ERR_OK || tool_complain_redis(&x->tool);
}

/* How a verb is called; not at all once the restore was interrupted. */
static struct sync_call call_of(const struct restore *x)
{
    return (struct sync_call){.sync = x->tool.sync,
                              .error = redis_is_interrupted() ? ERR_REDIS_LOST : ERR_OK};
}

static struct str put_key(struct buf *key, const struct restore *x, const char *kind,
                          struct str name)
{
    buf_init(key, KEY_MAX_BYTES);
    buf_put(key, x->tool.prefix);
    buf_put(key, str_of(kind));
    buf_put(key, name);
    return buf_str(key);
}

/* A plain command about one key; the answer is a number. */
static bool ask_key(struct restore *x, const char *command, const char *kind, struct str name,
                    bool *ret_is_one)
{
    struct buf key;
    struct sync_answer answer;
    struct str words[] = {str_of(command), put_key(&key, x, kind, name)};
    enum err error = sync_command(x->tool.sync, words, 2, 0, &answer);
    buf_fini(&key);
    if (error != ERR_OK || answer.n != 1)
        return tool_complain_redis(&x->tool);
    *ret_is_one = str_eq(answer.at[0], STR("1"));
    return true;
}

/* An upload of a backup of version 1 was one string; it is blocks now (lua/documents/uploads.lua).
 */
static bool put_upload_string(struct restore *x, struct str name, struct str rest)
{
    bool is_good = true;
    for (uint64_t i = 0, n = blocks_of(rest.n); is_good && i < n; i++) {
        char place[24];
        struct sync_call call = call_of(x);
        struct str block = {rest.at, rest.n < BLOCK_BYTES ? rest.n : BLOCK_BYTES};
        snprintf(place, sizeof place, "%llu", (unsigned long long)i);
        struct verb_writer verb = begin_restore_key(sync_start(&call), .name = name,
                                                    .of = STR("list"), .expires = STR(""));
        put_restore_key_piece(&verb, .value = str_of(place));
        put_restore_key_piece(&verb, .value = block);
        end_verb(&verb);
        is_good = has_reply(x, &call);
        rest = (struct str){rest.at + block.n, rest.n - block.n};
    }
    x->tool.key_n++;
    return is_good;
}

static bool put_key_record(struct restore *x, const struct str *parts, size_t n)
{
    struct sync_call call = call_of(x);
    if (x->is_skipping)
        return true;
    if (n == 5 && str_eq(parts[2], STR("string")) && str_has_prefix(parts[1], STR("upload:")))
        return put_upload_string(x, parts[1], parts[4]);
    struct verb_writer verb =
        begin_restore_key(sync_start(&call), .name = parts[1], .of = parts[2], .expires = parts[3]);
    for (size_t i = 4; i < n; i++)
        put_restore_key_piece(&verb, .value = parts[i]);
    end_verb(&verb);
    if (!has_reply(x, &call))
        return false;
    x->unknown_n += str_eq(call.reply, STR("unknown"));
    x->tool.key_n++;
    return true;
}

static bool put_lookup(struct restore *x, const struct str *parts, size_t n)
{
    struct sync_call call = call_of(x);
    x->tool.key_n++;
    struct verb_writer verb =
        begin_restore_lookup(sync_start(&call), .fingerprint = parts[1], .due = parts[2]);
    for (size_t i = 3; i + 1 < n; i += 2)
        put_restore_lookup_pair(&verb, .field = parts[i], .value = parts[i + 1]);
    end_verb(&verb);
    return has_reply(x, &call);
}

static bool put_topic(struct restore *x, const struct str *parts, size_t n)
{
    struct sync_call call = call_of(x);
    bool is_first = str_eq(parts[2], STR("1"));
    x->tool.topic_n += is_first;
    struct verb_writer verb =
        begin_restore_topic(sync_start(&call), .topic = parts[1], .is_first = is_first);
    for (size_t i = 3; i + 1 < n; i += 2) {
        x->tool.row_n += str_has_prefix(parts[i], STR("q:"));
        put_restore_topic_pair(&verb, .field = parts[i], .value = parts[i + 1]);
    }
    end_verb(&verb);
    return has_reply(x, &call);
}

static bool put_drop(struct restore *x, const struct str *parts, size_t n)
{
    struct sync_call call = call_of(x);
    call_restore_drop(sync_start(&call), .topic = parts[1]);
    return has_reply(x, &call);
}

static bool put_blobs(struct restore *x, const struct str *parts, size_t n)
{
    return ask_key(x, "EXISTS", "doc:", parts[1], &x->is_skipping);
}

static bool put_vectors(struct restore *x, const struct str *parts, size_t n)
{
    struct sync_call call = call_of(x);
    if (x->is_skipping || !x->has_sets)
        return true;
    struct verb_writer verb = begin_restore_vectors(sync_start(&call), .space = parts[1],
                                                    .document = parts[2], .first = parts[3]);
    for (size_t i = 4; i < n; i++)
        put_restore_vectors_vector(&verb, .floats = parts[i]);
    end_verb(&verb);
    return has_reply(x, &call);
}

static bool put_document(struct restore *x, const struct str *parts, size_t n)
{
    struct sync_call call = call_of(x);
    struct verb_writer verb =
        begin_restore_document(sync_start(&call), .doc = parts[1], .has_sets = x->has_sets);
    for (size_t i = 2; i + 1 < n; i += 2)
        put_restore_document_pair(&verb, .field = parts[i], .value = parts[i + 1]);
    end_verb(&verb);
    bool is_good = has_reply(x, &call);
    x->tool.document_n += is_good && !x->is_skipping;
    x->without_vectors_n += is_good && str_eq(call.reply, STR("without_vectors"));
    x->is_skipping = false;
    return is_good;
}

static bool put_forget(struct restore *x, const struct str *parts, size_t n)
{
    bool is_one, is_good = true;
    for (size_t i = 2; is_good && !x->is_skipping && i < n; i++)
        is_good = ask_key(x, "UNLINK", "", parts[i], &is_one);
    x->is_skipping = false;
    return is_good;
}

static bool put_head(struct restore *x, const struct str *parts, size_t n)
{
    return true;
}

static const struct record {
    const char *word;
    size_t min_n;
    bool is_paired; /* what follows the first min_n parts comes in pairs */
    bool (*put)(struct restore *x, const struct str *parts, size_t n);
} records[] = {
    {"head", 5, false, put_head},       {"key", 4, false, put_key_record},
    {"lookup", 3, true, put_lookup},    {"topic", 3, true, put_topic},
    {"drop", 2, false, put_drop},       {"blobs", 2, false, put_blobs},
    {"vectors", 4, false, put_vectors}, {"document", 2, true, put_document},
    {"forget", 2, false, put_forget},
};
enum { RECORD_N = sizeof records / sizeof records[0] };

static const struct record *find_record(const struct str *parts, size_t n)
{
    for (size_t i = 0; i < RECORD_N; i++)
        if (str_eq(parts[0], str_of(records[i].word)))
            return n < records[i].min_n || (records[i].is_paired && (n - records[i].min_n) % 2 != 0)
                       ? NULL
                       : &records[i];
    return NULL;
}

/* --- the file --------------------------------------------------------------------------------- */

/* Reads the whole file; with `is_writing` each record is put into Redis. */
static bool read_file(struct restore *x, bool is_writing)
{
    const struct str *parts;
    size_t n = 0;
    enum archive_found found = ARCHIVE_BROKEN;
    const struct record *record = NULL;
    bool is_good = true;
    if (fseeko(x->file, 0, SEEK_SET) != 0)
        return tool_complain(&x->tool, "%s: it is read twice, so it must be a file: %s",
                             x->tool.path, strerror(errno));
    archive_init(&x->archive, x->file);
    if (archive_open(&x->archive))
        while (is_good && (found = archive_next(&x->archive, &parts, &n)) == ARCHIVE_RECORD) {
            record = find_record(parts, n);
            if (record == NULL)
                is_good = tool_complain(&x->tool, "%s: record %" PRIu64 " is of no known kind",
                                        x->tool.path, x->archive.record_n);
            else if (is_writing)
                is_good = record->put(x, parts, n);
            x->tool.bytes = x->archive.bytes;
            tool_show_progress(&x->tool, is_writing ? "writing" : "checking");
        }
    if (is_good && found == ARCHIVE_BROKEN)
        is_good = tool_complain(&x->tool, "%s: %s", x->tool.path, x->archive.problem);
    else if (is_good)
        is_good = str_parse_u64(parts[1], &x->lease); /* archive_next has looked at it */
    archive_fini(&x->archive);
    return is_good;
}

/* --- Redis ------------------------------------------------------------------------------------ */

static bool visit_any(void *data, struct str name)
{
    struct restore *x = data;
    return tool_complain(&x->tool,
                         "Redis holds data already (%.*s%.*s): restore into one that holds none "
                         "under this prefix, and start the nodes afterwards",
                         STR_ARG(x->tool.prefix), STR_ARG(name));
}

static bool visit_lookup(void *data, struct str name)
{
    struct restore *x = data;
    struct str fingerprint = name;
    struct sync_call call = call_of(x);
    (void)str_cut(&fingerprint, ':');
    if (fingerprint.at == NULL)
        return true;
    call_restore_unneeded(sync_start(&call), .fingerprint = fingerprint);
    return has_reply(x, &call);
}

static bool look_for_sets(struct restore *x)
{
    struct sync_answer answer;
    struct str words[] = {STR("COMMAND"), STR("INFO"), STR("VADD")};
    enum err error = sync_command(x->tool.sync, words, 3, 0, &answer);
    x->has_sets = error == ERR_OK && answer.n > 0 && answer.at[0].at != NULL;
    return error != ERR_REDIS_LOST || tool_complain_redis(&x->tool);
}

/* The line `run_id:` of INFO: another one after each start of the server, and of another server.
 * Empty where INFO is forbidden. */
static bool read_run_id(struct restore *x, char ret_id[RUN_ID_BYTES])
{
    struct sync_answer answer;
    struct str words[] = {STR("INFO"), STR("server")}, line, rest = STR("");
    enum err error = sync_command(x->tool.sync, words, 2, 0, &answer);
    if (error == ERR_REDIS_LOST)
        return tool_complain_redis(&x->tool);
    ret_id[0] = 0;
    if (error == ERR_OK && answer.n == 1)
        rest = answer.at[0];
    while ((line = str_cut(&rest, '\n')).at != NULL) {
        struct str value = str_trim(line), name = str_cut(&value, ':');
        if (str_eq(name, STR("run_id")))
            snprintf(ret_id, RUN_ID_BYTES, "%.*s", STR_ARG(value));
    }
    return true;
}

static bool begin(struct restore *x)
{
    str_random_hex(8, x->id);
    if (!read_run_id(x, x->run_id))
        return false;
    x->has_begun = true;
    struct sync_call call = call_of(x);
    call_restore_begin(sync_start(&call), .lease = x->lease + LEASE_GAP, .restore = str_of(x->id));
    if (!has_reply(x, &call))
        return false;
    x->has_begun = str_eq(call.reply, STR("ok"));
    return x->has_begun ||
           tool_complain(&x->tool, "another restore into this Redis has begun just now");
}

/* Is all there that was written? A Redis that was started again in between, or was replaced by its
 * replica, may have lost what came before. */
static bool end(struct restore *x)
{
    char run_id[RUN_ID_BYTES];
    struct buf key;
    struct sync_answer answer;
    bool is_one;
    if (!read_run_id(x, run_id))
        return false;
    struct str words[] = {STR("GET"), put_key(&key, x, "restoring", STR(""))};
    enum err error = sync_command(x->tool.sync, words, 2, 0, &answer);
    buf_fini(&key);
    if (error != ERR_OK || answer.n != 1)
        return tool_complain_redis(&x->tool);
    if (strcmp(run_id, x->run_id) != 0 || !str_eq(answer.at[0], str_of(x->id)))
        return tool_complain(&x->tool,
                             "Redis was started again or emptied during the restore: what "
                             "it had taken before may be lost");
    return ask_key(x, "UNLINK", "restoring", STR(""), &is_one);
}

static bool write_all(struct restore *x)
{
    return tool_each_key(&x->tool, "", visit_any, x) && look_for_sets(x) && begin(x) &&
           read_file(x, true) && tool_each_key(&x->tool, "lookup:", visit_lookup, x) && end(x);
}

/* --- the run ---------------------------------------------------------------------------------- */

static void sum_up(const struct restore *x)
{
    const struct tool *t = &x->tool;
    tool_clear_progress(t);
    printf(t->is_json ? "{\"topics\":%llu,\"queries\":%llu,\"documents\":%llu,\"pieces\":%llu,"
                        "\"skippedKeys\":%llu,\"withoutVectors\":%llu}\n"
                      : "%llu topics with %llu queries, %llu documents, %llu pieces of other keys "
                        "(%llu of types that are not kept); %llu documents without vectors\n",
           (unsigned long long)t->topic_n, (unsigned long long)t->row_n,
           (unsigned long long)t->document_n, (unsigned long long)t->key_n,
           (unsigned long long)x->unknown_n, (unsigned long long)x->without_vectors_n);
    fflush(stdout);
    if (x->without_vectors_n > 0)
        fputs("parley: this Redis does not know vector sets: run `parley reindex` once the nodes "
              "are up\n",
              stderr);
}

static int run(struct restore *x)
{
    bool is_input = strcmp(x->tool.path, "-") == 0;
    x->file = is_input ? stdin : fopen(x->tool.path, "re");
    if (x->file == NULL) {
        tool_complain(&x->tool, "%s: %s", x->tool.path, strerror(errno));
        return 1;
    }
    (void)setvbuf(x->file, NULL, _IOFBF, READ_BUFFER_BYTES);
    bool is_good = read_file(x, false) && write_all(x);
    if (is_good)
        sum_up(x);
    else if (x->has_begun)
        fputs("parley: the restore is not complete: empty this Redis (FLUSHDB) and restore once "
              "more\n",
              stderr);
    if (!is_input)
        fclose(x->file);
    return is_good ? 0 : 1;
}

static int run_restore(const struct config *config)
{
    struct restore x = {0};
    int code = tool_start(&x.tool, "restore", config);
    if (code < 0)
        code = run(&x);
    tool_fini(&x.tool);
    return code;
}

const struct command restore_command = {
    .name = "restore",
    .summary = "put a backup into an empty Redis",
    .about =
        "usage: parley restore [--redis URL] [--json] FILE\n"
        "\n"
        "Puts a file of `parley backup` into a Redis that holds nothing under --key-prefix,\n"
        "which may differ from the backup's. Start the nodes afterwards: they write to Redis as\n"
        "soon as they run. The file is checked first; of one that was cut off or damaged nothing\n"
        "is written. Redis may be of another version than that of the backup (7.0 or later, or\n"
        "Valkey 8).\n"
        "\n"
        "Queries that were Pending are Open again, and the claim they were in counts as no\n"
        "attempt. Documents that were being indexed are queued again. Where the backup has vector\n"
        "sets and Redis does not know them (Redis 8 does), documents are found by their words\n"
        "alone until `parley reindex`.\n"
        "\n"
        "FILE is read twice; - is standard input, which must be a file, not a pipe.\n"
        "\n",
    .more =
        "\n"
        "Exit codes\n"
        "  0  all of it is there\n"
        "  1  FILE cannot be read, is damaged or of another format; Redis holds data, was gone "
        "for\n"
        "     30 seconds or is too small; or it was interrupted. If it had begun to write, empty\n"
        "     Redis before the next try\n"
        "  2  a wrong flag or value\n"
        "\n"
        "Examples\n"
        "  parley restore --redis redis://10.0.0.6:6379/0 /var/backups/parley-2026-11-20\n",
    .groups = (const struct config_group *const[]){&restore_options, &redis_options,
                                                   &log_tool_options, NULL},
    .run = run_restore,
};
