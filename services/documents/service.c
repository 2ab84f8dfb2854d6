/* SPDX-License-Identifier: MIT
 * service.c - the document service as one of the node's services (services/node/service.h): its
 * options, and its row. What it does in the life of a node is documents.c. */
#include "services/documents/handlers.h"

#include "shared/base/mem.h"
#include "shared/embed/embed_options.h"

static const struct config_group options = {
    "Documents",
    (const struct config_option[]){
        OPTION_NUMBER("upload-max-mib", "N", "25", 1, UPLOAD_MOST_MIB,
                      "Maximum size of an uploaded document, in MiB."),
        OPTION_NUMBER(
            "documents-cache-mib", "N", "256", 1, 1048576,
            "Memory for cached search indexes, in MiB per thread. Indexes in use are kept in "
            "any case. Raise it if the metrics show indexes being fetched again and again."),
        OPTION_TEXT("public-collection", "NAME", "public",
                    "The public collection: POST /ask answers from it."),
        OPTION_NUMBER(
            "public-max-waiting", "N", "200", 1, 100000,
            "Maximum number of different POST /ask questions waiting for an engine in the "
            "whole cluster; further ones get 503."),
        OPTION_NUMBER(
            "ask-seconds", "N", "25", 1, 600,
            "Seconds that a question over documents waits for its answer before it gets 503."),
        OPTION_NUMBER("agent-seconds", "N", "75", 1, 3600,
                      "Maximum seconds of an agent run, for all of its steps together."),
        {0}}};

static bool read_settings(const struct service_process *process, void **ret_settings)
{
    const struct config *c = process->config;
    const char *collection = config_text(c, "public-collection");
    if (collection[0] == 0 || strlen(collection) > OWNER_MAX_BYTES)
        return config_wrong("public-collection", "takes a name of 1 to 128 bytes");
    struct embedder *embedder = embed_read_options(c);
    if (embedder == NULL)
        return false;
    struct documents_settings *settings = mem_zeroed(sizeof *settings);
    *settings = (struct documents_settings){
        .map = process->map,
        .embedder = embedder,
        .upload_max_bytes = config_number(c, "upload-max-mib") << 20,
        .cache_max_bytes = config_number(c, "documents-cache-mib") << 20,
        .space = space_read_options(c),
        .public_collection = collection,
        .public_url = config_text(c, "public-url"),
        .public_max_waiting = (unsigned)config_number(c, "public-max-waiting"),
        .ask_ms = config_number(c, "ask-seconds") * 1000,
        .agent_ms = config_number(c, "agent-seconds") * 1000,
    };
    *ret_settings = settings;
    return true;
}

const char *documents_put_problem(struct buf *b, const struct problem *problem)
{
    problem_put_members(b, problem);
    buf_lit(b, ",\"error\":");
    buf_put_json(b, str_of(problem->detail));
    buf_put_char(b, '}');
    return "application/problem+json";
}

static void free_settings(void *settings)
{
    embed_destroy(((struct documents_settings *)settings)->embedder);
    free(settings);
}

const struct service documents_service = {
    .name = "documents",
    .summary = "documents: upload, search, questions, the agent, /ask (includes web)",
    .groups = (const struct config_group *const[]){&embed_options, &space_options, &options, NULL},
    .routes = documents_routes,
    .events = (const char *const[]){"indexing", NULL},
    .model = &documents_model,
    .read = read_settings,
    .free_settings = free_settings,
    .create = documents_create,
    .destroy = documents_destroy,
    .on_event = documents_on_event,
    .on_up = documents_on_up,
    .drain = documents_drain,
    .put_health = documents_put_health,
};
