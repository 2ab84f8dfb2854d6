/* SPDX-License-Identifier: MIT
 * table.c - all commands, in the order of `parley --help`: a row each, and nothing else names
 * them. */
#include "services/commands/commands.h"

#include <stddef.h>

#define COMMANDS(ROW)                                                                              \
    ROW(ask)                                                                                       \
    ROW(login)                                                                                     \
    ROW(link)                                                                                      \
    ROW(logout)                                                                                    \
    ROW(serve)                                                                                     \
    ROW(engine)                                                                                    \
    ROW(ingest)                                                                                    \
    ROW(reindex)                                                                                   \
    ROW(backup)                                                                                    \
    ROW(restore)                                                                                   \
    ROW(servers)                                                                                   \
    ROW(user)                                                                                      \
    ROW(recommendations)                                                                           \
    ROW(account)                                                                                   \
    ROW(workflow)                                                                                  \
    ROW(evaluate)                                                                                  \
    ROW(show)                                                                                      \
    ROW(top)                                                                                       \
    ROW(audit)                                                                                     \
    ROW(size)                                                                                      \
    ROW(bench)                                                                                     \
    ROW(extract)                                                                                   \
    ROW(sign)                                                                                      \
    ROW(completion)                                                                                \
    ROW(version)

#define DECLARE(name) extern const struct command name##_command;
COMMANDS(DECLARE)

#define LIST(name) &name##_command,
const struct command *const commands[] = {COMMANDS(LIST) NULL};
