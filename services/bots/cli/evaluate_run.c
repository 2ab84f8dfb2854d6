/* SPDX-License-Identifier: MIT
 * evaluate_run.c - a run on the nodes, as this command follows it.
 *
 *   POST, unless the run is known --> id --> GET the turns since the last one, until it is over
 *
 * The nodes drive the run whether or not anybody follows it, and while it is unfinished the same
 * POST returns the same run. So an attempt may reach several nodes, and the command may end and
 * begin again at any time. */
#include "services/bots/cli/evaluate.h"

#include "shared/base/clock.h"

#include <stdio.h>

enum { PATH_BYTES = 256, ANSWER_MAX_BYTES = 32 << 20, POLL_EVERY_MS = 500 };

static bool complain_of_alien(struct evaluate_cli *cli)
{
    struct node_calls *calls = &cli->calls;
    return node_calls_complain(calls, "--url %.*s: the response is not from a Parley node",
                               STR_ARG(calls->urls[calls->url]));
}

static bool is_id(struct str id)
{
    for (size_t i = 0; i < id.n; i++)
        if (strchr("0123456789abcdef-", id.at[i]) == NULL || id.at[i] == 0)
            return false;
    return id.n > 0 && id.n < EVALUATE_ID_MAX_BYTES;
}

bool evaluate_cli_fetch(struct evaluate_cli *cli, const char *id, struct evaluated *evaluated,
                        bool *ret_is_missing)
{
    char path[PATH_BYTES];
    const struct node_call call = {.method = "GET",
                                   .path = path,
                                   .max_bytes = ANSWER_MAX_BYTES,
                                   .ret_is_missing = ret_is_missing};
    *ret_is_missing = false;
    for (size_t before = SIZE_MAX, n = json_array_size(evaluated->turns); n != before;) {
        json_t *response = NULL;
        before = n;
        snprintf(path, sizeof path, "/api/evaluations/%s?after=%zu", id, n);
        if (!node_calls_ask(&cli->calls, &call, &response))
            return false;
        if (*ret_is_missing)
            return true;
        if (!evaluated_take(evaluated, response))
            return complain_of_alien(cli);
        n = json_array_size(evaluated->turns);
        if (n >= evaluated->done_n)
            break; /* otherwise there is another page */
    }
    return true;
}

static bool begin(struct evaluate_cli *cli)
{
    const struct node_call call = {
        .method = "POST", .path = "/api/evaluations", .body = buf_str(&cli->request)};
    json_t *response = NULL;
    if (!node_calls_ask(&cli->calls, &call, &response))
        return false;
    struct str id = json_member_str(response, "id");
    bool is_good = id.at != NULL && is_id(id);
    if (is_good)
        snprintf(cli->id, sizeof cli->id, "%.*s", STR_ARG(id));
    json_decref(response);
    if (!is_good)
        return complain_of_alien(cli);
    evaluate_cli_remember(cli);
    return true;
}

/* The first request: a run that was remembered may be gone. */
static bool find(struct evaluate_cli *cli)
{
    bool is_missing = false;
    cli->is_known = cli->id[0] != 0;
    if (cli->is_known && !evaluate_cli_fetch(cli, cli->id, &cli->run, &is_missing))
        return false;
    if (is_missing && cli->path == NULL)
        return node_calls_complain(&cli->calls, "--run %s: there is no such evaluation", cli->id);
    if (!cli->is_known || is_missing) {
        cli->is_known = false;
        if (!begin(cli) || !evaluate_cli_fetch(cli, cli->id, &cli->run, &is_missing))
            return false;
        if (is_missing)
            return node_calls_complain(&cli->calls, "evaluation %s has been deleted", cli->id);
    }
    return true;
}

bool evaluate_cli_follow(struct evaluate_cli *cli)
{
    bool is_missing = false;
    if (!find(cli))
        return false;
    cli->started_ms = clock_mono_ms();
    cli->started_n = json_array_size(cli->run.turns);
    cli->said_n = cli->is_known ? cli->started_n : 0;
    evaluate_cli_show_begin(cli);
    while (!evaluated_is_over(&cli->run)) {
        evaluate_cli_show_progress(cli);
        if (!node_calls_wait(&cli->calls, NULL, POLL_EVERY_MS) ||
            !evaluate_cli_fetch(cli, cli->id, &cli->run, &is_missing))
            return false;
        if (is_missing)
            return node_calls_complain(&cli->calls, "evaluation %s has been deleted", cli->id);
    }
    evaluate_cli_show_progress(cli);
    return true;
}

bool evaluate_cli_cancel(struct evaluate_cli *cli, const char *id)
{
    char path[PATH_BYTES];
    bool is_missing = false;
    const struct node_call call = {.method = "DELETE", .path = path, .ret_is_missing = &is_missing};
    json_t *response = NULL;
    snprintf(path, sizeof path, "/api/evaluations/%s", id);
    if (!node_calls_ask(&cli->calls, &call, &response))
        return false;
    json_decref(response);
    if (is_missing)
        return node_calls_complain(&cli->calls, "--run %s: there is no such evaluation", id);
    return true;
}
