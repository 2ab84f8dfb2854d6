/* SPDX-License-Identifier: MIT
 * cli.c - shared by the commands of this folder (cli.h). To send a request twice does no harm: a
 * deletion continues with what is left, the others read. */
#include "services/users/cli/cli.h"

#include <stdio.h>

enum {
    PATH_MAX_BYTES = 1024,
    ATTEMPT_MS = 300000, /* a deletion is answered after its last step */
    EXIT_FAILED = 1
};

bool cli_ask(struct cli *cli, const struct node_call *call, json_t **ret_json)
{
    struct node_call patient = *call;
    if (patient.attempt_ms == 0)
        patient.attempt_ms = ATTEMPT_MS;
    bool is_served = node_calls_ask(&cli->calls, &patient, ret_json);
    if (cli->calls.fault == NODE_CALLS_ENDED)
        node_calls_complain(&cli->calls, "interrupted");
    return is_served;
}

bool cli_ask_for_user(struct cli *cli, struct node_call call, const char *what, json_t **ret_json)
{
    struct buf path;
    buf_init(&path, PATH_MAX_BYTES);
    buf_lit(&path, "/api/users/");
    buf_put_url_encoded(&path, str_of(cli->name));
    buf_put(&path, str_of(what));
    buf_terminate(&path);
    call.path = path.at;
    bool is_served = cli_ask(cli, &call, ret_json);
    buf_fini(&path);
    return is_served;
}

int cli_run(struct cli *cli, run_word *run)
{
    if (!node_calls_open(&cli->calls))
        return EXIT_FAILED;
    int code = run(cli);
    if (code == 0 && fflush(stdout) != 0) {
        node_calls_complain(&cli->calls, "cannot write to standard output");
        code = EXIT_FAILED;
    }
    node_calls_close(&cli->calls);
    return code;
}
