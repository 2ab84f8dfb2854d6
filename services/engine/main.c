/* SPDX-License-Identifier: MIT
 * main.c - `parley engine`: reads the settings, runs the loop, stops in order.
 *
 * One thread does all but reading the corpus. It waits for four things: the HTTP client, the
 * library's builder, signals (as a descriptor) and timers. It starts to pull once the corpus was
 * read, so that no question is answered from half a library. */
#include "services/engine/check.h"
#include "services/engine/engine.h"
#include "services/engine/engine_apis.h"
#include "services/engine/engine_flags.h"
#include "services/engine/engine_run.h"
#include "services/engine/engine_settings.h"
#include "services/engine/index_file.h"

#include "shared/auth/login.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/log_options.h"
#include "shared/base/mem.h"
#include "shared/op/notify.h"
#include "shared/op/signals.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { STOP_MS = 10000, TURN_MS = 60000, SERVES_MAX_BYTES = 1024 };

struct app {
    const struct config *config;
    struct engine engine;
    struct embedder *embedder;
    struct lookup_worker *lookup;
    struct recommender *recommender;
    char *secret, *llm_key, *embeddings_key, *index_path, *models;
    struct buf serves;
    char engine_id[ENGINE_ID_MAX_BYTES + 1];
    int signal_fd;
    bool is_ready, is_exiting;
    uint64_t stop_at_ms;
};

/* ---- settings ---- */

static void make_engine_id(struct app *app)
{
    char host[40] = "";
    const char *given = config_text(app->config, "engine-id");
    if (given != NULL) {
        snprintf(app->engine_id, sizeof app->engine_id, "%s", given);
        return;
    }
    if (gethostname(host, sizeof host - 1) != 0 || !engine_settings_is_id(host))
        snprintf(host, sizeof host, "engine");
    snprintf(app->engine_id, sizeof app->engine_id, "%s-%ld", host, (long)getpid());
}

/* An empty --index keeps none. */
static void choose_index(struct app *app)
{
    const char *corpus = config_text(app->config, "corpus");
    const char *index = config_text(app->config, "index");
    if (corpus == NULL || (index != NULL && *index == 0))
        return;
    app->index_path = index != NULL ? str_copy(str_of(index)) : index_file_path(corpus);
}

static bool read_settings(struct app *app)
{
    const struct config *config = app->config;
    const char *key_file = config_text(config, "llm-key-file");
    const char *embeddings_key_file = config_text(config, "embeddings-key-file");
    if (!engine_settings_check(config))
        return false;
    app->secret = login_read_secret(config);
    if (app->secret == NULL)
        return false;
    if (key_file != NULL && (app->llm_key = config_read_secret(key_file)) == NULL)
        return false;
    if (embeddings_key_file != NULL &&
        (app->embeddings_key = config_read_secret(embeddings_key_file)) == NULL)
        return false;
    choose_index(app);
    log_read_options(config);
    make_engine_id(app);
    return true;
}

/* ---- start ---- */

static void start_pulling(void *context)
{
    struct app *app = context;
    if (app->stop_at_ms != 0)
        return;
    app->is_ready = true;
    for (unsigned i = 0; i < app->engine.slot_n; i++)
        slot_start(app->engine.slots[i]);
    if (app->lookup != NULL)
        lookup_start(app->lookup);
    if (app->recommender != NULL)
        recommender_start(app->recommender);
    printf("parley engine: pulling from %s as %s\n", config_text(app->config, "url"),
           config_text(app->config, "user"));
    fflush(stdout);
    notify_manager("READY=1");
}

static void create_backends(struct app *app)
{
    const struct config *config = app->config;
    struct engine *engine = &app->engine;
    const char *llm = engine_flags_llm_url(config);
    struct backend_openai_settings settings = {
        .base_url = llm,
        .embeddings_url = config_text(config, "embeddings-url"),
        .embeddings_key = app->embeddings_key != NULL ? app->embeddings_key : app->llm_key,
        .model = config_text(config, "model"),
        .models = config_text(config, "models"),
        .key = app->llm_key,
        .idle_timeout_s = config_number(config, "llm-timeout")};
    if (llm != NULL || settings.embeddings_url != NULL)
        engine->server = backend_create_openai(&engine->timers, engine->client, &settings);
    engine->backend = llm != NULL ? engine->server : backend_create_builtin(&engine->timers);
}

/* The one that has a server to check. */
static struct backend *checked_backend(const struct app *app)
{
    return app->engine.server != NULL ? app->engine.server : app->engine.backend;
}

/* The models that polls name are known once the model server was asked. Returns false after a line
 * on standard error. */
static bool choose_models(struct app *app)
{
    const struct config *config = app->config;
    struct engine *engine = &app->engine;
    const struct backend *server = checked_backend(app);
    engine->apis = engine_apis(config);
    engine->models = config_text(config, "models");
    const char *names = server->ops->models(server);
    if (names[0] == 0) {
        fprintf(stderr, "parley: --model is missing: the model server lists no models\n");
        return false;
    }
    if (engine->models == NULL && engine->apis != 0)
        engine->models = app->models = str_copy(str_of(names));
    while (app->models != NULL && !engine_apis_fit(str_of(app->models), engine->apis)) {
        char *comma = strrchr(app->models, ',');
        *(comma == NULL ? app->models : comma) = 0; /* the last one does not fit */
    }
    buf_init(&app->serves, SERVES_MAX_BYTES);
    engine_apis_put(config, engine->models, &app->serves);
    buf_terminate(&app->serves);
    engine->serves = app->serves.at;
    return true;
}

static void create_library(struct app *app)
{
    const struct config *config = app->config;
    char reason[120];
    const char *key = app->embeddings_key != NULL ? app->embeddings_key : app->llm_key;
    app->embedder = engine_settings_create_embedder(config, key, reason, sizeof reason);
    if (app->embedder == NULL)
        abort(); /* engine_settings_check let it pass */
    if (app->index_path != NULL && config_text(config, "index") == NULL)
        index_file_make_folder(app->index_path);
    struct library_settings settings = {.folder = config_text(config, "corpus"),
                                        .index_path = app->index_path,
                                        .embedder = app->embedder,
                                        .client = app->engine.client,
                                        .timers = &app->engine.timers,
                                        .on_ready = start_pulling,
                                        .context = app};
    app->engine.library = library_create(&settings);
}

static void rest_slots(void *context)
{
    const struct engine *engine = context;
    for (unsigned i = 0; i < engine->slot_n; i++)
        slot_rest(engine->slots[i]);
}

static void wake_slots(void *context)
{
    const struct engine *engine = context;
    for (unsigned i = 0; i < engine->slot_n; i++)
        slot_wake(engine->slots[i]);
}

static bool create_basics(struct app *app)
{
    static const struct http_client_settings http = {.user_agent = "parley-engine/" PARLEY_VERSION};
    const struct config *config = app->config;
    app->engine.client = http_client_create(&http);
    app->engine.link = link_create(app->engine.client, config_text(config, "url"),
                                   config_text(config, "user"), app->secret);
    if (app->engine.link == NULL)
        return false;
    app->engine.engine_id = app->engine_id;
    app->engine.wait_s = config_number(config, "wait");
    app->engine.top_k = config_number(config, "top-k");
    create_backends(app);
    rest_init(&app->engine.rest, &(struct rest_config){.timers = &app->engine.timers,
                                                       .backend = checked_backend(app),
                                                       .on_begin = rest_slots,
                                                       .on_change = wake_slots,
                                                       .context = &app->engine});
    return true;
}

/* All that works, once what it needs is known to be there. */
static void create_workers(struct app *app)
{
    const struct config *config = app->config;
    link_open_socket(app->engine.link, &(struct link_socket_settings){
                                           .timers = &app->engine.timers,
                                           .engine_id = app->engine_id,
                                           .serves = app->engine.serves,
                                           .transport = engine_settings_transport(config)});
    app->engine.slot_n = (unsigned)config_number(config, "slots");
    app->engine.slots = mem_zeroed_n(app->engine.slot_n, sizeof(struct slot *));
    for (unsigned i = 0; i < app->engine.slot_n; i++)
        app->engine.slots[i] = slot_create(&app->engine, i);
    app->recommender = recommender_create(&app->engine);
    if (config_text(config, "corpus") != NULL)
        app->lookup = lookup_create(&app->engine);
    create_library(app);
}

static enum check_result check_start(struct app *app)
{
    const struct config *config = app->config;
    const char *llm = engine_flags_llm_url(config);
    const char *key_file = config_text(config, "llm-key-file");
    const char *embeddings_key_file = config_text(config, "embeddings-key-file");
    bool has_own_key = llm == NULL && embeddings_key_file != NULL;
    struct check_settings settings = {
        .engine = &app->engine,
        .backend = checked_backend(app),
        .user = config_text(config, "user"),
        .secret_source = login_source(config),
        .server_flag = llm != NULL ? "--llm" : "--embeddings-url",
        .server = llm != NULL ? llm : config_text(config, "embeddings-url"),
        .key_flag = has_own_key ? "--embeddings-key-file" : "--llm-key-file",
        .key_file = has_own_key ? embeddings_key_file : key_file,
        .models = config_text(config, "models"),
        .patience_s = app->signal_fd < 0 ? 0 : config_number(config, "start-seconds"),
        .signal_fd = app->signal_fd,
    };
    return check_all(&settings);
}

static void free_secret(char *secret)
{
    if (secret != NULL)
        OPENSSL_cleanse(secret, strlen(secret));
    free(secret);
}

static void destroy_all(struct app *app)
{
    recommender_destroy(app->recommender);
    lookup_destroy(app->lookup);
    rest_fini(&app->engine.rest);
    for (unsigned i = 0; i < app->engine.slot_n; i++)
        slot_destroy(app->engine.slots[i]);
    free(app->engine.slots);
    if (app->engine.server != app->engine.backend)
        backend_destroy(app->engine.server);
    backend_destroy(app->engine.backend);
    library_destroy(app->engine.library);
    embed_destroy(app->embedder);
    link_destroy(app->engine.link);
    http_client_destroy(app->engine.client);
    free_secret(app->secret);
    free_secret(app->llm_key);
    free_secret(app->embeddings_key);
    free(app->index_path);
    free(app->models);
    buf_fini(&app->serves);
    if (app->signal_fd >= 0)
        close(app->signal_fd);
}

/* ---- the loop ---- */

static void stop(struct app *app, uint32_t signal_number)
{
    if (app->stop_at_ms != 0) {
        log_write(LOG_WARN, "second signal: exiting without giving claims back");
        app->is_exiting = true;
        return;
    }
    log_write(LOG_INFO, "stopping", LOG_U("signal", signal_number));
    app->stop_at_ms = clock_mono_ms() + STOP_MS;
    lookup_destroy(app->lookup);
    app->lookup = NULL;
    recommender_destroy(app->recommender);
    app->recommender = NULL;
    for (unsigned i = 0; i < app->engine.slot_n; i++)
        slot_stop(app->engine.slots[i]);
    link_leave(app->engine.link);
}

/* The second step of stopping, see engine.h. */
static void give_back(struct app *app)
{
    if (app->stop_at_ms == 0 || app->engine.may_give_back)
        return;
    for (unsigned i = 0; i < app->engine.slot_n; i++)
        if (slot_is_polling(app->engine.slots[i]))
            return;
    app->engine.may_give_back = true;
    for (unsigned i = 0; i < app->engine.slot_n; i++)
        slot_give_back(app->engine.slots[i]);
}

static void read_signals(struct app *app)
{
    struct signalfd_siginfo info;
    while (read(app->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP)
            library_reload(app->engine.library);
        else
            stop(app, info.ssi_signo);
    }
}

static bool is_over(const struct app *app)
{
    bool is_stopped = app->stop_at_ms != 0;
    for (unsigned i = 0; i < app->engine.slot_n && is_stopped; i++)
        is_stopped = slot_is_stopped(app->engine.slots[i]);
    is_stopped = is_stopped && link_has_left(app->engine.link);
    return app->is_exiting || is_stopped ||
           (app->stop_at_ms != 0 && clock_mono_ms() >= app->stop_at_ms);
}

static void run(struct app *app)
{
    struct pollfd waits[] = {
        {.fd = http_client_fd(app->engine.client), .events = POLLIN},
        {.fd = library_fd(app->engine.library), .events = POLLIN},
        {.fd = app->signal_fd, .events = POLLIN},
        {.fd = -1}, /* the link's */
    };
    while (give_back(app), !is_over(app)) {
        waits[3] = link_poll(app->engine.link);
        int wait_ms = timers_wait_ms(&app->engine.timers, TURN_MS);
        if (app->stop_at_ms != 0 && wait_ms > 500)
            wait_ms = 500;
        if (poll(waits, sizeof waits / sizeof *waits, wait_ms) < 0 && errno != EINTR)
            abort();
        if (waits[2].revents != 0)
            read_signals(app);
        if (waits[0].revents != 0)
            http_client_turn(app->engine.client);
        if (waits[1].revents != 0)
            library_turn(app->engine.library);
        timers_run(&app->engine.timers);
        link_turn(app->engine.link);
    }
    log_write(LOG_INFO, "stopped");
}

int engine_run(const struct config *config)
{
    struct app app = {.config = config, .signal_fd = -1};
    int code = 2;
    if (!read_settings(&app))
        goto out;
    if (!create_basics(&app))
        goto out;
    if (config_number(app.config, "check-config") != 0) {
        code = check_start(&app) == CHECK_GOOD && choose_models(&app) ? 0 : 1;
        if (code == 0)
            engine_settings_print(app.config, app.engine_id, app.engine.models, app.index_path);
        goto out;
    }
    app.signal_fd = signals_catch();
    switch (check_start(&app)) {
    case CHECK_GOOD:
        if (!choose_models(&app)) {
            code = 1;
            break;
        }
        create_workers(&app);
        run(&app);
        code = 0;
        break;
    case CHECK_BAD: code = 1; break;
    case CHECK_SIGNAL: code = 0; break;
    }
out:
    destroy_all(&app);
    return code;
}
