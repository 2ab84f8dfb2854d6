/* SPDX-License-Identifier: MIT
 * engine_settings.c - see engine_settings.h. */
#include "services/engine/engine_settings.h"

#include "services/engine/engine_apis.h"
#include "services/engine/engine_flags.h"

#include "shared/auth/login.h"
#include "shared/http/client/endpoint.h"

#include <stdio.h>
#include <sys/stat.h>

bool engine_settings_is_id(const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if (!((text[i] | 32) >= 'a' && (text[i] | 32) <= 'z') &&
            !(text[i] >= '0' && text[i] <= '9') && strchr("-_.", text[i]) == NULL)
            return false;
    return n > 0 && n <= ENGINE_ID_MAX_BYTES;
}

struct embedder *engine_settings_create_embedder(const struct config *config, const char *key,
                                                 char *reason, size_t reason_size)
{
    const char *embeddings = config_text(config, "embeddings");
    const char *model = config_text(config, "embeddings-model");
    if (!http_is_base_url(str_of(embeddings)))
        return embed_create(embeddings, key, reason, reason_size);
    snprintf(reason, reason_size, "needs --embeddings-model when it is a URL");
    struct embed_server_settings settings = {.base_url = embeddings, .model = model, .key = key};
    return model == NULL ? NULL : embed_create_openai(&settings);
}

static bool check_embeddings(const struct config *config)
{
    char reason[120] = "", line[160];
    struct embedder *embedder =
        engine_settings_create_embedder(config, NULL, reason, sizeof reason);
    embed_destroy(embedder);
    snprintf(line, sizeof line, "--embeddings %s", reason);
    return embedder != NULL || engine_flags_complain(line);
}

static const char *const transports[] = {
    [LINK_AUTO] = "auto", [LINK_SOCKET] = "socket", [LINK_ROUTES] = "routes"};

/* One past the last: it is none. */
static size_t read_transport(const struct config *config)
{
    size_t i = 0, n = sizeof transports / sizeof *transports;
    while (i < n && strcmp(config_text(config, "transport"), transports[i]) != 0)
        i++;
    return i;
}

enum link_transport engine_settings_transport(const struct config *config)
{
    return (enum link_transport)read_transport(config);
}

bool engine_settings_check(const struct config *config)
{
    const char *llm = engine_flags_llm_url(config);
    const char *id = config_text(config, "engine-id");
    const char *corpus = config_text(config, "corpus");
    struct stat info;
    if (config_text(config, "url") == NULL)
        return engine_flags_complain("--url is missing: the nodes to pull from");
    const char *fault = login_fault(config);
    if (fault != NULL)
        return engine_flags_complain(fault);
    if (llm != NULL && !http_is_base_url(str_of(llm)))
        return engine_flags_refuse(
            "llm",
            "takes a URL such as http://127.0.0.1:11434/v1, without user information or "
            "a query",
            llm);
    if (!engine_apis_check(config))
        return false;
    if (read_transport(config) > LINK_ROUTES)
        return engine_flags_refuse("transport", "takes auto, socket or routes",
                                   config_text(config, "transport"));
    if (!check_embeddings(config))
        return false;
    if (id != NULL && !engine_settings_is_id(id))
        return engine_flags_refuse("engine-id", "takes 1 to 60 letters, digits, '-', '_' and '.'",
                                   id);
    if (corpus != NULL && (stat(corpus, &info) != 0 || !S_ISDIR(info.st_mode)))
        return engine_flags_refuse("corpus", "takes a folder that can be read", corpus);
    return true;
}

void engine_settings_print(const struct config *config, const char *engine_id, const char *models,
                           const char *index_path)
{
    unsigned apis = engine_apis(config);
    const char *llm = engine_flags_llm_url(config), *corpus = config_text(config, "corpus");
    const char *embeddings = config_text(config, "embeddings");
    const char *model = config_text(config, "embeddings-model");
    printf("parley engine: would pull from %s as %s, %llu %s, engine id %s\n",
           config_text(config, "url"), config_text(config, "user"),
           COUNTED(config_number(config, "slots"), "slot"), engine_id);
    const char *used = config_text(config, "model");
    printf("model: %s%s%s\n",
           llm == NULL    ? "built-in, extractive"
           : used == NULL ? models
                          : used,
           llm == NULL ? "" : " at ", llm == NULL ? "" : llm);
    printf("serves: %s, by", models == NULL ? "questions for any model" : models);
    printf(" Parley's routes");
    for (enum api api = API_CHAT; api < API_NR; api++)
        if ((apis & API_BIT(api)) != 0)
            printf(", %s", api_name(api));
    printf("\n");
    printf("corpus: %s%s%s\n", corpus == NULL ? "none" : corpus,
           corpus == NULL ? "" : ", embedded by ",
           corpus == NULL                         ? ""
           : strcmp(embeddings, "hash") == 0      ? "built-in hashing"
           : http_is_base_url(str_of(embeddings)) ? model
                                                  : strchr(embeddings, '#') + 1);
    if (corpus != NULL)
        printf("index: %s\n", index_path == NULL ? "not kept" : index_path);
}
