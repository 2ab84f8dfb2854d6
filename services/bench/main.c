/* SPDX-License-Identifier: MIT */
#include "services/commands.h"
int bench_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return 1;
}
