/* SPDX-License-Identifier: MIT
 * user.c - `parley user`: how much is stored for a user, a copy of it, its deletion, by the routes
 * of this service on any node. */
#include "services/users/cli/cli.h"

#include "services/commands/commands.h"
#include "shared/auth/login.h"
#include "shared/auth/signed.h"
#include "shared/base/shown.h"
#include "shared/base/trust.h"

#include <stdlib.h>
#include <unistd.h>

enum { SHOWN_MAX_BYTES = 4096, EXIT_USAGE = 2 };

static const struct config_group user_options = {
    "Flags",
    (const struct config_option[]){
        OPTION_TEXT("url", "URL[,URL...]", "http://127.0.0.1:8080",
                    "The nodes, with the service users. Requests go to the first; if it does "
                    "not respond, to the next."),
        OPTION_TEXT("output", "FILE", NULL,
                    "For export, also -o FILE: the zip file, written with mode 0600 once it "
                    "is complete. - is standard output."),
        OPTION_BOOL("force", "off",
                    "For export: replaces an existing FILE once the new one is complete."),
        OPTION_BOOL("yes", "off", "For delete: does not ask for confirmation. Scripts need it."),
        OPTION_NUMBER("patience-seconds", "N", "60", 0, 86400,
                      "Seconds to keep retrying a request that no node answers or that gets "
                      "429 or 5xx. 0: try once."),
        OPTION_BOOL("json", "off", "Prints the result as one JSON object."),
        {0}}};

static const struct {
    const char *word;
    run_word *run;
} words[] = {{"usage", cli_usage}, {"export", cli_export}, {"delete", cli_delete}};
enum { WORD_N = sizeof words / sizeof *words };

static run_word *find_word(const char *word)
{
    for (unsigned i = 0; i < WORD_N; i++)
        if (strcmp(words[i].word, word) == 0)
            return words[i].run;
    abort(); /* not one of user_command.words */
}

/* The name, and `-o FILE` anywhere after the word. */
static bool read_words(struct cli *cli, run_word *run)
{
    const struct config *c = cli->config;
    cli->output = config_text(c, "output");
    for (size_t i = 1; i < c->argument_n; i++) {
        bool is_output = run == cli_export && strcmp(c->arguments[i], "-o") == 0;
        if (is_output && i + 1 == c->argument_n)
            return node_calls_refuse(&cli->calls, "-o needs a value");
        if (is_output)
            cli->output = c->arguments[++i];
        else if (cli->name != NULL)
            return node_calls_refuse(&cli->calls, "give one user at a time");
        else
            cli->name = c->arguments[i];
    }
    if (cli->name == NULL)
        return node_calls_refuse(&cli->calls, "which user?");
    struct str name = str_of(cli->name);
    if (name.n == 0 || name.n > CLI_NAME_MAX_BYTES || !str_is_utf8(name))
        return node_calls_refuse(&cli->calls, "the name of a user is 1 to 161 bytes of UTF-8");
    return true;
}

static bool check_settings(struct cli *cli, run_word *run)
{
    if (run == cli_export && (cli->output == NULL || *cli->output == 0))
        return node_calls_refuse(&cli->calls, "export takes -o FILE, or - for standard output");
    if (run == cli_delete && !config_number(cli->config, "yes") &&
        (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
        return node_calls_refuse(
            &cli->calls, "delete asks for the user name on a terminal, and there is none: add "
                         "--yes");
    return true;
}

static int run_user(const struct config *config)
{
    struct cli cli = {.calls = {.config = config, .command = "user", .service = "users"},
                      .config = config};
    struct buf shown, forbidden;
    run_word *run = find_word(config->arguments[0]);
    cli.is_json = cli.calls.progress.is_off = config_number(config, "json");
    if (!read_words(&cli, run) || !node_calls_read(&cli.calls) || !check_settings(&cli, run))
        return EXIT_USAGE;
    buf_init(&shown, SHOWN_MAX_BYTES);
    buf_put_shown(&shown, str_of(cli.name));
    buf_terminate(&shown);
    cli.shown = shown.at;
    buf_init(&forbidden, SHOWN_MAX_BYTES);
    buf_printf(&forbidden,
               "does not give this account access to the data of %s: sign as the user, a frontend "
               "of its namespace, or an operator",
               cli.shown);
    buf_terminate(&forbidden);
    cli.calls.forbidden = forbidden.at;
    int code = cli_run(&cli, run);
    buf_fini(&shown);
    buf_fini(&forbidden);
    return code;
}

const struct command user_command = {
    .name = "user",
    .summary = "show, export or delete all data of a user",
    .words = "usage|export|delete",
    .about =
        "usage: parley user usage NAME\n"
        "       parley user export NAME -o FILE.zip\n"
        "       parley user delete NAME\n"
        "\n"
        "Shows, exports or deletes all data that is stored for a user, over HTTP and on any node.\n"
        "  usage   counts topics, questions and documents, and shows the current use of limits\n"
        "  export  writes a copy of all data to a zip file\n"
        "  delete  deletes all data and lists what was deleted. It asks for the user name first.\n"
        "          If a deletion is interrupted, run the same command again to continue\n"
        "\n"
        "The account that signs (--user) is an operator, a frontend, or the user itself. If the\n"
        "user's frontend has a namespace, an operator writes NAME as namespace~NAME.\n"
        "\n",
    .more =
        "\n"
        "Exit codes\n"
        "  0  success\n"
        "  1  a node refused the request, no node served it in time, FILE exists or cannot be\n"
        "     written, or the command was interrupted; no new FILE was created\n"
        "  2  a wrong word, flag or value\n"
        "\n"
        "Examples\n"
        "  parley user usage alice --user Operator_1 --secret-file operator.secret\n"
        "  parley user export alice -o alice.zip --user Operator_1 --secret-file operator.secret\n"
        "  parley user delete acme~alice --yes --json --user Operator_1 \\\n"
        "      --secret-file operator.secret --url http://10.0.0.5:8080,http://10.0.0.6:8080\n",
    .groups = (const struct config_group *const[]){&user_options, &signed_options,
                                                   &login_file_options, &trust_options, NULL},
    .run = run_user,
};
