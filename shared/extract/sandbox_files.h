/* SPDX-License-Identifier: MIT
 *
 * sandbox_files: which files a child of shared/extract/sandbox.h may read: programs and libraries,
 * the fonts and tables that belong to them, and what the kernel says of the child itself. No
 * settings, no secrets, nothing of other processes. Needs a kernel with Landlock (Linux 5.13).
 */
#ifndef PARLEY_EXTRACT_SANDBOX_FILES_H
#define PARLEY_EXTRACT_SANDBOX_FILES_H

#include "shared/base/str.h"

/* Returns whether this kernel can confine a child to some files. If not, this is logged once. Any
 * thread.
 */
bool sandbox_files_are_confinable(void) must_check;

/* Confines the calling thread, which must have no_new_privs, for good, and what it executes:
 * `program` may be. Only system calls, so that it may follow a fork. False when the kernel refuses.
 */
bool sandbox_confine_files(const char *program) must_check;

#endif
