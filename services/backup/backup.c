/* SPDX-License-Identifier: MIT
 * backup.c - `parley backup`: writes all data of a running cluster to one file.
 *
 *   idempotency keys, lookups (SCAN) --> topics, documents, the rest (SCAN) --> the last number
 *
 * Each arrow is for all shards of all servers, so the order holds among these too.
 *
 * The file contains everything that was acknowledged before the backup began: SCAN and HSCAN return
 * every element that exists from their start to their end. The order matters: an idempotency key
 * names a row that is read later, a topic names lookups that were read before, and the last number
 * is above all that was read.
 *
 * The file is written under a temporary name with mode 0600 and renamed when it is complete. */
#include "services/commands/commands.h"

#include "services/backup/kinds.h"
#include "services/backup/units.h"
#include "shared/base/log_options.h"
#include "shared/base/trust.h"
#include "shared/op/whole_file.h"
#include "shared/redis/start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { WRITE_BUFFER_BYTES = 1 << 20 };

static const struct config_group backup_options = {
    "Flags",
    (const struct config_option[]){
        OPTION_BOOL("force", "off", "Replaces an existing FILE once the new one is complete."),
        OPTION_BOOL("json", "off", "Prints the counts as one JSON object, without progress lines."),
        {0}}};

/* --- what is read ----------------------------------------------------------------------------- */

static struct str cut_name(struct str name)
{
    (void)str_cut(&name, ':');
    return name.at == NULL ? STR("") : name;
}

static bool visit_first(void *data, struct str name)
{
    struct units *units = data;
    switch (kind_of(name)) {
    case KIND_FIRST: return units_put_key(units, name);
    case KIND_LOOKUP: return units_put_lookup(units, cut_name(name));
    default: return !redis_is_interrupted() || tool_complain_redis(units->tool);
    }
}

static bool visit_rest(void *data, struct str name)
{
    struct units *units = data;
    switch (kind_of(name)) {
    case KIND_TOPIC: return units_put_topic(units, cut_name(name));
    case KIND_DOCUMENT: return units_put_document(units, cut_name(name));
    case KIND_RUN: return units_put_run(units, cut_name(name));
    case KIND_COPIED: return units_put_key(units, name);
    case KIND_COUNTED: return units_put_counted(units, name);
    case KIND_EXPIRING: return units_put_expiring(units, name);
    default: return !redis_is_interrupted() || tool_complain_redis(units->tool);
    }
}

static bool visit_last(void *data, struct str name)
{
    struct units *units = data;
    return kind_of(name) == KIND_LAST ? units_put_key(units, name)
                                      : !redis_is_interrupted() || tool_complain_redis(units->tool);
}

static bool read_all(struct units *units)
{
    return (archive_begin(units->archive) ||
            tool_complain(units->tool, "%s: %s", units->tool->path, strerror(errno))) &&
           units_put_head(units) && tool_each_key(units->tool, "", visit_first, units) &&
           tool_each_key(units->tool, "", visit_rest, units) &&
           tool_each_key(units->tool, "", visit_last, units) && units_put_end(units);
}

/* --- where it is written ---------------------------------------------------------------------- */

struct place {
    FILE *file;
    struct whole_file whole; /* unless it is standard output */
};

static bool open_place(struct tool *tool, bool may_replace, struct place *ret_place)
{
    if (strcmp(tool->path, "-") == 0) {
        ret_place->file = stdout;
        return !isatty(STDOUT_FILENO) ||
               tool_complain(tool,
                             "standard output is a terminal: give a file name, or use a pipe");
    }
    if (!whole_file_open(&ret_place->whole, tool->path, may_replace))
        return tool_complain(tool, "%s%s%s", tool->path,
                             errno == EEXIST    ? " exists: choose another name, or add --force"
                             : errno == ENOTSUP ? " exists and is not a regular file"
                                                : ": ",
                             errno == EEXIST || errno == ENOTSUP ? "" : strerror(errno));
    /* A descriptor of its own: both are closed, each by its owner. */
    int fd = fcntl(ret_place->whole.fd, F_DUPFD_CLOEXEC, 0);
    ret_place->file = fd < 0 ? NULL : fdopen(fd, "w");
    if (ret_place->file == NULL)
        abort();
    return true;
}

/* The file gets its name; without --force only if nobody else took that meanwhile. */
static bool commit(struct tool *tool, struct place *place)
{
    if (place->file == stdout)
        return fflush(stdout) == 0 || tool_complain(tool, "standard output: %s", strerror(errno));
    bool is_written = fclose(place->file) == 0;
    place->file = NULL;
    return (is_written && whole_file_commit(&place->whole)) ||
           tool_complain(tool, "%s: %s", tool->path, strerror(errno));
}

static void leave(struct place *place)
{
    if (place->file != NULL && place->file != stdout)
        fclose(place->file);
    whole_file_leave(&place->whole);
}

/* --- the run ---------------------------------------------------------------------------------- */

static void sum_up(struct tool *tool, const struct units *units)
{
    FILE *out = strcmp(tool->path, "-") == 0 ? stderr : stdout;
    status_line_clear(&tool->progress);
    if (tool->is_json)
        fprintf(out,
                "{\"topics\":%llu,\"queries\":%llu,\"documents\":%llu,\"otherKeys\":%llu,"
                "\"skippedKeys\":%llu,\"bytes\":%llu}\n",
                (unsigned long long)tool->topic_n, (unsigned long long)tool->row_n,
                (unsigned long long)tool->document_n, (unsigned long long)tool->key_n,
                (unsigned long long)units->skipped_n, (unsigned long long)tool->bytes);
    else
        fprintf(out,
                "%llu %s with %llu %s, %llu %s, %llu other %s (%llu of types that are not backed "
                "up), %llu %s\n",
                COUNTED(tool->topic_n, "topic"), COUNTED_AS(tool->row_n, "query", "queries"),
                COUNTED(tool->document_n, "document"), COUNTED(tool->key_n, "key"),
                (unsigned long long)units->skipped_n, COUNTED(tool->bytes, "byte"));
    fflush(out);
}

static int run(struct tool *tool)
{
    bool may_replace = config_number(tool->config, "force");
    struct place place = {0};
    struct archive archive = {0};
    struct units units = {.tool = tool, .archive = &archive};
    bool is_good = open_place(tool, may_replace, &place);
    if (is_good) {
        (void)setvbuf(place.file, NULL, _IOFBF, WRITE_BUFFER_BYTES);
        archive_init(&archive, place.file);
        is_good = tool_connect(tool) && read_all(&units) && commit(tool, &place);
        archive_fini(&archive);
    }
    if (is_good)
        sum_up(tool, &units);
    leave(&place);
    return is_good ? 0 : 1;
}

static int run_backup(const struct config *config)
{
    struct tool tool;
    int code = tool_start(&tool, "backup", config);
    if (code < 0)
        code = run(&tool);
    tool_fini(&tool);
    return code;
}

const struct command backup_command = {
    .name = "backup",
    .summary = "write all data of a running cluster to one file",
    .about =
        "usage: parley backup [--redis URL] [--force] [--json] FILE\n"
        "\n"
        "Writes all data of a cluster to one file while its nodes keep running: topics with their\n"
        "queries and answers, lookups, documents with their indexes, runs of workflows with their\n"
        "approvals, idempotency keys, used nonces and limits. The file contains everything\n"
        "that was acknowledged before the backup began.\n"
        "Claims are not included: after a restore their queries are Open again.\n"
        "\n"
        "FILE is created with mode 0600 once it is complete; - is standard output. It contains\n"
        "everything that users wrote and the cluster's token key: protect it like a secret. It\n"
        "does not contain the accounts file.\n"
        "\n",
    .more = "\n"
            "Exit codes\n"
            "  0  FILE is complete\n"
            "  1  FILE exists or cannot be written, Redis was unreachable for 30 seconds or has\n"
            "     another data version, or the backup was interrupted; no new FILE was created\n"
            "  2  a wrong flag or value\n"
            "\n"
            "Examples\n"
            "  parley backup --redis redis://10.0.0.5:6379/0 /var/backups/parley-$(date +%F)\n"
            "  parley backup --redis redis://10.0.0.5:6379/0 - | age -r KEY >parley.age\n",
    .groups = (const struct config_group *const[]){&backup_options, &redis_options, &trust_options,
                                                   &log_tool_options, NULL},
    .run = run_backup,
};
