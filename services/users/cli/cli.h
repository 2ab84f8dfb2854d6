/* SPDX-License-Identifier: MIT
 *
 * cli: shared by the parts of `parley user` and `parley recommendations`: their settings, and
 * requests that are retried until a node serves them. One thread; no loop except that of the
 * current request. A signal ends the command at its next wait (cli_wait).
 */
#ifndef PARLEY_SERVICES_USERS_CLI_CLI_H
#define PARLEY_SERVICES_USERS_CLI_CLI_H

#include "shared/base/config.h"
#include "shared/base/json.h"
#include "shared/base/status_line.h"

struct http_client;

enum { CLI_URLS_MAX = 16, CLI_NAME_MAX_BYTES = 161 };

struct cli {
    const struct config *config;
    const char *command;      /* "user", "recommendations" */
    const char *name, *shown; /* the user: as given, and as printed for people */
    const char *output;       /* of export; "-": standard output */
    struct str urls[CLI_URLS_MAX];
    unsigned url_n, url; /* `url`: index of the current one */
    char *secret;
    struct http_client *client;
    int signal_fd; /* -1 until cli_catch_signals */
    bool is_interrupted, is_json;
    struct status_line progress;
    struct buf *complaints; /* takes them instead of standard error, the last one; at least 512
                               bytes; or NULL */
};

/* Writes a line to standard error. Returns false. */
bool cli_complain(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* From now on, signals end the current wait instead of the process. */
void cli_catch_signals(struct cli *cli);
/* Waits for the descriptor `fd` or a signal, at most `ms` milliseconds; -1: no limit. `fd` may be
 * NULL. Returns false after a signal: the command must end. */
struct pollfd;
bool cli_wait(struct cli *cli, struct pollfd *fd, int ms) must_check;

struct cli_request {
    const char *method;
    const char *what; /* after the user: "", "/usage", "/export" */
    const char *path; /* replaces the user's path; ends where parameters follow; NULL: the user's */
    size_t max_bytes; /* maximum size of the response; 0: 1 MiB */
    uint64_t silence_ms; /* without data: the node is given up; 0: 5 minutes */
    bool tries_all;      /* each node is tried once before the patience counts, without a pause */
    /* A member of a refusal with 503 that is taken for the response; NULL: none. */
    const char *instead;
    bool *ret_is_missing; /* if not NULL, a missing item sets it and is not a failure */
    /* Takes the body of a response that is not JSON. Return false to end the request. NULL: the
     * response is JSON. */
    bool (*on_body)(void *context, struct str bytes);
    /* Only with on_body: whether the received body is complete, and whether the request can start
     * over. Both report errors themselves. */
    bool (*is_whole)(void *context);
    bool (*begin_again)(void *context);
    void *context;
};

/* Sends the request until a node serves it or --patience-seconds have passed. On failure writes a
 * line to standard error and returns false. The caller owns *ret_json (NULL with on_body). */
bool cli_ask(struct cli *cli, const struct cli_request *request, json_t **ret_json) must_check;

/* Reports a wrong argument in one line. Returns false. */
bool cli_refuse(struct cli *cli, const char *reason);
/* Reads --url. */
bool cli_read_urls(struct cli *cli) must_check;
/* Checks the settings of the account that signs. */
bool cli_check_account(struct cli *cli) must_check;
typedef int run_word(struct cli *cli); /* the exit code */
/* Reads the secret, runs `run` and frees its resources. Returns the exit code. */
int cli_run(struct cli *cli, run_word *run);

/* The subcommands. Return the exit code. */
int cli_usage(struct cli *cli);
int cli_export(struct cli *cli);
int cli_delete(struct cli *cli);

/* Prints what is stored for the user. */
void cli_print_usage(const struct cli *cli, const json_t *usage);

#endif
