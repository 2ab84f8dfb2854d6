/* SPDX-License-Identifier: MIT
 * restore.c - `parley restore`: puts a backup into empty servers, of any number of shards.
 *
 *   read the file to its end: is it whole? --> restore_begin (restore_target.c)
 *     --> read it once more, a verb per record (restore_records.c) --> who needs which lookup
 *     (restore_lookups.c) --> are they the same servers still? --> the marks are taken away
 *
 * So nothing is written of a file that was cut off or damaged. The verbs are in lua/backup; each
 * may run twice, so a lost connection in between does no harm; a Redis that was started again does:
 * what it had taken before may be lost. */
#include "services/backup/restore.h"

#include "services/commands/commands.h"
#include "shared/base/log_options.h"
#include "shared/redis/start.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { READ_BUFFER_BYTES = 1 << 20 };

static const struct config_group restore_options = {
    "Flags", (const struct config_option[]){
                 {.name = "json",
                  .kind = CONFIG_BOOL,
                  .fallback = "off",
                  .help = "Prints the counts as one JSON object, and no progress."},
                 {0}}};

/* --- for its parts ---------------------------------------------------------------------------- */

bool restore_has_reply(struct restore *x, const struct sync_call *call)
{
    return call->error == ERR_OK || tool_complain_redis(&x->tool);
}

struct sync_call restore_call(const struct restore *x)
{
    return (struct sync_call){.sync = x->tool.sync,
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
    struct sync_answer answer;
    struct str words[] = {str_of(command), restore_put_key(&key, x, kind, name)};
    enum err error = sync_command(x->tool.sync, words, 2, 0, &answer);
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
        return tool_complain(&x->tool, "%s: it is read twice, so it must be a file: %s",
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
    bool is_good = tool_connect(&x->tool) && read_file(x, false) && write_all(x);
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
    .summary = "put a backup into an empty Redis",
    .about =
        "usage: parley restore [--redis URL] [--shards N] [--json] FILE\n"
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
        "With --shards the new cluster has so many shards, whatever the backup has: this is the "
        "way\n"
        "from one to more, and back. Without it there are as many as in the backup, or as\n"
        "servers in --redis. All servers must be empty.\n"
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
        "  parley restore --redis redis://10.0.0.6:6379/0 /var/backups/parley-2026-11-20\n"
        "  parley restore --redis redis://10.0.0.6,redis://10.0.0.7 --shards 4 parley-2026-11-20\n",
    .groups = (const struct config_group *const[]){&restore_options, &redis_options,
                                                   &log_tool_options, NULL},
    .run = run_restore,
};
