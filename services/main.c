/* SPDX-License-Identifier: MIT
 * main.c - runs a subcommand. One executable with many roles: see ADR 1. */
#include "services/commands/commands.h"

#include "services/workflow/sql/child.h"
#include "shared/extract/extract.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>
#include <unistd.h>

/* Where a standard stream is closed, the next file or socket would get its number, and with it what
 * is printed. Each gets a file that can only be used the wrong way around, so that it fails. */
static void fill_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    /* Threads that wait for Redis or watch files run until the process ends: OpenSSL, which they
     * use, must not be taken down before them. */
    (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
    extract_set_program("/proc/self/exe");
    if (argc == 2 && strcmp(argv[1], CHILD_ARGUMENT) == 0)
        return child_run();
    return commands_run(argc - 1, argv + 1);
}
