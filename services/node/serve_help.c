/* SPDX-License-Identifier: MIT
 * serve_help.c - `parley serve` as its users see it: the options that are the node's own, and the
 * help around them. Those of the services are theirs (table.c). What a row cannot check, settings.c
 * does; cmake/flags.pl writes the rows into docs/operations/configure.md. */
#include "services/commands/commands.h"
#include "services/node/serve.h"
#include "services/node/service.h"
#include "services/node/settings.h"

#include "shared/base/log_options.h"
#include "shared/base/trust.h"
#include "shared/redis/start.h"

static const struct config_group node_options = {
    "Node",
    (const struct config_option[]){
        OPTION_TEXT("listen", "ADDR", "127.0.0.1:8080",
                    "Address to listen on: HOST:PORT (port 0: any free port) or unix:/path. "
                    "Two processes cannot share an address."),
        OPTION_TEXT("tls-cert", "FILE", NULL,
                    "The certificate, with its chain (PEM): the node serves HTTPS and HTTP/2. "
                    "SIGHUP reloads it, and so does a change of the file; an invalid one is "
                    "ignored."),
        OPTION_TEXT("tls-key", "FILE", NULL,
                    "The certificate's private key (PEM, without a passphrase)."),
        OPTION_TEXT("tls-listen", "ADDR", NULL,
                    "A second address, for HTTPS: HOST:PORT. --listen then stays without TLS, "
                    "for example for a proxy or probes on this machine. Default: --listen "
                    "takes HTTPS only if there is a certificate."),
        OPTION_TEXT("target", "LIST", "all",
                    "Services to run: all, or a comma-separated list of the services above."),
        OPTION_NUMBER("threads", "N", "0", 0, THREADS_MAX,
                      "Number of event loops; to the cluster, each is a node. 0: one per core."),
        OPTION_NUMBER("drain-seconds", "N", "10", 1, 600,
                      "Seconds that running requests have to finish after SIGTERM. Raise it if "
                      "answers take longer."),
        {0}}};

static const struct config_group account_options = {
    "Accounts",
    (const struct config_option[]){
        OPTION_TEXT("accounts", "FILE", NULL,
                    "The accounts file (YAML): names, secrets, roles. SIGHUP reloads it; "
                    "an invalid file is ignored. Required."),
        OPTION_BOOL("auth-sha1", "on",
                    "Accepts SHA-1 signatures as well as SHA-256. Turn it off once no "
                    "client signs with SHA-1."),
        {0}}};

static const struct config_group oidc_options = {
    "OpenID provider",
    (const struct config_option[]){
        OPTION_TEXT(
            "oidc-issuer", "URL", "",
            "Issuer URL of the OpenID provider whose tokens are accepted. Its keys are found "
            "by discovery."),
        OPTION_TEXT("oidc-jwks-url", "URL", "",
                    "URL of the provider's keys, for a provider without discovery."),
        OPTION_TEXT("oidc-audience", "NAME", "",
                    "Value that `aud` or `azp` of a provider's token must have. Required with a "
                    "provider."),
        OPTION_TEXT("oidc-client-id", "NAME", "",
                    "Name of Parley's client at the provider: people can sign in to the web app "
                    "with it. The client's redirect address is --public-url and /auth/callback."),
        OPTION_TEXT("oidc-client-secret-file", "FILE", NULL,
                    "File with the client's secret. Without it the client is a public one."),
        OPTION_TEXT("oidc-name", "TEXT", "",
                    "Name of the provider in the web app. Default: the host of --oidc-issuer."),
        OPTION_BOOL("oidc-allow-private", "off",
                    "Allows the provider to have a private address and http:// URLs. For test "
                    "environments and trusted networks."),
        OPTION_NUMBER(
            "oidc-retry-seconds", "N", "30", 0, 86400,
            "Minimum seconds between two fetches of the provider's keys that are caused by an "
            "unknown key."),
        OPTION_NUMBER("oidc-refresh-seconds", "N", "900", 1, 86400,
                      "Maximum seconds between two fetches of the provider's keys."),
        {0}}};

static const struct config_group queue_options = {
    "Queue",
    (const struct config_option[]){
        OPTION_NUMBER(
            "lease-seconds", "N", "150", 1, 86400,
            "Seconds that an engine keeps a claim without a heartbeat or a partial answer. "
            "The same for all nodes."),
        OPTION_NUMBER(
            "delivery-seconds", "N", "2", 1, 60,
            "Seconds that a claim may take to reach its engine before its query is Open again."),
        OPTION_NUMBER("max-attempts", "N", "3", 1, 100,
                      "Maximum claims before a query is marked Failed. The same for all nodes."),
        OPTION_NUMBER(
            "queue-max", "N", "100000", 1, 100000000,
            "Maximum Open queries in the cluster; beyond it, new queries get 503. The same "
            "for all nodes."),
        OPTION_CHOICE(
            "durability", "none|replica|disk", "none",
            "Where a question, an answer or another change must be before it is "
            "acknowledged. none: in Redis's memory. replica: on a replica of Redis, too, so "
            "that nothing acknowledged is lost when the master dies. disk: in Redis's "
            "append-only file, written to disk (Redis 7.2 or Valkey 8). What is not "
            "confirmed within 5 seconds gets 503. The same for all nodes."),
        OPTION_NUMBER(
            "model-fallback-seconds", "N", "30", 0, 86400,
            "Seconds that queries wait for a model that no engine serves, before any engine "
            "gets them as `default`; immediately if no engine has served it for a day. 0: "
            "never. The same for all nodes."),
        OPTION_NUMBER(
            "rescan-seconds", "N", "0", 0, 3600,
            "Seconds between two reports of a node's parked polls to Redis: the longest time "
            "that a lost message can delay a query. 0: 5, or 1 with several shards. Of more than "
            "8 nodes each waits longer, up to 15 seconds."),
        OPTION_NUMBER("retention-days", "N", "0", 0, 36500,
                      "Days without a new query after which a topic is deleted. 0: never."),
        {0}}};

static const struct config_group http_options = {
    "HTTP",
    (const struct config_option[]){
        OPTION_TEXT("cors-origins", "LIST", "*",
                    "Origins that browsers may call from: * (any, without credentials), or a "
                    "comma-separated list, such as https://app.example (with credentials)."),
        OPTION_TEXT("trusted-proxies", "LIST", "",
                    "Proxies whose X-Forwarded-For is trusted: a comma-separated list of "
                    "addresses and CIDR blocks. Set it if nodes run behind a load balancer."),
        OPTION_NUMBER("body-max-bytes", "N", "1048576", 1024, 67108864,
                      "Maximum request body, in bytes, for routes without their own limit."),
        OPTION_NUMBER("body-memory-mib", "N", "256", 1, 65536,
                      "Memory for request bodies over 16 KiB, in MiB, for all threads together, "
                      "as much for answers that clients have not read, and as much for the "
                      "messageBody of runs that are driven. Raise it for many large uploads or "
                      "runs at the same time."),
        OPTION_NUMBER("header-max-bytes", "N", "32768", 1024, 409600,
                      "Maximum size of request line and headers, in bytes."),
        OPTION_NUMBER("idle-seconds", "N", "30", 1, 3600,
                      "Seconds that a connection may take to send a request or stay idle "
                      "between two requests."),
        OPTION_BOOL("log-requests", "off",
                    "Logs one line per request, at level info: id, method, route, status, "
                    "account, time, topic. Off: only at level debug. Turn it on to follow "
                    "requests from log to log; it costs a few microseconds per request."),
        {0}}};

const struct command serve_command = {
    .name = "serve",
    .is_flags_only = true,
    .summary = "run a node: serve HTTP clients and engines, with state in Redis",
    .about =
        "usage: parley serve [FLAGS]\n\n"
        "Runs a node: it serves HTTP and keeps its state in Redis. Any number of nodes on one\n"
        "Redis, behind any load balancer, act as one service. When the node is ready it prints "
        "one\n"
        "line, `parley: listening on URL`, on standard output. Logs go to standard error.\n"
        "\n"
        "Signals: SIGTERM and SIGINT drain the node: parked polls get an empty answer, running\n"
        "requests finish, and it exits with 0. SIGHUP reloads the accounts.\n"
        "Exit codes: 0 after a signal, 1 if it could not start, 2 for a wrong flag or value.\n"
        "\n",
    .more = "\nExample:\n  parley serve --listen 0.0.0.0:8080 --redis redis://10.0.0.5:6379/0 "
            "--accounts accounts.yaml\n",
    .groups = (const struct config_group *const[]){&node_options, &account_options, &redis_options,
                                                   &queue_options, &http_options, &oidc_options,
                                                   &trust_options, &log_options,
                                                   &config_check_options, NULL},
    .services = services,
    .run = serve_run,
};
