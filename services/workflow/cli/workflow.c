/* SPDX-License-Identifier: MIT
 * workflow.c - `parley workflow`: a row of the table of commands, and a row for each of its words.
 */
#include "services/workflow/cli/cli.h"

#include "services/commands/commands.h"
#include "shared/auth/login.h"
#include "shared/auth/signed.h"
#include "shared/base/trust.h"

#include <stdio.h>
#include <stdlib.h>

static const struct workflow_word *const words[] = {&workflow_check_word, &workflow_run_word,
                                                    &workflow_shipped_word, NULL};

static const struct config_group options = {
    "Flags", (const struct config_option[]){
                 OPTION_BOOL("json", "off",
                             "Prints the result as one JSON object; of run, each frame as a line."),
                 {0}}};

static int run_workflow(const struct config *config)
{
    const struct workflow_word *const *word = words;
    while (*word != NULL && strcmp((*word)->name, config->arguments[0]) != 0)
        word++;
    if (*word == NULL)
        abort(); /* not one of workflow_command.words */
    size_t n = config->argument_n - 1;
    if (n < (*word)->min || n > (*word)->max) {
        fprintf(stderr, "parley: usage: parley workflow %s%s%s (see parley workflow --help)\n",
                (*word)->name, *(*word)->usage == 0 ? "" : " ", (*word)->usage);
        return WORKFLOW_EXIT_USAGE;
    }
    return (*word)->run(config);
}

const struct command workflow_command = {
    .name = "workflow",
    .summary = "check workflow files, and run a workflow in the terminal",
    .words = "check|run|shipped",
    .about =
        "usage: parley workflow check FILE [--json]\n"
        "       parley workflow run [FILE] VERB TEXT\n"
        "       parley workflow run --session ID --request ID\n"
        "       parley workflow shipped\n"
        "\n"
        "Works with workflow files, which `parley serve --workflows FILE` uses.\n"
        "  check    reports every fault of FILE with its line, and draws the trees of a file\n"
        "           without faults. It needs no node\n"
        "  run      runs TEXT on a node (--url) and prints each step as it comes. When the run\n"
        "           stops, it asks on the terminal: y, n, or a correction, as NAME=VALUE, as a\n"
        "           JSON object, or as a new text of the request. VERB is a tree's, or GENERIC.\n"
        "           The run uses the node's trees; with FILE, only if the node runs that file.\n"
        "           After a lost connection it resumes; with --session and --request it follows\n"
        "           a run that has begun\n"
        "  shipped  prints the file that a node uses without --workflows, as a start for your\n"
        "           own\n"
        "\n",
    .more = "\n"
            "Exit codes\n"
            "  0  success; of run: the run is done\n"
            "  1  FILE has a fault, cannot be read or is not the node's; no node was reached, a\n"
            "     node refused the request, or the command was interrupted\n"
            "  2  a wrong word, flag or value\n"
            "  3  the run was rejected, has expired or has failed\n"
            "  4  the run waits for a person, and there is no terminal to ask on: standard error\n"
            "     says who may answer, and has the command that approves\n"
            "\n"
            "Examples\n"
            "  parley workflow shipped >workflows.yaml\n"
            "  parley workflow check workflows.yaml\n"
            "  parley workflow run RULE 'run Show patterns' --user User_1 \\\n"
            "      --secret-file user.secret\n",
    .groups = (const struct config_group *const[]){&options, &workflow_run_options, &signed_options,
                                                   &login_file_options, &trust_options, NULL},
    .run = run_workflow,
};
