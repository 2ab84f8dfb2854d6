/* SPDX-License-Identifier: MIT
 * delete.c - `parley user delete`: asks for the name on a terminal, then sends the request until a
 * node says that it was the last. What one has deleted stays deleted, whatever becomes of the
 * next. */
#include "services/users/cli/cli.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

static const struct {
    const char *kind, *text;
} kinds[] = {
    {"Topics", "topics"},
    {"SharedTopics", "topics of others in which questions were blanked"},
    {"Queries", "questions"},
    {"Lookups", "lookups"},
    {"Recommendations", "recommendations"},
    {"Documents", "documents"},
    {"Jobs", "jobs of documents"},
    {"Limits", "counters of limits"},
};
enum { KIND_N = sizeof kinds / sizeof *kinds };

struct deletion {
    struct cli *cli;
    json_t *gone; /* {kind: n} of all requests */
    unsigned long long requests;
    bool is_done;
};

static unsigned long long gone_of(const struct deletion *deletion, const char *kind)
{
    return (unsigned long long)json_integer_value(json_object_get(deletion->gone, kind));
}

/* A kind that a later release adds is counted too. */
static void take(struct deletion *deletion, json_t *answer)
{
    const char *kind;
    json_t *n;
    json_object_foreach(json_object_get(answer, "Deleted"), kind, n) if (json_is_integer(n))
        json_object_set_new(
            deletion->gone, kind,
            json_integer(json_integer_value(n) + (json_int_t)gone_of(deletion, kind)));
    deletion->requests++;
    deletion->is_done = json_is_true(json_object_get(answer, "Done"));
}

static bool delete_all(struct deletion *deletion)
{
    while (!deletion->is_done) {
        json_t *answer = NULL;
        if (!cli_ask_for_user(deletion->cli, (struct node_call){.method = "DELETE"}, "", &answer))
            return false;
        bool is_one = json_is_object(json_object_get(answer, "Deleted")) &&
                      json_is_boolean(json_object_get(answer, "Done"));
        take(deletion, answer);
        json_decref(answer);
        if (!is_one)
            return node_calls_complain(&deletion->cli->calls,
                                       "--url: the response is not from a Parley node");
        status_line_show(&deletion->cli->calls.progress,
                         "deleted so far: %llu %s, %llu %s, %llu %s",
                         COUNTED(gone_of(deletion, "Topics"), "topic"),
                         COUNTED(gone_of(deletion, "Queries"), "question"),
                         COUNTED(gone_of(deletion, "Documents"), "document"));
    }
    return true;
}

static void print_json(const struct deletion *deletion)
{
    struct buf out;
    buf_init(&out, SIZE_MAX / 2);
    buf_lit(&out, "{\"User\":");
    buf_put_json(&out, str_of(deletion->cli->name));
    buf_lit(&out, ",\"Deleted\":");
    buf_put_json_value(&out, deletion->gone);
    buf_printf(&out, ",\"Done\":%s,\"Requests\":%llu}", deletion->is_done ? "true" : "false",
               deletion->requests);
    printf("%.*s\n", STR_ARG(buf_str(&out)));
    buf_fini(&out);
}

static void print_list(const struct deletion *deletion)
{
    bool is_any = false;
    const char *kind;
    json_t *n;
    json_object_foreach(deletion->gone, kind, n) is_any = is_any || json_integer_value(n) > 0;
    if (!is_any) {
        printf("nothing %s for %s\n", deletion->is_done ? "is stored" : "was deleted",
               deletion->cli->shown);
        return;
    }
    printf("deleted of %s:\n", deletion->cli->shown);
    for (unsigned i = 0; i < KIND_N; i++)
        if (gone_of(deletion, kinds[i].kind) > 0)
            printf("  %9llu %s\n", gone_of(deletion, kinds[i].kind), kinds[i].text);
}

static bool is_confirmed(struct cli *cli)
{
    char line[CLI_NAME_MAX_BYTES + 2];
    struct pollfd typed = {.fd = STDIN_FILENO, .events = POLLIN};
    json_t *usage = NULL;
    if (!cli_ask_for_user(cli, (struct node_call){.method = "GET"}, "/usage", &usage))
        return false;
    cli_print_usage(cli, usage);
    json_decref(usage);
    printf("All of this will be deleted permanently. Type the user name to continue: ");
    fflush(stdout);
    if (!node_calls_wait(&cli->calls, &typed, -1))
        return node_calls_complain(&cli->calls, "interrupted");
    if (fgets(line, sizeof line, stdin) == NULL)
        line[0] = 0;
    line[strcspn(line, "\n")] = 0;
    return strcmp(line, cli->name) == 0 ||
           node_calls_complain(&cli->calls, "the name does not match: nothing was deleted");
}

int cli_delete(struct cli *cli)
{
    struct deletion deletion = {.cli = cli, .gone = json_object()};
    bool may_begin = config_number(cli->config, "yes");
    if (!may_begin)
        may_begin = is_confirmed(cli);
    bool is_good = false;
    if (may_begin) {
        is_good = delete_all(&deletion);
        if (!is_good && (deletion.requests > 0 || cli->calls.is_interrupted))
            node_calls_complain(
                &cli->calls,
                "the deletion is incomplete: run the same command again to delete the rest");
        if (is_good || deletion.requests > 0)
            (cli->is_json ? print_json : print_list)(&deletion);
    }
    json_decref(deletion.gone);
    return is_good ? 0 : 1;
}
