/* SPDX-License-Identifier: MIT
 * evaluate.c - `parley evaluate`: its settings, and what it does one after the other. */
#include "services/bots/cli/evaluate.h"

#include "services/bots/cli/conversation_file.h"
#include "services/bots/cli/report.h"
#include "services/commands/commands.h"
#include "shared/auth/login.h"
#include "shared/auth/signed.h"
#include "shared/base/shown.h"
#include "shared/base/trust.h"
#include "shared/op/whole_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { REQUEST_MAX_BYTES = 16 << 20, BOT_MAX_BYTES = 128 };

static const struct config_group evaluate_options = {
    "Flags",
    (const struct config_option[]){
        OPTION_TEXT("bot", "NAME", NULL,
                    "The bot. It must have an endpoint; a bot that pulls cannot be evaluated."),
        OPTION_TEXT(
            "conversation", "FILE", NULL,
            "JSON lines, one message each: {\"from\":\"Ann\",\"text\":\"Hello\"}. A message "
            "followed by one from the person that the bot emulates is a turn. If that person "
            "answers several times in a row, the closest answer counts. At most 4 MiB and "
            "2000 turns."),
        {.name = "measure",
         .kind = CONFIG_TEXT,
         .metavar = "NAME",
         .fallback = "cosine",
         .choices = "cosine|dot|euclidean",
         .help = "How far an answer is from an original, by their embeddings. cosine compares "
                 "directions only; dot and euclidean compare lengths too, for models whose "
                 "embeddings are not normalized."},
        OPTION_TEXT(
            "against", "RUN", NULL,
            "The id of an earlier evaluation of the same conversation, to compare with turn "
            "by turn."),
        OPTION_TEXT("report", "FILE", NULL,
                    "Writes an HTML page with the curve and all turns, which needs no network. "
                    "Replaces FILE once the page is complete."),
        OPTION_TEXT(
            "run", "RUN", NULL,
            "Follows or shows an evaluation by its id, in place of --bot and --conversation."),
        OPTION_BOOL("cancel", "off",
                    "With --run: ends that evaluation. Its turns so far are kept."),
        OPTION_BOOL("json", "off", "Prints the result as one JSON object instead of a table."),
        {0}}};

/* --- settings --------------------------------------------------------------------------------- */

static const char *given(const struct config *config, const char *name)
{
    const char *text = config_text(config, name);
    return text == NULL || text[0] == 0 ? NULL : text;
}

static bool is_id(const char *text)
{
    size_t n = strlen(text);
    return n > 0 && n < EVALUATE_ID_MAX_BYTES && strspn(text, "0123456789abcdef-") == n;
}

/* Which run it is about: --run, or --bot and --conversation. */
static bool read_subject(struct evaluate_cli *cli)
{
    const struct config *c = cli->calls.config;
    const char *run = given(c, "run");
    cli->bot = given(c, "bot");
    cli->path = given(c, "conversation");
    if (run != NULL && (cli->bot != NULL || cli->path != NULL))
        return node_calls_refuse(&cli->calls, "--run excludes --bot and --conversation");
    if (run != NULL && !is_id(run))
        return node_calls_refuse(&cli->calls, "--run takes the id of an evaluation");
    if (run != NULL)
        snprintf(cli->id, sizeof cli->id, "%s", run);
    else if (config_number(c, "cancel"))
        return node_calls_refuse(&cli->calls, "--cancel needs --run");
    else if (cli->bot == NULL || strlen(cli->bot) > BOT_MAX_BYTES || !str_is_utf8(str_of(cli->bot)))
        return node_calls_refuse(&cli->calls, "--bot takes the name of a bot, 1 to 128 bytes");
    else if (cli->path == NULL)
        return node_calls_refuse(&cli->calls, "--conversation takes the path of a file");
    return true;
}

static bool read_settings(struct evaluate_cli *cli)
{
    const struct config *c = cli->calls.config;
    cli->is_json = config_number(c, "json");
    cli->measure = config_text(c, "measure");
    cli->against = given(c, "against");
    cli->report = given(c, "report");
    if (cli->against != NULL && !is_id(cli->against))
        return node_calls_refuse(&cli->calls, "--against takes the id of an evaluation");
    return node_calls_read(&cli->calls) && read_subject(cli);
}

/* False after a line for each fault. */
static bool read_conversation(struct evaluate_cli *cli)
{
    struct buf faults;
    json_t *messages = NULL;
    if (cli->path == NULL)
        return true;
    buf_init(&faults, CONVERSATION_FAULTS_BYTES);
    bool ok = conversation_file_read(cli->path, &faults, &messages);
    for (struct str rest = buf_str(&faults); rest.n > 0;) {
        struct str line = str_cut(&rest, '\n');
        node_calls_complain(&cli->calls, "%.*s", STR_ARG(line));
    }
    buf_fini(&faults);
    if (!ok)
        return false;
    buf_lit(&cli->request, "{\"bot\":");
    buf_put_json(&cli->request, str_of(cli->bot));
    buf_put_key(&cli->request, "measure");
    buf_put_json(&cli->request, str_of(cli->measure));
    buf_put_key(&cli->request, "conversation");
    buf_put_json_value(&cli->request, messages);
    buf_put_char(&cli->request, '}');
    json_decref(messages);
    return !cli->request.is_over || node_calls_complain(&cli->calls, "%s: too large", cli->path);
}

/* --- the other run ---------------------------------------------------------------------------- */

/* Before the run begins: a wrong id should not cost a run. */
static bool fetch_other(struct evaluate_cli *cli)
{
    bool is_missing = false;
    if (cli->against == NULL)
        return true;
    if (!evaluate_cli_fetch(cli, cli->against, &cli->other, &is_missing))
        return false;
    if (is_missing)
        return node_calls_complain(&cli->calls, "--against %s: there is no such evaluation",
                                   cli->against);
    return true;
}

static bool compare(struct evaluate_cli *cli)
{
    if (cli->against == NULL)
        return true;
    const char *reason = evaluated_compare(&cli->run, &cli->other, &cli->pair);
    return reason == NULL ||
           node_calls_complain(&cli->calls, "--against %s: %s", cli->against, reason);
}

/* --- the report ------------------------------------------------------------------------------- */

static bool write_report(struct evaluate_cli *cli)
{
    struct whole_file file = {.fd = -1};
    struct buf page;
    if (cli->report == NULL)
        return true;
    buf_init(&page, REPORT_MAX_BYTES);
    report_put(&page, &cli->run, &cli->pair);
    if (page.is_over)
        errno = EFBIG;
    bool ok = !page.is_over && whole_file_open(&file, cli->report, true) &&
              whole_file_write(&file, buf_str(&page)) && whole_file_commit(&file);
    const char *reason = ok                 ? ""
                         : errno == ENOTSUP ? "exists and is not a regular file"
                                            : strerror(errno);
    whole_file_leave(&file);
    buf_fini(&page);
    return ok || node_calls_complain(&cli->calls, "--report %s: %s", cli->report, reason);
}

/* --- one after the other ---------------------------------------------------------------------- */

static int fail(struct evaluate_cli *cli)
{
    size_t n = json_array_size(cli->run.turns);
    if (cli->id[0] != 0 && !evaluated_is_over(&cli->run))
        node_calls_complain(
            &cli->calls,
            "%safter turn %zu of %zu: the evaluation continues without this command; "
            "the same command resumes, or --run %s",
            cli->calls.is_interrupted ? "interrupted " : "", n, cli->run.turn_n, cli->id);
    else if (cli->calls.is_interrupted)
        node_calls_complain(&cli->calls, "interrupted");
    return EVALUATE_EXIT_FAILED;
}

static int end_code(struct evaluate_cli *cli)
{
    const struct evaluated *run = &cli->run;
    struct buf shown;
    if (str_eq(run->status, STR("done")))
        return isnan(run->mean) ? EVALUATE_EXIT_NO_RESULT : 0;
    buf_init(&shown, 4096);
    buf_put_shown(&shown, run->reason);
    node_calls_complain(&cli->calls, "the evaluation was ended after turn %zu of %zu (%.*s)%s%.*s",
                        json_array_size(run->turns), run->turn_n, STR_ARG(run->status),
                        shown.n > 0 ? ": " : "", STR_ARG(buf_str(&shown)));
    buf_fini(&shown);
    return EVALUATE_EXIT_NO_RESULT;
}

static int evaluate(struct evaluate_cli *cli)
{
    if (!read_conversation(cli))
        return EVALUATE_EXIT_FAILED;
    if (!node_calls_open(&cli->calls))
        return EVALUATE_EXIT_FAILED;
    if (cli->path != NULL)
        evaluate_cli_recall(cli);
    if (config_number(cli->calls.config, "cancel") && !evaluate_cli_cancel(cli, cli->id))
        return EVALUATE_EXIT_FAILED;
    if (!fetch_other(cli) || !evaluate_cli_follow(cli))
        return fail(cli);
    status_line_clear(&cli->calls.progress);
    bool is_compared = compare(cli), is_written = write_report(cli); /* both, whatever fails */
    if (cli->is_json)
        evaluate_cli_show_json(cli);
    else
        evaluate_cli_show_result(cli);
    bool is_good = is_compared && is_written;
    if (fflush(stdout) != 0)
        is_good = node_calls_complain(&cli->calls, "cannot write to standard output");
    if (is_good)
        evaluate_cli_forget(cli);
    int code = end_code(cli);
    return is_good ? code : EVALUATE_EXIT_FAILED;
}

static int run_evaluate(const struct config *config)
{
    struct evaluate_cli cli = {
        .calls = {.config = config, .command = "evaluate", .service = "bots", .signal_fd = -1}};
    if (!read_settings(&cli))
        return EVALUATE_EXIT_USAGE;
    buf_init(&cli.request, REQUEST_MAX_BYTES);
    int code = evaluate(&cli);
    node_calls_close(&cli.calls);
    evaluated_fini(&cli.run);
    evaluated_fini(&cli.other);
    buf_fini(&cli.request);
    free(cli.begun_path);
    return code;
}

const struct command evaluate_command = {
    .name = "evaluate",
    .is_flags_only = true,
    .summary = "measure how closely a bot's answers match those of the person it emulates",
    .about =
        "usage: parley evaluate --bot NAME --conversation FILE.jsonl [FLAGS]\n"
        "       parley evaluate --run RUN [FLAGS]\n"
        "\n"
        "Sends the bot each message of a conversation that the person it emulates has\n"
        "answered, with the true history before it, and compares the bot's answer with the\n"
        "original one by the distance of their embeddings. Prints each turn, and the mean with "
        "its\n"
        "95 % interval. Failed turns are counted, not skipped.\n"
        "\n"
        "The nodes do the work, so it continues when this command ends or a node is lost. Run the\n"
        "same command again to follow the run that it began, until it has shown the result. It\n"
        "remembers the run in the folder $XDG_STATE_HOME/parley (~/.local/state/parley). Nodes\n"
        "keep results for 30 days.\n"
        "\n",
    .more = "\n"
            "Exit codes\n"
            "  0  the evaluation is done, and at least one turn was measured\n"
            "  1  FILE has a fault or cannot be written, a node refused the request, no node\n"
            "     served it in time, --against cannot be compared, or the command was interrupted\n"
            "  2  a wrong flag or value\n"
            "  3  the evaluation was cancelled or has failed, or every turn failed\n"
            "\n"
            "Examples\n"
            "  parley evaluate --bot ann-bot --conversation ann.jsonl --report ann.html \\\n"
            "      --user User_1 --secret-file user.secret\n"
            "  parley evaluate --bot ann-bot --conversation ann.jsonl --json \\\n"
            "      --against 0123456789abcdef01234567-1 --user User_1 --secret-file user.secret\n",
    .groups = (const struct config_group *const[]){&evaluate_options, &node_calls_options,
                                                   &signed_options, &login_file_options,
                                                   &trust_options, NULL},
    .run = run_evaluate,
};
