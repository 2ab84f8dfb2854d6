/* SPDX-License-Identifier: MIT
 *
 * signals: SIGTERM, SIGINT and SIGHUP as a descriptor to wait on, for programs with a poll loop of
 * their own. SIGPIPE is ignored from then on. Called once, from main, before any thread starts: all
 * threads then leave these signals to the descriptor.
 */
#ifndef PARLEY_OP_SIGNALS_H
#define PARLEY_OP_SIGNALS_H

#include "shared/base/str.h"

/* A signalfd, non-blocking, which is the caller's to close. Aborts when there is no descriptor
 * left. */
int signals_catch(void) must_check;

#endif
