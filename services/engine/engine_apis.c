/* SPDX-License-Identifier: MIT
 * engine_apis.c - see engine_apis.h. */
#include "services/engine/engine_apis.h"

#include "services/engine/engine_flags.h"
#include "shared/http/client/endpoint.h"

#include <stdio.h>

/* As nodes take them: as they are given, as names, and with those of Apis. */
enum { MODELS_MAX_BYTES = 256, MODELS_NAMES_MAX_BYTES = 512, MODELS_OF_APIS_MAX_BYTES = 1024 };

/* An Api to nodes, too, of engines that continue. */
static const struct str continues = STR("continues");
#define CONTINUES_BIT API_BIT(API_NR)

static unsigned continues_bit(const struct config *config)
{
    return config_number(config, "continues") != 0 ? CONTINUES_BIT : 0;
}

/* Nodes keep each name as it is, and once more for each of the Apis. */
bool engine_apis_fit(struct str models, unsigned apis)
{
    struct buf names;
    size_t n = 0, all;
    if (models.n > MODELS_MAX_BYTES || !str_is_utf8(models))
        return false;
    buf_init(&names, MODELS_NAMES_MAX_BYTES);
    while (models.at != NULL) {
        struct str name = str_trim(str_cut(&models, ','));
        if (name.n == 0)
            continue;
        if (n++ > 0)
            buf_put_char(&names, ',');
        buf_put_name(&names, name);
    }
    all = names.n;
    for (enum api api = API_CHAT; api < API_NR; api++)
        if ((apis & API_BIT(api)) != 0)
            all += 1 + names.n + n * (strlen(api_name(api)) + 1);
    if ((apis & CONTINUES_BIT) != 0)
        all += 1 + names.n + n * (continues.n + 1);
    bool fits = !names.is_over && all <= MODELS_OF_APIS_MAX_BYTES;
    buf_fini(&names);
    return fits;
}

/* NULL: not known before the model server was asked, or the built-in one. */
static const char *named_models(const struct config *config)
{
    const char *models = config_text(config, "models");
    return models != NULL ? models : config_text(config, "model");
}

/* A long list of models that nodes take without Apis is taken as it is. */
static unsigned usual_apis(const struct config *config)
{
    const char *models = named_models(config);
    unsigned apis = config_text(config, "embeddings-url") == NULL ? 0 : API_BIT(API_EMBEDDINGS);
    if (engine_flags_llm_url(config) != NULL)
        apis |= API_BIT(API_CHAT) | API_BIT(API_COMPLETIONS);
    else if (apis == 0)
        apis = API_BIT(API_CHAT);
    apis |= continues_bit(config);
    return models == NULL || engine_apis_fit(str_of(models), apis) ? apis : 0;
}

/* Returns false for a word that is none. */
static bool read_apis(const struct config *config, unsigned *ret_apis)
{
    struct str rest = str_of(config_text(config, "apis"));
    *ret_apis = 0;
    if (str_eq(rest, STR("auto"))) {
        *ret_apis = usual_apis(config);
        return true;
    }
    if (str_eq(rest, STR("none")))
        return true;
    while (rest.at != NULL) {
        enum api api = api_of(str_trim(str_cut(&rest, ',')));
        if (api == API_NONE || api == API_NR)
            return false;
        *ret_apis |= API_BIT(api);
    }
    *ret_apis |= continues_bit(config);
    return true;
}

unsigned engine_apis(const struct config *config)
{
    unsigned apis;
    return read_apis(config, &apis) ? apis : 0;
}

void engine_apis_put(const struct config *config, const char *models, struct buf *b)
{
    unsigned apis = engine_apis(config);
    bool is_first = true;
    if (models == NULL)
        return;
    buf_lit(b, "&Models=");
    buf_put_url_encoded(b, str_of(models));
    for (enum api api = API_CHAT; api < API_NR; api++) {
        if ((apis & API_BIT(api)) == 0)
            continue;
        buf_put(b, is_first ? STR("&Apis=") : STR(","));
        buf_put(b, str_of(api_name(api)));
        is_first = false;
    }
    if (config_number(config, "continues") != 0)
        buf_lit(b, "&Continues=true");
}

static bool check_models(const char *flag, const char *models, unsigned apis)
{
    if (models == NULL || engine_apis_fit(str_of(models), apis))
        return true;
    fprintf(
        stderr,
        "parley: --%s takes at most 256 bytes of UTF-8, and 512 when everything except letters, "
        "digits, '-', '_' and '.' is written as %%XX; with --apis, 1,024 with each name once "
        "more for each of them (see parley engine --help)\n",
        flag);
    return false;
}

bool engine_apis_check(const struct config *config)
{
    const char *llm = engine_flags_llm_url(config);
    const char *url = config_text(config, "embeddings-url");
    unsigned apis;
    if (url != NULL && !http_is_base_url(str_of(url)))
        return engine_flags_refuse(
            "embeddings-url",
            "takes a URL such as http://127.0.0.1:11434/v1, without user information or "
            "a query",
            url);
    if (!read_apis(config, &apis))
        return engine_flags_refuse(
            "apis", "takes auto, none, or a list of chat, completions, embeddings and messages",
            config_text(config, "apis"));
    if ((apis & API_BIT(API_EMBEDDINGS)) != 0 && url == NULL)
        return engine_flags_complain(
            "--apis with embeddings needs --embeddings-url: the server to request "
            "them from");
    if ((apis & API_BIT(API_COMPLETIONS)) != 0 && llm == NULL)
        return engine_flags_complain(
            "--apis with completions needs --llm: the built-in model serves chat");
    if ((apis & API_BIT(API_MESSAGES)) != 0 && llm == NULL)
        return engine_flags_complain(
            "--apis with messages needs --llm: the built-in model serves chat");
    if (url != NULL && llm == NULL && (apis & API_BIT(API_CHAT)) != 0)
        return engine_flags_complain(
            "--apis with chat and --embeddings-url needs --llm: clients could not tell "
            "the models apart");
    if (config_number(config, "continues") != 0 && llm == NULL)
        return engine_flags_complain(
            "--continues needs --llm: the built-in model continues no text");
    return check_models("models", config_text(config, "models"), apis) &&
           check_models("model", config_text(config, "model"), apis);
}
