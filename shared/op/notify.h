/* SPDX-License-Identifier: MIT
 *
 * notify: reports to the service manager how the process is doing (systemd's `Type=notify`). The
 * protocol is one datagram of lines NAME=VALUE to the socket that $NOTIFY_SOCKET names:
 * https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html. Any thread.
 */
#ifndef PARLEY_OP_NOTIFY_H
#define PARLEY_OP_NOTIFY_H

#include <stdint.h>

/* Sends `state`, such as "READY=1". Does nothing, and reports nothing, if no manager waits for it:
 * a process must not fail because of who started it. */
void notify_manager(const char *state);

/* Returns how often the manager must receive "WATCHDOG=1" (`WatchdogSec=` of a unit); otherwise it
 * restarts this process. 0: it expects none. */
uint64_t notify_watchdog_ms(void);

#endif
