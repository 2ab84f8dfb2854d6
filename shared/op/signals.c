/* SPDX-License-Identifier: MIT
 * signals.c - see signals.h. */
#include "shared/op/signals.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>

int signals_catch(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        abort();
    return fd;
}
