/* SPDX-License-Identifier: MIT
 * main.c - runs a subcommand. One executable with many roles: see docs/adr/0001. */
#include "services/commands/commands.h"

#include "shared/extract/extract.h"

int main(int argc, char **argv)
{
    extract_set_program("/proc/self/exe");
    return commands_run(argc - 1, argv + 1);
}
