/* SPDX-License-Identifier: MIT
 * version.c - `parley version`, or `parley --version`. */
#include "services/commands/commands.h"

#include <stdio.h>

#ifndef PARLEY_VERSION
#error "the build defines PARLEY_VERSION"
#endif

static int print_version(const struct config *config)
{
    (void)config;
    printf("parley %s\n", PARLEY_VERSION);
    return 0;
}

const struct command version_command = {
    .name = "version",
    .is_flags_only = true,
    .summary = "print the version",
    .about = "usage: parley version\n\nPrints the version.\n",
    .run = print_version,
};
