/* SPDX-License-Identifier: MIT */
#include "services/commands.h"
int sign_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return 1;
}
