/* SPDX-License-Identifier: MIT
 * restore.c - `parley restore`: puts a backup into empty servers, of any number of shards.
 *
 *   read the file to its end: is it whole? --> restore_begin (restore_target.c)
 *     --> read it once more, a verb per record (restore_records.c) --> who needs which lookup
 *     (restore_lookups.c) --> are they the same servers still? --> the marks are taken away
 *
 * So nothing is written from a truncated or damaged file. The verbs are in lua/backup and
 * repeatable, so a lost connection is harmless. A restart of Redis is not: data written before may
 * be lost. */
#include "services/backup/restore.h"

#include "services/commands/commands.h"
#include "shared/base/log_options.h"
#include "shared/base/trust.h"
#include "shared/redis/start.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { READ_BUFFER_BYTES = 1 << 20 };

static const struct config_group restore_options = {
    "Flags",
    (const struct config_option[]){
        OPTION_BOOL("json", "off", "Prints the counts as one JSON object, without progress lines."),
        {0}}};

/* --- for its parts ---------------------------------------------------------------------------- */

bool restore_has_reply(struct restore *x, const struct blocking_call *call)
{
    return call->error == ERR_OK || tool_complain_redis(&x->tool);
}

struct blocking_call restore_call(const struct restore *x)
{
    return (struct blocking_call){.blocking = x->tool.blocking,
                                  .error = redis_is_interrupted() ? ERR_REDIS_LOST : ERR_OK};
}

struct str restore_put_key(struct buf *key, const struct restore *x, const char *kind,
                           struct str name)
{
    buf_init(key, RESTORE_KEY_MAX_BYTES);
    buf_put(key, x->tool.prefix);
    buf_put(key, str_of(kind));
    buf_put(key, name);
    return buf_str(key);
}

bool restore_ask_key(struct restore *x, const char *command, const char *kind, struct str name,
                     bool *ret_is_one)
{
    struct buf key;
    struct blocking_answer answer;
    struct str words[] = {str_of(command), restore_put_key(&key, x, kind, name)};
    enum err error = blocking_command(x->tool.blocking, words, 2, 0, &answer);
    buf_fini(&key);
    if (error != ERR_OK || answer.n != 1)
        return tool_complain_redis(&x->tool);
    *ret_is_one = str_eq(answer.at[0], STR("1"));
    return true;
}

/* --- the file --------------------------------------------------------------------------------- */

/* Reads the whole file; with `is_writing` each record is put into Redis. */
static bool read_file(struct restore *x, bool is_writing)
{
    const struct str *parts;
    size_t n = 0;
    enum archive_found found = ARCHIVE_BROKEN;
    bool is_good = true;
    if (fseeko(x->file, 0, SEEK_SET) != 0)
        return tool_complain(&x->tool, "%s: must be a regular file, because it is read twice: %s",
                             x->tool.path, strerror(errno));
    archive_init(&x->archive, x->file);
    if (archive_open(&x->archive))
        while (is_good && (found = archive_next(&x->archive, &parts, &n)) == ARCHIVE_RECORD) {
            is_good = (is_writing ? restore_put_record : restore_note_record)(x, parts, n);
            x->tool.bytes = x->archive.bytes;
            tool_show_progress(&x->tool, is_writing ? "writing" : "checking");
        }
    if (is_good && found == ARCHIVE_BROKEN)
        is_good = tool_complain(&x->tool, "%s: %s", x->tool.path, x->archive.problem);
    else if (is_good)
        is_good = str_parse_u64(parts[1], &x->lease); /* archive_next has looked at it */
    archive_fini(&x->archive);
    doc_homes_sort(&x->doc_homes);
    return is_good;
}

static bool write_all(struct restore *x)
{
    return restore_begin(x) && read_file(x, true) && restore_count_lookups(x) && restore_end(x);
}

/* --- the run ---------------------------------------------------------------------------------- */

static void sum_up(struct restore *x)
{
    struct tool *t = &x->tool;
    status_line_clear(&t->progress);
    if (t->is_json)
        printf("{\"topics\":%llu,\"queries\":%llu,\"documents\":%llu,\"pieces\":%llu,"
               "\"skippedKeys\":%llu,\"withoutVectors\":%llu}\n",
               (unsigned long long)t->topic_n, (unsigned long long)t->row_n,
               (unsigned long long)t->document_n, (unsigned long long)t->key_n,
               (unsigned long long)x->unknown_n, (unsigned long long)x->without_vectors_n);
    else
        printf("%llu %s with %llu %s, %llu %s, %llu %s of other keys (%llu of types that are not "
               "restored); %llu %s without vectors\n",
               COUNTED(t->topic_n, "topic"), COUNTED_AS(t->row_n, "query", "queries"),
               COUNTED(t->document_n, "document"), COUNTED(t->key_n, "part"),
               (unsigned long long)x->unknown_n, COUNTED(x->without_vectors_n, "document"));
    fflush(stdout);
    if (x->without_vectors_n > 0)
        fputs("parley: this Redis does not support vector sets: run `parley reindex` once the "
              "nodes are up\n",
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
        fputs("parley: the restore is incomplete: empty this Redis (FLUSHDB) and restore again\n",
              stderr);
    if (!is_input)
        fclose(x->file);
    return is_good ? 0 : 1;
}

static int run_restore(const struct config *config)
{
    struct restore x = {.from_n = 1};
    int code = tool_start(&x.tool, "restore", config);
    if (code < 0)
        code = run(&x);
    doc_homes_fini(&x.doc_homes);
    tool_fini(&x.tool);
    return code;
}

const struct command restore_command = {
    .name = "restore",
    .summary = "restore a backup into an empty Redis",
    .about =
        "usage: parley restore [--redis URL] [--shards N] [--json] FILE\n"
        "\n"
        "Restores a file written by `parley backup` into a Redis that holds nothing under\n"
        "--key-prefix, which may differ from the backup's. Start the nodes afterwards, because "
        "they\n"
        "write to Redis as soon as they run. The file is checked first: nothing is written from a\n"
        "truncated or damaged one. Redis may have a version other than the backup's (7.0 or "
        "later,\n"
        "or Valkey 8).\n"
        "\n"
        "Queries that were Pending are Open again, and their claim does not count as an attempt.\n"
        "Documents that were being indexed are queued again, and runs of workflows continue. If "
        "the "
        "backup has vector sets and "
        "this\n"
        "Redis does not support them (Redis 8 does), documents are found by words only until you "
        "run\n"
        "`parley reindex`.\n"
        "\n"
        "--shards sets the number of shards of the new cluster, whatever the backup has: use it "
        "to\n"
        "change that number. Without it the number is that of the backup.\n"
        "\n"
        "FILE is read twice; - is standard input, which must be a file, not a pipe.\n"
        "\n",
    .more =
        "\n"
        "Exit codes\n"
        "  0  everything is restored\n"
        "  1  FILE cannot be read, is damaged or has another data version; Redis holds data, was\n"
        "     unreachable for 30 seconds or is too small; or the command was interrupted. If it "
        "had\n"
        "     begun to write, empty Redis before the next attempt\n"
        "  2  a wrong flag or value\n"
        "\n"
        "Examples\n"
        "  parley restore --redis redis://10.0.0.6:6379/0 /var/backups/parley-2026-11-20\n"
        "  parley restore --redis redis+cluster://10.0.0.6,10.0.0.7 --shards 8 parley-2026-11-20\n",
    .groups = (const struct config_group *const[]){&restore_options, &redis_options, &trust_options,
                                                   &log_tool_options, NULL},
    .run = run_restore,
};
