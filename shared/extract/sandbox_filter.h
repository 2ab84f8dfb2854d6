/* SPDX-License-Identifier: MIT
 *
 * sandbox_filter: which system calls a child may make. Three filters:
 *
 *   of the sandbox   any program that begins with execve runs under it: it may read files and use
 *                    memory, and has no sockets, no further processes or threads, no way to
 *                    another process, no file to write, nothing that steers the kernel
 *   of a parser      for a child that is our own program, once it has its document: memory, its
 *                    open descriptors, its end, and nothing else; no file can be opened
 *   of a database    the same, and the files that it has open can be locked, synced and cut
 *
 * Refused calls fail with EPERM, so a program may continue without them. They need libseccomp and a
 * kernel that filters (Linux with CONFIG_SECCOMP_FILTER).
 */
#ifndef PARLEY_EXTRACT_SANDBOX_FILTER_H
#define PARLEY_EXTRACT_SANDBOX_FILTER_H

#include "shared/base/str.h"

#include <linux/filter.h>

/* The filter of the sandbox. Created at the first call and never freed. NULL if this kernel has no
 * filters or libseccomp does not support this machine, which is logged once. Any thread. */
const struct sock_fprog *sandbox_filter(void) must_check;

/* Puts the calling thread, which must have no_new_privs, and what it executes under a filter
 * permanently. It makes only a system call, so it may follow a fork. Returns false if the kernel
 * refuses. */
bool sandbox_filter_install(const struct sock_fprog *filter) must_check;

/* Puts the calling thread, which should be the only one, under the filter of a parser permanently.
 * Also returns true if no filter is available (see sandbox_filter). */
bool sandbox_confine_parser(void) must_check;
/* The same for a child that holds an SQLite database open. */
bool sandbox_confine_database(void) must_check;

#endif
