/* SPDX-License-Identifier: MIT
 * ask.c - `parley ask`: its settings and its help. */
#include "services/client/ask.h"

#include "services/commands/commands.h"
#include "shared/auth/login.h"
#include "shared/auth/signed.h"
#include "shared/base/clock.h"
#include "shared/base/trust.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    QUESTION_MAX_BYTES = 256 << 10,
    NAME_MAX_BYTES = 128,
    TOPIC_MARK_BYTES = 6,
    MS_PER_S = 1000
};

static const struct config_group ask_options = {
    "Question",
    (const struct config_option[]){
        OPTION_TEXT(
            "topic", "NAME", NULL,
            "Asks in this topic, 1 to 128 bytes without white space, so that engines see what "
            "was asked and answered there before. Unset: a new topic."),
        OPTION_TEXT("model", "NAME", NULL,
                    "The model that is to answer, at most 128 bytes. Unset: any."),
        {.name = "file",
         .kind = CONFIG_TEXT,
         .is_list = true,
         .metavar = "FILE",
         .help =
             "Uploads FILE to the documents of the account, waits until it is indexed, and asks "
             "the documents. May be given several times. A file that is there already is not "
             "stored twice."},
        OPTION_BOOL("documents", "off",
                    "Asks all documents of the account, as --file does, without uploading one."),
        OPTION_BOOL("public", "off",
                    "Asks the public collection of the nodes. It needs no account."),
        {0}}};

static const struct config_group print_options = {
    "Output",
    (const struct config_option[]){
        OPTION_BOOL("think", "off",
                    "Prints what the model thinks before it answers to standard error."),
        OPTION_BOOL(
            "whole", "off",
            "Prints the answer once it is complete, not as it comes. For scripts: if an engine "
            "is lost, its text is not part of the output."),
        OPTION_BOOL(
            "json", "off",
            "Prints one JSON object at the end and nothing else: what the route answers, or "
            "why the question has ended without an answer. Nothing if it was not taken."),
        OPTION_NUMBER("timeout-seconds", "N", "0", 0, 86400,
                      "Seconds after which the question is cancelled, uploads included. 0: none."),
        {0}}};

/* --- settings --------------------------------------------------------------------------------- */

static bool refuse(struct ask *x, const char *reason)
{
    return node_calls_refuse(&x->calls, reason);
}

static bool is_given(const struct config *config, const char *name)
{
    const char *text = config_text(config, name);
    return text != NULL && text[0] != 0;
}

static bool is_topic(struct str topic)
{
    for (size_t i = 0; i < topic.n; i++)
        if ((unsigned char)topic.at[i] <= ' ')
            return false;
    return topic.n <= NAME_MAX_BYTES && str_is_utf8(topic);
}

static bool read_door(struct ask *x)
{
    const struct config *c = x->calls.config;
    bool has_file = is_given(c, "file"), is_public = config_number(c, "public");
    bool is_of_documents = has_file || config_number(c, "documents");
    if (is_public && is_of_documents)
        return refuse(x, "--public excludes --file and --documents");
    if ((is_public || is_of_documents) && (is_given(c, "topic") || is_given(c, "model")))
        return refuse(x, "--topic and --model are for questions in the queue: --public, --file and "
                         "--documents exclude them");
    x->door = is_public ? ASK_PUBLIC : is_of_documents ? ASK_DOCUMENTS : ASK_QUEUE;
    x->calls.is_anonymous = is_public;
    x->calls.service = x->door == ASK_QUEUE ? "broker" : "documents";
    return true;
}

static bool read_names(struct ask *x)
{
    const struct config *c = x->calls.config;
    char hex[2 * TOPIC_MARK_BYTES + 1];
    x->model = is_given(c, "model") ? config_text(c, "model") : NULL;
    x->topic = is_given(c, "topic") ? config_text(c, "topic") : x->own_topic;
    str_random_hex(TOPIC_MARK_BYTES, hex);
    snprintf(x->own_topic, sizeof x->own_topic, "ask-%s", hex);
    if (!is_topic(str_of(x->topic)))
        return refuse(x, "--topic takes 1 to 128 bytes of UTF-8 without white space");
    if (x->model != NULL && (strlen(x->model) > NAME_MAX_BYTES || !str_is_utf8(str_of(x->model))))
        return refuse(x, "--model takes 1 to 128 bytes of UTF-8");
    return true;
}

static bool read_input(struct ask *x)
{
    char *room = buf_reserve(&x->question, QUESTION_MAX_BYTES + 1);
    x->question.n = fread(room, 1, QUESTION_MAX_BYTES + 1, stdin);
    if (ferror(stdin))
        return node_calls_complain(&x->calls, "the question cannot be read from standard input: %s",
                                   strerror(errno));
    return true;
}

static bool read_question(struct ask *x)
{
    const struct config *c = x->calls.config;
    if (c->argument_n == 0)
        return refuse(x, "which question? Write - to read it from standard input");
    if (c->argument_n > 1)
        return refuse(x, "ask takes one question: put it in quotes");
    if (strcmp(c->arguments[0], "-") != 0)
        buf_put(&x->question, str_of(c->arguments[0]));
    else if (!read_input(x))
        return false;
    if (x->question.is_over || x->question.n > QUESTION_MAX_BYTES)
        return refuse(x, "a question has at most 256 KiB (262144 bytes)");
    if (str_trim(buf_str(&x->question)).n == 0)
        return refuse(x, "the question is empty");
    if (!str_is_utf8(buf_str(&x->question)) || memchr(x->question.at, 0, x->question.n) != NULL)
        return refuse(x, "the question is not UTF-8 text");
    return true;
}

static bool read_settings(struct ask *x)
{
    const struct config *c = x->calls.config;
    x->is_json = x->calls.progress.is_off = config_number(c, "json");
    x->is_whole = config_number(c, "whole");
    x->shows_think = config_number(c, "think");
    x->is_terminal = isatty(STDOUT_FILENO);
    x->is_error_terminal = isatty(STDERR_FILENO);
    return read_door(x) && read_names(x) && node_calls_read(&x->calls) && read_question(x);
}

/* --- the run ---------------------------------------------------------------------------------- */

static int run(struct ask *x)
{
    uint64_t timeout_s = config_number(x->calls.config, "timeout-seconds");
    if (!node_calls_open(&x->calls))
        return ASK_BROKEN;
    if (timeout_s > 0)
        x->calls.deadline_ms = clock_mono_ms() + MS_PER_S * timeout_s;
    ask_stream_init(x);
    int code = x->door == ASK_QUEUE       ? ask_queue(x)
               : x->door == ASK_DOCUMENTS ? ask_documents(x)
                                          : ask_public(x);
    ask_stream_fini(x);
    return code;
}

static int run_ask(const struct config *config)
{
    struct ask x = {.calls = {.config = config, .command = "ask"}};
    buf_init(&x.question, QUESTION_MAX_BYTES + 2);
    int code = read_settings(&x) ? run(&x) : ASK_USAGE;
    node_calls_close(&x.calls);
    buf_fini(&x.question);
    return code;
}

const struct command ask_command = {
    .name = "ask",
    .summary = "ask a question and print the answer as it comes",
    .about =
        "usage: parley ask [FLAGS] QUESTION\n"
        "       parley ask [FLAGS] -\n"
        "\n"
        "Puts QUESTION into the queue and prints the answer to standard output while an engine\n"
        "writes it; everything else goes to standard error. - reads the question from standard\n"
        "input. With --file or --documents it asks the documents of the account, with --public\n"
        "the public collection, and lists the sources after the answer.\n"
        "\n"
        "If a node is lost meanwhile, the next one continues with the answer. Ctrl-C cancels the\n"
        "question. The account is that of parley login, or of --user and --secret-file.\n"
        "\n",
    .more = "\n"
            "Exit codes\n"
            "  0  answered\n"
            "  1  a file cannot be read, or the answer cannot be written\n"
            "  2  a wrong flag or value, or no account\n"
            "  3  no node answered\n"
            "  4  a node refused the request: the account (401, 403), a limit, no engine\n"
            "  5  the question has failed, or a file could not be indexed\n"
            "  6  cancelled: by Ctrl-C, or by somebody else\n"
            "  7  no answer within --timeout-seconds\n"
            "\n"
            "Examples\n"
            "  parley ask \"How long does a lease last?\"\n"
            "  parley ask --topic holiday \"And in June?\"\n"
            "  parley ask --file contract.pdf --file annex.docx \"Who may end the contract?\"\n"
            "  parley ask --public \"What happens when an engine dies?\"\n"
            "  git diff | parley ask --json - | jq -r '.Answer[]'\n",
    .groups = (const struct config_group *const[]){&ask_options, &print_options,
                                                   &node_calls_options, &signed_options,
                                                   &login_file_options, &trust_options, NULL},
    .run = run_ask,
};
