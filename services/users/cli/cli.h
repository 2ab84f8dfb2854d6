/* SPDX-License-Identifier: MIT
 *
 * cli: shared by `parley user`, `parley recommendations` and `parley top`: their settings, and
 * requests to nodes (node_calls.h). One thread. A signal ends the command at its next wait.
 */
#ifndef PARLEY_SERVICES_USERS_CLI_CLI_H
#define PARLEY_SERVICES_USERS_CLI_CLI_H

#include "shared/http/client/node_calls.h"

enum { CLI_NAME_MAX_BYTES = 161 };

struct cli {
    struct node_calls calls;
    const struct config *config;
    const char *name, *shown; /* the user: as given, and as printed for people */
    const char *output;       /* of export; "-": standard output */
    bool is_json;
};

/* Sends the call until a node serves it or --patience-seconds have passed; an attempt may take five
 * minutes, unless the call says how long. On failure writes a line to standard error and returns
 * false. The caller owns *ret_json (NULL of a stream). */
bool cli_ask(struct cli *cli, const struct node_call *call, json_t **ret_json) must_check;
/* The same to a route of the user: `call` without its path. `what`: "", "/usage", "/export". */
bool cli_ask_for_user(struct cli *cli, struct node_call call, const char *what,
                      json_t **ret_json) must_check;

typedef int run_word(struct cli *cli); /* the exit code */
/* Reads the secret, catches signals, runs `run` and frees its resources. Returns the exit code. */
int cli_run(struct cli *cli, run_word *run);

/* The subcommands. Return the exit code. */
int cli_usage(struct cli *cli);
int cli_export(struct cli *cli);
int cli_delete(struct cli *cli);

/* Prints what is stored for the user. */
void cli_print_usage(const struct cli *cli, const json_t *usage);

#endif
