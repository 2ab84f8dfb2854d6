/* SPDX-License-Identifier: MIT
 *
 * commands: the subcommands of the one executable, as rows. Each lists its option groups
 * (shared/base/config.h) and its help text; commands.c reads settings and prints help for all of
 * them. table.c lists them.
 */
#ifndef PARLEY_SERVICES_COMMANDS_COMMANDS_H
#define PARLEY_SERVICES_COMMANDS_COMMANDS_H

#include "shared/base/config.h"

struct service;

struct command {
    const char *name;
    const char *summary;   /* one line of `parley --help` */
    const char *words;     /* "a|b": what its first argument may be; NULL: anything */
    bool is_flags_only;    /* it takes no argument besides flags */
    bool is_word_optional; /* of `words`: without one it does something else */
    const char *about;     /* of its own --help, in front of the options: usage, and what it does */
    const char *more;      /* after them: signals, exit codes, examples */
    /* Its options; ends with NULL. NULL: it has none, and `run` gets its arguments alone. */
    const struct config_group *const *groups;
    bool has_own_login; /* it reads or writes the login file itself (shared/auth/login.h) */
    /* The services whose options and names it takes too; ends with NULL. NULL: none. */
    const struct service *const *services;
    /* Returns the exit code: 0 fine, 1 failed, 2 wrong usage (after one clear line on standard
     * error). */
    int (*run)(const struct config *config);
};

/* Ends with NULL. */
extern const struct command *const commands[];

/* All option groups of a command, in order, into `room`, which has place for COMMAND_GROUPS_MAX
 * of them and gets a NULL after the last. */
enum { COMMAND_GROUPS_MAX = 64 };
void command_list_groups(const struct command *command,
                         const struct config_group *room[COMMAND_GROUPS_MAX]);

/* Runs a command line, given without the program name, and returns the exit code. */
int commands_run(int argc, char **argv);

#endif
