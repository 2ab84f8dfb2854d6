/* SPDX-License-Identifier: MIT
 *
 * cli: what the parts of `parley user` share: its settings, and requests to nodes that are sent
 * again until one serves them. One thread, no loop but that of the request at hand. Signals end it
 * at the next wait (cli_wait).
 */
#ifndef PARLEY_SERVICES_USERS_CLI_CLI_H
#define PARLEY_SERVICES_USERS_CLI_CLI_H

#include "shared/base/config.h"
#include "shared/base/json.h"

struct http_client;

enum { CLI_URLS_MAX = 16, CLI_NAME_MAX_BYTES = 161 };

struct cli {
    const struct config *config;
    const char *name, *shown; /* whose data: as given, and for people */
    const char *output;       /* of export; "-": standard output */
    struct str urls[CLI_URLS_MAX];
    unsigned url_n, url; /* `url`: which is asked now */
    char *secret;
    struct http_client *client;
    int signal_fd;                         /* -1 until cli_catch_signals */
    bool is_interrupted, is_json, is_line; /* is_line: progress stands on standard error */
    uint64_t shown_ms;
};

/* Writes a line to standard error; false. */
bool cli_complain(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Shows how far it is, on a terminal, some times a second. */
void cli_show_progress(struct cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* From now on signals end what waits instead of the process. */
void cli_catch_signals(struct cli *cli);
/* Waits for the descriptors of `fds` and signals, `ms` at most; -1: any time. `fds` may be NULL.
 * False when a signal came: everything is to end. */
struct pollfd;
bool cli_wait(struct cli *cli, struct pollfd *fd, int ms) must_check;

struct cli_request {
    const char *method;
    const char *what; /* after the user: "", "/usage", "/export" */
    /* Takes the body of an answer that is no JSON; false ends the request. NULL: it is JSON. */
    bool (*on_body)(void *context, struct str bytes);
    /* Of those with on_body, which say what is wrong themselves: whether the body that came is
     * whole, and whether it can begin again. */
    bool (*is_whole)(void *context);
    bool (*begin_again)(void *context);
    void *context;
};

/* Sends it until a node serves it, or --patience-seconds are over. False after a line on standard
 * error. *ret_json (NULL with on_body) is the caller's. */
bool cli_ask(struct cli *cli, const struct cli_request *request, json_t **ret_json) must_check;

/* What each word does; the exit code. */
int cli_usage(struct cli *cli);
int cli_export(struct cli *cli);
int cli_delete(struct cli *cli);

/* Prints what is stored for the user. */
void cli_print_usage(const struct cli *cli, const json_t *usage);

#endif
