/* SPDX-License-Identifier: MIT
 * serve_help.c - `parley serve` as its users see it: the options that are the node's own, and the
 * help around them. Those of the services are theirs (table.c). What a row cannot check, settings.c
 * does; docs/operations.md has a row for each flag (./dev lint settings). */
#include "services/commands/commands.h"
#include "services/node/serve.h"
#include "services/node/service.h"

#include "shared/base/log_options.h"
#include "shared/redis/start.h"

static const struct config_group node_options = {
    "Node", (const struct config_option[]){
                {.name = "listen",
                 .kind = CONFIG_TEXT,
                 .metavar = "ADDR",
                 .fallback = "127.0.0.1:8080",
                 .help = "Address to listen on: HOST:PORT (port 0 takes a free one) or unix:/path. "
                         "Two processes cannot share one."},
                {.name = "target",
                 .kind = CONFIG_TEXT,
                 .metavar = "LIST",
                 .fallback = "all",
                 .help = "Which services to run: all, or some of those above, comma separated."},
                {.name = "threads",
                 .kind = CONFIG_NUMBER,
                 .metavar = "N",
                 .fallback = "0",
                 .min = 0,
                 .max = THREADS_MAX,
                 .help = "Event loops, each a node of its own to the cluster. 0: one per core."},
                {.name = "drain-seconds",
                 .kind = CONFIG_NUMBER,
                 .metavar = "N",
                 .fallback = "10",
                 .min = 1,
                 .max = 600,
                 .help = "Seconds that requests under way have to finish after SIGTERM."},
                {0}}};

static const struct config_group account_options = {
    "Accounts", (const struct config_option[]){
                    {.name = "accounts",
                     .kind = CONFIG_TEXT,
                     .metavar = "FILE",
                     .help = "The accounts file (YAML): names, secrets, roles. Required. SIGHUP "
                             "reads it again; a broken one changes nothing."},
                    {.name = "auth-sha1",
                     .kind = CONFIG_BOOL,
                     .fallback = "on",
                     .help = "Accepts SHA-1 signatures besides SHA-256."},
                    {0}}};

static const struct config_group oidc_options = {
    "OpenID provider",
    (const struct config_option[]){
        {.name = "oidc-issuer",
         .kind = CONFIG_TEXT,
         .metavar = "URL",
         .fallback = "",
         .help = "The OpenID provider whose tokens are accepted. Its keys are found by discovery."},
        {.name = "oidc-jwks-url",
         .kind = CONFIG_TEXT,
         .metavar = "URL",
         .fallback = "",
         .help = "Where the provider's keys are, for one without discovery."},
        {.name = "oidc-audience",
         .kind = CONFIG_TEXT,
         .metavar = "NAME",
         .fallback = "",
         .help = "What `aud` or `azp` of a provider's token must be. Required with a provider."},
        {.name = "oidc-allow-private",
         .kind = CONFIG_BOOL,
         .fallback = "off",
         .help = "Allows a provider at a private address, and http:// in its URLs."},
        {.name = "oidc-retry-seconds",
         .kind = CONFIG_NUMBER,
         .metavar = "N",
         .fallback = "30",
         .min = 0,
         .max = 86400,
         .help = "Minimum seconds between two fetches of the provider's keys for a key that is not "
                 "among them."},
        {.name = "oidc-refresh-seconds",
         .kind = CONFIG_NUMBER,
         .metavar = "N",
         .fallback = "900",
         .min = 1,
         .max = 86400,
         .help = "Seconds after which the provider's keys are fetched again in any case."},
        {0}}};

static const struct config_group queue_options = {
    "Queue",
    (const struct config_option[]){
        {.name = "lease-seconds",
         .kind = CONFIG_NUMBER,
         .metavar = "N",
         .fallback = "150",
         .min = 1,
         .max = 86400,
         .help = "Seconds that an engine keeps a claim without a sign of life. The same for all "
                 "nodes."},
        {.name = "delivery-seconds",
         .kind = CONFIG_NUMBER,
         .metavar = "N",
         .fallback = "2",
         .min = 1,
         .max = 60,
         .help = "Seconds that a claim may take from Redis to its engine before its query is Open "
                 "again."},
        {.name = "max-attempts",
         .kind = CONFIG_NUMBER,
         .metavar = "N",
         .fallback = "3",
         .min = 1,
         .max = 100,
         .help = "Maximum claims before a query is marked Failed. The same for all nodes."},
        {.name = "queue-max",
         .kind = CONFIG_NUMBER,
         .metavar = "N",
         .fallback = "100000",
         .min = 1,
         .max = 100000000,
         .help = "Maximum Open queries in the cluster; past it new ones get 503. The same for all "
                 "nodes."},
        {.name = "model-fallback-seconds",
         .kind = CONFIG_NUMBER,
         .metavar = "N",
         .fallback = "30",
         .min = 0,
         .max = 86400,
         .help = "Seconds that queries for a model wait while no engine names it before any engine "
                 "gets them as `default`; at once if none named it for a day. 0: never. The same "
                 "for all nodes."},
        {.name = "rescan-seconds",
         .kind = CONFIG_NUMBER,
         .metavar = "N",
         .fallback = "0",
         .min = 0,
         .max = 3600,
         .help = "Seconds between two statements of a node's parked polls to Redis: the longest "
                 "that a lost message can hold up a query. 0: 5, with several shards 1."},
        {.name = "retention-days",
         .kind = CONFIG_NUMBER,
         .metavar = "N",
         .fallback = "0",
         .min = 0,
         .max = 36500,
         .help = "Days without a new query after which a topic is deleted. 0: never."},
        {0}}};

static const struct config_group http_options = {
    "HTTP",
    (const struct config_option[]){
        {.name = "cors-origins",
         .kind = CONFIG_TEXT,
         .metavar = "LIST",
         .fallback = "*",
         .help = "Origins that browsers may call from: * (without credentials), or a comma list "
                 "(with)."},
        {.name = "trusted-proxies",
         .kind = CONFIG_TEXT,
         .metavar = "LIST",
         .fallback = "",
         .help = "Proxies whose X-Forwarded-For is believed: a comma list of addresses and CIDR "
                 "blocks."},
        {.name = "body-max-bytes",
         .kind = CONFIG_NUMBER,
         .metavar = "N",
         .fallback = "1048576",
         .min = 1024,
         .max = 67108864,
         .help = "Largest request body, in bytes, of routes without a limit of their own."},
        {.name = "body-memory-mib",
         .kind = CONFIG_NUMBER,
         .metavar = "N",
         .fallback = "256",
         .min = 1,
         .max = 65536,
         .help = "Memory for request bodies over 16 KiB, in MiB, of all threads together. Raise it "
                 "for many large uploads at a time."},
        {.name = "header-max-bytes",
         .kind = CONFIG_NUMBER,
         .metavar = "N",
         .fallback = "32768",
         .min = 1024,
         .max = 409600,
         .help = "Largest request line with headers, in bytes."},
        {.name = "idle-seconds",
         .kind = CONFIG_NUMBER,
         .metavar = "N",
         .fallback = "30",
         .min = 1,
         .max = 3600,
         .help = "Seconds that a connection may take to send a request, or stay idle between two."},
        {0}}};

const struct command serve_command = {
    .name = "serve",
    .summary = "run a node: HTTP in front, Redis behind",
    .about =
        "usage: parley serve [FLAGS]\n\n"
        "Runs a node: HTTP in front, Redis behind. Any number of nodes on one Redis, behind any "
        "load\n"
        "balancer, behave as one. Prints one line `parley: listening on URL` on standard output "
        "when\n"
        "it is ready to accept; logs go to standard error.\n\n"
        "Signals: SIGTERM and SIGINT drain and exit 0 (parked polls get their empty answer, what "
        "runs\n"
        "is finished); SIGHUP reads the accounts again.\n"
        "Exit codes: 0 after a signal, 1 when it could not start, 2 for a wrong flag or value.\n\n",
    .more = "\nExample:\n  parley serve --listen 0.0.0.0:8080 --redis redis://10.0.0.5:6379/0 "
            "--accounts accounts.yaml\n",
    .groups = (const struct config_group *const[]){&node_options, &account_options, &redis_options,
                                                   &queue_options, &http_options, &oidc_options,
                                                   &log_options, &config_check_options, NULL},
    .services = services,
    .run = serve_run,
};
