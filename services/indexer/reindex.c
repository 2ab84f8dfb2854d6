/* SPDX-License-Identifier: MIT
 * reindex.c - `parley reindex`: counts the documents that this Parley would index otherwise, and
 * queues those that can be indexed again from their stored text. The nodes' indexers do that.
 *
 *   which dimension has the model --> all documents: outdated? --> the plan is printed
 *     --> all documents: outdated, not being indexed already --> doc_reindex
 *
 * Each document is decided by its own state, so the command may be interrupted and run again at any
 * time. A space created during the run already uses the new model. Files are not kept: what must be
 * read again is only reported. */
#include "services/commands/commands.h"

#include "generated/verbs.h"
#include "services/indexer/searched.h"

#include "shared/base/log_options.h"
#include "shared/base/status_line.h"
#include "shared/base/trust.h"
#include "shared/embed/embed_options.h"
#include "shared/redis/start.h"

#include <stdio.h>
#include <stdlib.h>

enum { PATIENCE_MS = 30000, LINE_MAX_BYTES = 32768 };

static const struct config_group reindex_options = {
    "Flags",
    (const struct config_option[]){
        OPTION_TEXT("owner", "NAME", NULL,
                    "Reindexes only this owner's documents. Unset: all owners and collections."),
        OPTION_TEXT("namespace", "NAME", NULL,
                    "The namespace of the owner's accounts, if they have one."),
        OPTION_BOOL("dry-run", "off",
                    "Prints how many documents would be reindexed and changes nothing."),
        OPTION_BOOL("json", "off",
                    "Prints one JSON object per line for each document that is not up to date, "
                    "then one with their numbers, and one with what was queued."),
        {0}}};

struct reindex {
    const struct config *config;
    struct shard_map map;
    struct embedder *embedder;
    uint32_t dimension;
    struct searched searched;
    struct status_line progress;
    bool is_dry, is_json;
    /* Of the documents: those that are searched; up to date; outdated, and being indexed already;
     * to be indexed again from their text; to be read again from their files, of which some are
     * uploads and some both. */
    size_t seen_n, current_n, busy_n, index_n, read_n, upload_n, both_n;
    size_t queued_n, gone_n;
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
    x->is_json = config_number(c, "json");
    x->progress.is_off = x->is_json;
    x->searched = (struct searched){.map = &x->map,
                                    .owner = config_text(c, "owner"),
                                    .namespace = config_text(c, "namespace"),
                                    .arg = x};
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

static struct outdated outdated_now(const struct reindex *x, const struct searched_document *d)
{
    return outdated_of(&d->by, extract_kind_named(d->by.kind), x->embedder, x->dimension);
}

/* Its job makes it as it is to be, unless it began before an upgrade: then the next run says so. */
static bool is_busy(const struct searched_document *d)
{
    return str_eq(d->status, STR("QUEUED")) || str_eq(d->status, STR("INDEXING"));
}

static void print_document(const struct searched_document *d, struct outdated outdated)
{
    struct buf line;
    buf_init(&line, LINE_MAX_BYTES);
    buf_lit(&line, "{\"space\":");
    buf_put_json(&line, d->space);
    buf_lit(&line, ",\"document\":");
    buf_put_json(&line, d->id);
    buf_lit(&line, ",\"filename\":");
    buf_put(&line, d->filename_json);
    buf_lit(&line, ",\"kind\":");
    buf_put_json(&line, d->by.kind);
    buf_printf(&line, ",\"inProgress\":%s,\"toIndex\":%s,\"toRead\":%s}\n",
               is_busy(d) ? "true" : "false", outdated.index ? "true" : "false",
               outdated.text ? "true" : "false");
    fwrite(line.at, 1, line.n, stdout);
    buf_fini(&line);
}

static enum err count(void *arg, const struct searched_document *d)
{
    struct reindex *x = arg;
    struct outdated outdated = outdated_now(x, d);
    bool is_current = !outdated.index && !outdated.text;
    status_line_show(&x->progress, "looked at %llu %s", COUNTED(x->seen_n, "document"));
    x->seen_n++;
    if (!is_current && x->is_json)
        print_document(d, outdated);
    if (is_current || is_busy(d)) {
        *(is_current ? &x->current_n : &x->busy_n) += 1;
        return ERR_OK;
    }
    x->index_n += outdated.index;
    x->read_n += outdated.text;
    x->upload_n += outdated.text && !d->is_file;
    x->both_n += outdated.index && outdated.text;
    return ERR_OK;
}

static enum err queue(void *arg, const struct searched_document *d)
{
    struct reindex *x = arg;
    if (!outdated_now(x, d).index || is_busy(d))
        return ERR_OK;
    char job[STR_UUID_BYTES + 1];
    str_random_uuid(job);
    struct blocking_call call = {.blocking = x->searched.blocking};
    call_doc_reindex(blocking_start(&call), .space = d->space, .doc = d->id, .job = str_of(job),
                     .account = STR(""), .key = STR(""));
    if (call.error != ERR_OK)
        return call.error;
    x->queued_n += str_has_prefix(call.reply, STR("ok"));
    x->gone_n += str_eq(call.reply, STR("gone"));
    status_line_show(&x->progress, "queued %zu of %llu %s", x->queued_n,
                     COUNTED(x->index_n, "document"));
    return ERR_OK;
}

/* --- the run ---------------------------------------------------------------------------------- */

static void print_plan(struct reindex *x)
{
    size_t ingest_n = x->read_n - x->upload_n;
    status_line_clear(&x->progress);
    if (x->is_json) {
        printf("{\"documents\":%zu,\"upToDate\":%zu,\"inProgress\":%zu,\"toIndex\":%zu,"
               "\"toRead\":%zu,\"toUpload\":%zu,\"toIngest\":%zu,\"dimension\":%u,"
               "\"dryRun\":%s}\n",
               x->seen_n, x->current_n, x->busy_n, x->index_n, x->read_n, x->upload_n, ingest_n,
               x->dimension, x->is_dry ? "true" : "false");
        return;
    }
    printf("%llu %s, with vectors by %s (%llu %s):\n", COUNTED(x->seen_n, "document"),
           x->embedder->name, COUNTED(x->dimension, "dimension"));
    printf("%8zu up to date\n%8zu being indexed already\n", x->current_n, x->busy_n);
    printf("%8zu to be indexed again from their stored text\n", x->index_n);
    if (x->read_n == 0)
        return;
    printf("%8zu to be read again from their files, which Parley does not keep\n", x->read_n);
    if (x->upload_n > 0)
        printf("%16zu uploaded: send the file again\n", x->upload_n);
    if (ingest_n > 0)
        printf("%16zu ingested: run parley ingest again\n", ingest_n);
    if (x->both_n > 0)
        printf("%16zu counted above, too: the stored text does until then\n", x->both_n);
}

static void sum_up(struct reindex *x, bool is_whole)
{
    const char *end = is_whole ? "" : redis_is_interrupted() ? ", interrupted" : ", Redis lost";
    status_line_clear(&x->progress);
    if (x->is_json)
        printf("{\"queued\":%zu,\"withoutText\":%zu,\"complete\":%s}\n", x->queued_n, x->gone_n,
               is_whole ? "true" : "false");
    else if (x->is_dry)
        printf("dry run, nothing was changed%s\n", end);
    else if (x->gone_n > 0)
        printf("%zu queued, %zu to be uploaded again because they have no stored text%s\n",
               x->queued_n, x->gone_n, end);
    else
        printf("%zu queued%s\n", x->queued_n, end);
    fflush(stdout);
    if (!is_whole && !redis_is_interrupted())
        fprintf(stderr, "parley: %s (run it again to continue)\n",
                blocking_problem(x->searched.blocking));
}

static bool visit_all(struct reindex *x,
                      enum err (*visit)(void *arg, const struct searched_document *document))
{
    x->searched.visit = visit;
    return searched_visit_all(&x->searched) == ERR_OK && !redis_is_interrupted();
}

static int run(struct reindex *x)
{
    redis_connect_all(&x->map, "parley-reindex", PATIENCE_MS, x->searched.connections);
    bool is_whole = visit_all(x, count);
    if (is_whole) {
        print_plan(x);
        fflush(stdout);
        is_whole = x->is_dry || visit_all(x, queue);
    }
    sum_up(x, is_whole);
    redis_ignore_signals();
    redis_disconnect_all(&x->map, x->searched.connections);
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
    .summary = "queue documents for reindexing after an upgrade or a change of the model",
    .about =
        "usage: parley reindex [--redis URL] [--embeddings MODEL] [--owner NAME] [--dry-run]\n"
        "                      [--json]\n"
        "\n"
        "Run this after changing the embedding model, and after an upgrade. It compares how every\n"
        "searched document was indexed with what this Parley would do, prints the numbers, and "
        "then\n"
        "queues what can be made again:\n"
        "\n"
        "  up to date           nothing to do.\n"
        "  to be indexed again  its vectors come from a model other than --embeddings, or their\n"
        "                       dimension is not the one that model returns now, or its words "
        "were\n"
        "                       indexed by an earlier version of Parley. It is queued, and the "
        "nodes'\n"
        "                       indexers do the work from the stored text: start the nodes with "
        "the\n"
        "                       new model first. Until then it may be found by words only.\n"
        "  to be read again     this Parley reads more of such files (tables, pages, encodings). "
        "Files\n"
        "                       are not kept, so it is only counted: its owner uploads the same "
        "file\n"
        "                       again, and parley ingest reads the files of a collection again. "
        "Until\n"
        "                       then it is found as before.\n"
        "\n"
        "Documents that are being indexed are skipped, so the command can be run again at any "
        "time.\n"
        "\n",
    .more =
        "\n"
        "Exit codes\n"
        "  0  all documents that are to be indexed again are queued\n"
        "  1  Redis was unreachable for 30 seconds, the command was interrupted, the embedding\n"
        "     server returned no vector, or a document has no stored text\n"
        "  2  a wrong flag or value\n"
        "\n"
        "Examples\n"
        "  parley reindex --redis redis://10.0.0.5:6379/0 --dry-run \\\n"
        "      --embeddings openai:http://10.0.0.7:8000/v1#bge-m3\n",
    .groups = (const struct config_group *const[]){&reindex_options, &embed_options, &redis_options,
                                                   &trust_options, &log_tool_options, NULL},
    .run = run_reindex,
};
