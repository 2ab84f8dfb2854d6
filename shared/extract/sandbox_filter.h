/* SPDX-License-Identifier: MIT
 *
 * sandbox_filter: which system calls a child of shared/extract/sandbox.h may make. Two filters:
 *
 *   of the sandbox   any program that begins with execve runs under it: it may read files and use
 *                    memory, and has no sockets, no further processes or threads, no way to
 *                    another process, no file to write, nothing that steers the kernel
 *   of a parser      for a child that is our own program, once it has its document: memory, its
 *                    open descriptors, its end, and nothing else; no file can be opened
 *
 * What is refused fails with EPERM, so a program may go on without. Both need libseccomp and a
 * kernel that filters (Linux with CONFIG_SECCOMP_FILTER).
 */
#ifndef PARLEY_EXTRACT_SANDBOX_FILTER_H
#define PARLEY_EXTRACT_SANDBOX_FILTER_H

#include "shared/base/str.h"

#include <linux/filter.h>

/* The filter of the sandbox. Made at the first call, kept forever. NULL where this kernel filters
 * nothing, or libseccomp does not know this machine; the log says so once. Any thread. */
const struct sock_fprog *sandbox_filter(void) must_check;

/* Puts the calling thread, which must have no_new_privs, and what it executes under a filter for
 * good. A system call and no more, so that it may follow a fork. False when the kernel refuses. */
bool sandbox_filter_install(const struct sock_fprog *filter) must_check;

/* Puts the calling thread, which should be the only one, under the filter of a parser for good.
 * True too where no filter can be had (see sandbox_filter). */
bool sandbox_confine_parser(void) must_check;

#endif
