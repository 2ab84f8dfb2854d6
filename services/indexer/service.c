/* SPDX-License-Identifier: MIT
 * service.c - the indexer as one of the node's services (services/node/service.h): threads beside
 * the nodes, and nothing in them. */
#include "services/indexer/indexer.h"

#include "services/indexer/job_options.h"
#include "services/node/service.h"
#include "shared/base/mem.h"
#include "shared/embed/embed_options.h"
#include "shared/extract/extract.h"
#include "shared/extract/scan.h"

#include <stdio.h>

/* A child that reads a document, with its pipes and files. */
enum { FILES_OF_ONE = 12 };

struct settings {
    struct pipeline_settings pipeline;
    unsigned n; /* threads */
};

static const struct config_group options = {
    "Indexer", (const struct config_option[]){
                   OPTION_NUMBER("indexers", "N", "1", 0, INDEXERS_MAX,
                                 "Number of threads that index documents. 0: this "
                                 "process indexes none. Raise it if jobs stay QUEUED."),
                   {0}}};

static bool read_settings(const struct service_process *process, void **ret_settings)
{
    const struct config *c = process->config;
    if (!scan_read_options(c))
        return false;
    struct embedder *embedder = embed_read_options(c);
    if (embedder == NULL)
        return false;
    struct settings *settings = mem_zeroed(sizeof *settings);
    settings->n = (unsigned)config_number(c, "indexers");
    settings->pipeline = (struct pipeline_settings){
        .map = process->map,
        .embedder = embedder,
        .space = space_read_options(c),
        .lease_ms = job_read_lease_ms(c),
        .may_pass = true,
    };
    *ret_settings = settings;
    return true;
}

static void free_settings(void *data)
{
    struct settings *settings = data;
    embed_destroy(settings->pipeline.embedder);
    free(settings);
}

static void print(const void *data)
{
    const struct settings *settings = data;
    if (settings->n > 0)
        printf("%-20s %s\n", "pdftotext",
               extract_can_read_pdf() ? "found"
                                      : "not found: PDF files wait for an indexer that has it "
                                        "(install package poppler-utils)");
}

static unsigned count_files(const void *data)
{
    const struct settings *settings = data;
    return FILES_OF_ONE * settings->n;
}

static void *start(const void *data)
{
    const struct settings *settings = data;
    return settings->n == 0 ? NULL : indexer_start(&settings->pipeline, settings->n);
}

static void stop(void *work)
{
    indexer_stop(work);
}

static void finish(void *work)
{
    indexer_destroy(work);
}

const struct service indexer_service = {
    .name = "indexer",
    .summary = "makes uploads searchable, in its own threads",
    .groups = (const struct config_group *const[]){&embed_options, &space_options, &scan_options,
                                                   &options, &job_options, NULL},
    .read = read_settings,
    .free_settings = free_settings,
    .print = print,
    .count_files = count_files,
    .start = start,
    .stop = stop,
    .finish = finish,
};
