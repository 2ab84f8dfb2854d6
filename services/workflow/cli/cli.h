/* SPDX-License-Identifier: MIT
 *
 * cli: the words of `parley workflow`, one row and one file each. workflow.c lists them.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_CLI_CLI_H
#define PARLEY_SERVICES_WORKFLOW_CLI_CLI_H

#include "shared/base/config.h"

enum { WORKFLOW_EXIT_FAILED = 1, WORKFLOW_EXIT_USAGE = 2 };

struct workflow_word {
    const char *name;
    const char *usage; /* its arguments: "FILE [--json]" */
    unsigned min, max; /* number of arguments after the word */
    /* Returns the exit code. Its arguments are config->arguments from 1 on. */
    int (*run)(const struct config *config);
};

extern const struct workflow_word workflow_check_word, workflow_run_word, workflow_shipped_word;
extern const struct config_group workflow_run_options;

#endif
