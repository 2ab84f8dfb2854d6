/* SPDX-License-Identifier: MIT
 * ingest.c - `parley ingest`: indexes files into a collection with the pipeline of the indexers.
 *
 *   list the files --> read what the collection has --> prune --> file by file: compare, put
 *
 * Pruning comes first: it makes room.
 * One thread does all of it but renewing the lease of the job at hand (services/indexer/job.h). A
 * signal only stops the pipeline; the run then ends with its summary like any other. */
#include "services/indexer/ingest.h"

#include "services/indexer/collection.h"
#include "services/indexer/job_options.h"
#include "services/indexer/progress.h"

#include "shared/base/log_options.h"
#include "shared/base/repeats.h"
#include "shared/base/shown.h"
#include "shared/embed/embed_options.h"
#include "shared/extract/extract.h"
#include "shared/extract/scan.h"
#include "shared/http/client/endpoint.h"
#include "shared/redis/start.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 30000,
    REASON_MAX = 512,
    READ_STEP_BYTES = 1 << 16,
    URL_MAX_BYTES = 4096,
};

/* Counts of the files, by the word that is printed. */
enum tally { INDEXED, UNCHANGED, FAILED, REMOVED, TALLY_NR };
static const char *const tally_names[TALLY_NR] = {"indexed", "unchanged", "failed", "removed"};

struct ingest {
    const struct config *config;
    struct files files;
    struct shard_map map;
    struct pipeline_settings settings;
    struct pipeline pipeline;
    struct collection collection;
    struct progress progress;
    size_t tally[TALLY_NR];
    struct repeats failures; /* by the names of files */
    size_t old_n;            /* of the unchanged: those whose vectors are of another model */
    bool is_dry, is_verbose, is_interrupted;
};

static struct pipeline *to_stop; /* what the signal handler reaches */

static void on_signal(int number)
{
    int saved = errno;
    (void)number;
    pipeline_stop(to_stop);
    errno = saved;
}

static bool complain(const char *line)
{
    fprintf(stderr, "parley: %s (see parley ingest --help)\n", line);
    return false;
}

/* --- settings ------------------------------------------------------------------------------- */

static bool is_all_seen(struct str name)
{
    struct buf shown;
    buf_init(&shown, name.n * 3);
    buf_put_shown(&shown, name);
    bool is_same = str_eq(buf_str(&shown), name);
    buf_fini(&shown);
    return is_same;
}

static bool check_settings(struct ingest *in)
{
    const struct config *c = in->config;
    const char *collection = config_text(c, "collection"), *base = config_text(c, "base-url");
    if (collection == NULL)
        return complain("--collection is missing: the collection to fill");
    if (*collection == 0 || strlen(collection) > COLLECTION_NAME_MAX_BYTES ||
        !str_is_utf8(str_of(collection)))
        return complain("--collection takes 1 to 64 bytes of UTF-8");
    if (!is_all_seen(str_of(collection)))
        return complain("--collection contains an invisible character, such as a control character "
                        "or a direction mark: remove it");
    if (base != NULL &&
        (!http_is_base_url(str_of(base)) || strlen(base) > 1024 || !str_is_utf8(str_of(base))))
        return complain("--base-url takes a URL such as https://example.org/handbook, without user "
                        "information or a query");
    if (c->argument_n == 0)
        return complain("PATH is missing: the files or folders to read");
    return true;
}

static bool list_files(struct ingest *in)
{
    char reason[REASON_MAX];
    in->files.filter =
        (struct file_filter){.include = config_text(in->config, "include"),
                             .exclude = config_text(in->config, "exclude"),
                             .is_code_out = config_number(in->config, "exclude-code")};
    for (size_t i = 0; i < in->config->argument_n; i++)
        if (!files_add(&in->files, in->config->arguments[i], reason, sizeof reason)) {
            fprintf(stderr, "parley: %s\n", reason);
            return false;
        }
    files_finish(&in->files);
    if (in->files.is_over) {
        fprintf(stderr,
                "parley: more than %d files: a collection cannot hold them (--exclude leaves some "
                "out)\n",
                FILES_MAX);
        return false;
    }
    return true;
}

static void on_stage(void *arg, enum job_stage stage, unsigned percent)
{
    struct ingest *in = arg;
    progress_report(&in->progress, job_stage_name(stage), percent);
}

static bool read_settings(struct ingest *in)
{
    const struct config *c = in->config;
    if (!check_settings(in) || !redis_read_options(c, &in->map))
        return false;
    log_read_options(c);
    in->settings.embedder = scan_read_options(c) ? embed_read_options(c) : NULL;
    if (in->settings.embedder == NULL)
        return false;
    in->settings.map = &in->map;
    in->settings.lease_ms = job_read_lease_ms(c);
    in->settings.space = space_read_options(c);
    in->settings.on_stage = on_stage;
    in->settings.arg = in;
    in->is_dry = config_number(c, "dry-run");
    in->is_verbose = config_number(c, "verbose");
    return list_files(in);
}

/* --- one file ------------------------------------------------------------------------------- */

static bool read_file(const struct file *file, struct buf *bytes, const char **ret_reason)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0) {
        char *at = buf_reserve(bytes, READ_STEP_BYTES);
        n = at == NULL ? 0 : read(fd, at, READ_STEP_BYTES);
        if (n > 0)
            bytes->n += (size_t)n;
    }
    *ret_reason = n < 0 ? strerror(errno) : "The file is larger than 25 MiB.";
    if (fd >= 0)
        close(fd);
    return n == 0 && bytes->n <= EXTRACT_FILE_MAX_BYTES;
}

static void end_file(struct ingest *in, const struct file *file, enum tally tally,
                     const char *reason)
{
    bool is_again =
        tally == FAILED && !in->is_verbose && repeats_add(&in->failures, reason, file->name) > 1;
    in->tally[tally]++;
    progress_end(&in->progress, tally_names[tally], file->name, file->size_bytes, reason,
                 (tally == UNCHANGED && !in->is_verbose) || is_again);
}

/* Why a file is indexed whose bytes did not change; NULL for all others. */
static const char *reason_for(enum file_change change)
{
    if (change == FILE_READ_BEFORE)
        return "read again, because this Parley reads more of such files";
    return change == FILE_PACKED_BEFORE ? "indexed again, because this Parley searches differently"
                                        : NULL;
}

/* False when the run cannot continue. */
static bool end_put(struct ingest *in, const struct file *file, enum file_change change,
                    enum put_outcome outcome, struct buf *reason)
{
    switch (outcome) {
    case PUT_INDEXED: end_file(in, file, INDEXED, reason_for(change)); return true;
    case PUT_FAILED:
        buf_terminate(reason);
        end_file(in, file, FAILED, reason->n == 0 ? "It could not be indexed." : reason->at);
        return true;
    default: return false;
    }
}

/* Returns whether there is something to be done; counts the file otherwise. */
static bool must_index(struct ingest *in, const struct file *file, enum file_change change)
{
    bool is_due = change != FILE_SAME && (change != FILE_OLD || in->collection.is_reindex);
    in->old_n += change == FILE_OLD && !is_due;
    if (!is_due || in->is_dry)
        end_file(in, file, is_due ? INDEXED : UNCHANGED, is_due ? reason_for(change) : NULL);
    return is_due && !in->is_dry;
}

/* An error of Redis ends the run; the files that are left are for the next one. */
static bool compare_and_put(struct ingest *in, const struct file *file, struct str bytes,
                            struct str url)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    char sha[2 * EVP_MAX_MD_SIZE + 1];
    unsigned digest_n = 0;
    enum file_change change = FILE_NEW;
    struct collection *c = &in->collection;
    const struct collection_entry *entry = collection_find(c, file->name);
    if (EVP_Digest(bytes.at, bytes.n, digest, &digest_n, EVP_sha256(), NULL) != 1)
        abort();
    str_hex(digest, digest_n, sha);
    if (entry != NULL && collection_compare(c, entry, str_of(sha), url, &change) != ERR_OK)
        return false;
    if (!must_index(in, file, change))
        return true;
    struct buf reason;
    buf_init(&reason, 4096);
    bool has_text = change == FILE_OLD || change == FILE_PACKED_BEFORE;
    enum put_outcome outcome = has_text ? collection_reindex(c, entry, &reason)
                                        : collection_put(c, file, bytes, str_of(sha), url, &reason);
    bool goes_on = end_put(in, file, change, outcome, &reason);
    buf_fini(&reason);
    return goes_on;
}

static bool ingest_file(struct ingest *in, const struct file *file)
{
    struct buf bytes, url;
    const char *reason;
    bool goes_on = true;
    buf_init(&bytes, EXTRACT_FILE_MAX_BYTES + 2 * READ_STEP_BYTES);
    buf_init(&url, URL_MAX_BYTES);
    if (config_text(in->config, "base-url") != NULL)
        file_put_url(&url, str_of(config_text(in->config, "base-url")), str_of(file->page));
    progress_begin(&in->progress, file->name);
    if (!read_file(file, &bytes, &reason))
        end_file(in, file, FAILED, reason);
    else
        goes_on = compare_and_put(in, file, buf_str(&bytes), buf_str(&url));
    buf_fini(&url);
    buf_fini(&bytes);
    return goes_on;
}

/* --- the run -------------------------------------------------------------------------------- */

static bool is_stopping(struct ingest *in)
{
    return atomic_load(&in->pipeline.is_stopping);
}

static bool prune(struct ingest *in)
{
    for (size_t i = 0; i < in->collection.n && !is_stopping(in); i++) {
        const struct collection_entry *entry = &in->collection.entries[i];
        if (files_have(&in->files, entry->name) || !files_cover(&in->files, entry->name))
            continue;
        if (!in->is_dry && collection_remove(&in->collection, entry) != ERR_OK)
            return false;
        in->tally[REMOVED]++;
        progress_note(&in->progress, tally_names[REMOVED], entry->name, NULL);
    }
    return true;
}

/* Which dimension the model gives, so that a change of it alone is seen too. */
static bool find_dimension(struct ingest *in)
{
    const struct str text = STR("dimension");
    float *vector = NULL;
    if (!in->collection.is_reindex)
        return true;
    struct embed_reason reason;
    if (!embed_texts(in->settings.embedder, &text, 1, &in->pipeline.is_stopping, &vector,
                     &in->collection.dimension, &reason)) {
        fprintf(stderr, "parley: the embedding model %s returned no vectors: %s\n",
                in->settings.embedder->name, reason.text);
        return false;
    }
    free(vector);
    return true;
}

static bool run_all(struct ingest *in)
{
    if (collection_load(&in->collection) != ERR_OK)
        return false;
    if (config_number(in->config, "prune") && !prune(in))
        return false;
    for (size_t i = 0; i < in->files.n; i++)
        if (is_stopping(in) || !ingest_file(in, &in->files.at[i]))
            return false;
    return true;
}

/* Lists what was left out of the paths: reason by reason, or each with its own. */
static void print_skipped(struct ingest *in)
{
    struct repeats reasons = {.n = 0};
    for (size_t i = 0; i < in->files.skipped_n; i++) {
        const struct skipped_file *one = &in->files.skipped[i];
        if (in->is_verbose || in->progress.is_json)
            progress_note(&in->progress, "skipped", one->name, one->reason);
        else
            (void)repeats_add(&reasons, one->reason, one->name);
    }
    progress_note_repeats(&in->progress, "skipped", &reasons, 0);
    repeats_fini(&reasons);
}

static void sum_up(struct ingest *in, bool is_whole)
{
    const size_t *t = in->tally;
    const char *end = is_whole ? "" : in->is_interrupted ? ", interrupted" : ", Redis lost";
    progress_clear(&in->progress);
    if (!in->progress.is_json)
        progress_note_repeats(&in->progress, tally_names[FAILED], &in->failures, 1);
    print_skipped(in);
    if (in->progress.is_json)
        printf("{\"files\":%zu,\"indexed\":%zu,\"unchanged\":%zu,\"failed\":%zu,"
               "\"removed\":%zu,\"skipped\":%zu,\"otherModel\":%zu,\"dryRun\":%s,\"complete\":%"
               "s}\n",
               in->files.n, t[INDEXED], t[UNCHANGED], t[FAILED], t[REMOVED], in->files.skipped_n,
               in->old_n, in->is_dry ? "true" : "false", is_whole ? "true" : "false");
    else
        printf("%s%zu of %llu %s: %zu indexed, %zu unchanged, %zu failed; %zu removed, %zu "
               "skipped%s\n",
               in->is_dry ? "dry run, nothing was changed: " : "", in->progress.done_n,
               COUNTED(in->files.n, "file"), t[INDEXED], t[UNCHANGED], t[FAILED], t[REMOVED],
               in->files.skipped_n, end);
    fflush(stdout);
    if (in->old_n > 0)
        fprintf(stderr,
                "parley: %llu unchanged %s not embedded by %s and found by words only: add "
                "--reindex to index again\n",
                COUNTED_AS(in->old_n, "file was", "files were"), in->settings.embedder->name);
    if (!is_whole && in->is_interrupted)
        fputs("parley: interrupted; run it again to continue\n", stderr);
    else if (!is_whole)
        fprintf(stderr, "parley: %s (run it again to continue)\n",
                blocking_problem(in->pipeline.blocking));
}

static int run(struct ingest *in)
{
    struct sigaction action = {.sa_handler = on_signal};
    progress_init(&in->progress, in->files.n, in->files.bytes, config_number(in->config, "json"));
    pipeline_init(&in->pipeline, &in->settings, "parley-ingest", PATIENCE_MS);
    collection_init(&in->collection, &in->pipeline, str_of(config_text(in->config, "collection")));
    in->collection.is_reindex = config_number(in->config, "reindex");
    to_stop = &in->pipeline;
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    bool has_model = find_dimension(in), is_whole = has_model && run_all(in);
    in->is_interrupted = is_stopping(in);
    if (has_model || in->is_interrupted)
        sum_up(in, is_whole);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    collection_fini(&in->collection);
    pipeline_fini(&in->pipeline);
    return is_whole && in->tally[FAILED] == 0 ? 0 : 1;
}

int ingest_run(const struct config *config)
{
    struct ingest in = {.config = config};
    int code = 2;
    if (read_settings(&in))
        code = redis_check_start(&in.map) && redis_await_agreement(&in.map, true, PATIENCE_MS)
                   ? run(&in)
                   : 1;
    repeats_fini(&in.failures);
    embed_destroy(in.settings.embedder);
    files_fini(&in.files);
    return code;
}
