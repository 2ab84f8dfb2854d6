/* SPDX-License-Identifier: MIT
 * user.c - `parley user`: how much is stored for a user, a copy of it, its deletion, by the routes
 * of this service on any node. */
#include "services/users/cli/cli.h"

#include "services/commands/commands.h"
#include "shared/auth/login.h"
#include "shared/auth/signed.h"
#include "shared/base/shown.h"
#include "shared/base/trust.h"
#include "shared/http/client/client.h"
#include "shared/http/client/endpoint.h"
#include "shared/op/signals.h"

#include <openssl/crypto.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    COMPLAINT_MAX_BYTES = 500,
    URL_MAX_BYTES = 1024,
    SHOWN_MAX_BYTES = 4096,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2
};

static const struct config_group user_options = {
    "Flags", (const struct config_option[]){
                 {.name = "url",
                  .kind = CONFIG_TEXT,
                  .metavar = "URL[,URL...]",
                  .fallback = "http://127.0.0.1:8080",
                  .help = "The nodes, with the service users. Requests go to the first; if it does "
                          "not respond, to the next."},
                 {.name = "output",
                  .kind = CONFIG_TEXT,
                  .metavar = "FILE",
                  .help = "For export, also -o FILE: the zip file, written with mode 0600 once it "
                          "is complete. - is standard output."},
                 {.name = "force",
                  .kind = CONFIG_BOOL,
                  .fallback = "off",
                  .help = "For export: replaces an existing FILE once the new one is complete."},
                 {.name = "yes",
                  .kind = CONFIG_BOOL,
                  .fallback = "off",
                  .help = "For delete: does not ask for confirmation. Scripts need it."},
                 {.name = "patience-seconds",
                  .kind = CONFIG_NUMBER,
                  .metavar = "N",
                  .fallback = "60",
                  .min = 0,
                  .max = 86400,
                  .help = "Seconds to keep retrying a request that no node answers or that gets "
                          "429 or 5xx. 0: try once."},
                 {.name = "json",
                  .kind = CONFIG_BOOL,
                  .fallback = "off",
                  .help = "Prints the result as one JSON object."},
                 {0}}};

static const struct {
    const char *word;
    run_word *run;
} words[] = {{"usage", cli_usage}, {"export", cli_export}, {"delete", cli_delete}};
enum { WORD_N = sizeof words / sizeof *words };

/* --- lines ------------------------------------------------------------------------------------ */

bool cli_complain(struct cli *cli, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (cli->complaints != NULL) {
        char line[COMPLAINT_MAX_BYTES];
        vsnprintf(line, sizeof line, format, list);
        buf_clear(cli->complaints);
        buf_put(cli->complaints, str_of(line));
        buf_terminate(cli->complaints);
    } else {
        status_line_complain(&cli->progress, format, list);
    }
    va_end(list);
    return false;
}

/* --- signals ---------------------------------------------------------------------------------- */

void cli_catch_signals(struct cli *cli)
{
    signal(SIGXFSZ, SIG_IGN); /* a file as large as `ulimit -f` allows is an error of write() */
    cli->signal_fd = signals_catch();
}

bool cli_wait(struct cli *cli, struct pollfd *fd, int ms)
{
    struct pollfd fds[2] = {{.fd = cli->signal_fd, .events = POLLIN}, {.fd = -1}};
    if (fd != NULL)
        fds[1] = *fd;
    if (poll(fds, 2, ms) > 0 && fds[0].revents != 0)
        cli->is_interrupted = true;
    return !cli->is_interrupted;
}

/* --- settings --------------------------------------------------------------------------------- */

bool cli_refuse(struct cli *cli, const char *reason)
{
    return cli_complain(cli, "%s (see parley %s --help)", reason, cli->command);
}

static run_word *find_word(const char *word)
{
    for (unsigned i = 0; i < WORD_N; i++)
        if (strcmp(words[i].word, word) == 0)
            return words[i].run;
    abort(); /* not one of user_command.words */
}

bool cli_read_urls(struct cli *cli)
{
    struct str rest = str_of(config_text(cli->config, "url"));
    while (rest.at != NULL) {
        struct str url = http_base_url(str_trim(str_cut(&rest, ',')));
        if (cli->url_n == CLI_URLS_MAX)
            return cli_refuse(cli, "--url takes at most 16 nodes");
        if (!http_is_base_url(url) || url.n > URL_MAX_BYTES)
            return cli_refuse(cli, "--url takes http://HOST[:PORT] or https://HOST[:PORT], without "
                                   "user information or a query");
        cli->urls[cli->url_n++] = url;
    }
    return true;
}

/* The name, and `-o FILE` anywhere after the word. */
static bool read_words(struct cli *cli, run_word *run)
{
    const struct config *c = cli->config;
    cli->output = config_text(c, "output");
    for (size_t i = 1; i < c->argument_n; i++) {
        bool is_output = run == cli_export && strcmp(c->arguments[i], "-o") == 0;
        if (is_output && i + 1 == c->argument_n)
            return cli_refuse(cli, "-o needs a value");
        if (is_output)
            cli->output = c->arguments[++i];
        else if (cli->name != NULL)
            return cli_refuse(cli, "give one user at a time");
        else
            cli->name = c->arguments[i];
    }
    if (cli->name == NULL)
        return cli_refuse(cli, "which user?");
    struct str name = str_of(cli->name);
    if (name.n == 0 || name.n > CLI_NAME_MAX_BYTES || !str_is_utf8(name))
        return cli_refuse(cli, "the name of a user is 1 to 161 bytes of UTF-8");
    return true;
}

bool cli_check_account(struct cli *cli)
{
    const char *fault = login_fault(cli->config);
    return fault == NULL || cli_refuse(cli, fault);
}

static bool check_settings(struct cli *cli, run_word *run)
{
    if (!cli_check_account(cli))
        return false;
    if (run == cli_export && (cli->output == NULL || *cli->output == 0))
        return cli_refuse(cli, "export takes -o FILE, or - for standard output");
    if (run == cli_delete && !config_number(cli->config, "yes") &&
        (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
        return cli_refuse(cli,
                          "delete asks for the user name on a terminal, and there is none: add "
                          "--yes");
    return true;
}

/* --- the run ---------------------------------------------------------------------------------- */

static void put_row(const char *label, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put_row(const char *label, const char *format, ...)
{
    va_list list;
    printf("  %-26s", label);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
}

static long long member(const json_t *usage, const char *part, const char *name)
{
    return json_integer_value(json_object_get(json_object_get(usage, part), name));
}

static void print_rates(const json_t *usage, const char *name, const char *label)
{
    size_t i;
    json_t *rate;
    json_array_foreach(json_object_get(json_object_get(usage, "Rates"), name), i, rate)
        put_row(label, "%lld of %lld within %lld s",
                (long long)json_integer_value(json_object_get(rate, "Used")),
                (long long)json_integer_value(json_object_get(rate, "Max")),
                (long long)json_integer_value(json_object_get(rate, "Seconds")));
}

void cli_print_usage(const struct cli *cli, const json_t *usage)
{
    const json_t *open = json_object_get(json_object_get(usage, "Queries"), "Open");
    printf("%s\n", cli->shown);
    put_row("topics", "%lld", member(usage, "Topics", "Count"));
    if (json_is_integer(open))
        put_row("questions", "%lld, %lld of %lld waiting", member(usage, "Queries", "Count"),
                member(usage, "Queries", "Open"), member(usage, "Queries", "OpenMax"));
    else
        put_row("questions", "%lld", member(usage, "Queries", "Count"));
    put_row("recommendations", "%lld", member(usage, "Recommendations", "Count"));
    put_row("documents", "%lld of %lld, %lld of %lld bytes, %llu %s",
            member(usage, "Documents", "Count"), member(usage, "Documents", "CountMax"),
            member(usage, "Documents", "Bytes"), member(usage, "Documents", "BytesMax"),
            COUNTED(member(usage, "Documents", "Passages"), "passage"));
    put_row("tokens", "%lld read, %lld written within %llu %s", member(usage, "Tokens", "Prompt"),
            member(usage, "Tokens", "Completion"), COUNTED(member(usage, "Tokens", "Days"), "day"));
    print_rates(usage, "Uploads", "uploads");
    print_rates(usage, "Questions", "questions over documents");
}

int cli_usage(struct cli *cli)
{
    const struct cli_request request = {.method = "GET", .what = "/usage"};
    json_t *usage = NULL;
    cli_catch_signals(cli);
    if (!cli_ask(cli, &request, &usage))
        return EXIT_FAILED;
    if (cli->is_json) {
        struct buf out;
        buf_init(&out, SIZE_MAX / 2);
        buf_put_json_value(&out, usage);
        printf("%.*s\n", STR_ARG(buf_str(&out)));
        buf_fini(&out);
    } else {
        cli_print_usage(cli, usage);
    }
    json_decref(usage);
    return 0;
}

int cli_run(struct cli *cli, run_word *run)
{
    static const struct http_client_settings http = {.user_agent = "parley-user/" PARLEY_VERSION};
    cli->secret = login_read_secret(cli->config);
    if (cli->secret == NULL)
        return EXIT_FAILED;
    cli->client = http_client_create(&http);
    int code = run(cli);
    if (code == 0 && fflush(stdout) != 0) {
        cli_complain(cli, "cannot write to standard output");
        code = EXIT_FAILED;
    }
    status_line_clear(&cli->progress);
    http_client_destroy(cli->client);
    OPENSSL_cleanse(cli->secret, strlen(cli->secret));
    free(cli->secret);
    if (cli->signal_fd >= 0)
        close(cli->signal_fd);
    return code;
}

static int run_user(const struct config *config)
{
    struct cli cli = {.config = config, .command = "user", .signal_fd = -1};
    struct buf shown;
    run_word *run = find_word(config->arguments[0]);
    cli.is_json = cli.progress.is_off = config_number(config, "json");
    if (!read_words(&cli, run) || !cli_read_urls(&cli) || !check_settings(&cli, run))
        return EXIT_USAGE;
    buf_init(&shown, SHOWN_MAX_BYTES);
    buf_put_shown(&shown, str_of(cli.name));
    buf_terminate(&shown);
    cli.shown = shown.at;
    int code = cli_run(&cli, run);
    buf_fini(&shown);
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
