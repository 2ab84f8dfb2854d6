/* SPDX-License-Identifier: MIT
 *
 * sandbox: runs a program on input bytes in a confined child process: limits on its processor time,
 * memory, files and descriptors, a wall clock, no new privileges, no sockets, no further processes,
 * no files to write (shared/extract/sandbox_filter.h), few to read
 * (shared/extract/sandbox_files.h), an empty network of its own (where the kernel allows it), no
 * environment but what its job names, no descriptors but its input, output and a silent standard
 * error. Blocking; any thread, also of a process with many.
 */
#ifndef PARLEY_EXTRACT_SANDBOX_H
#define PARLEY_EXTRACT_SANDBOX_H

#include "shared/base/buf.h"

#include <stdatomic.h>

struct sandbox_job {
    const char *const *argv;        /* ends with NULL; argv[0] is a path */
    const char *const *environment; /* the same; NULL: none */
    int input; /* a file, which the child reads from its start as standard input; borrowed.
                * -1: there is none, and no child (SANDBOX_UNBORN) */
    unsigned cpu_s, wall_ms;
    uint64_t memory_bytes;          /* of address space; 0: no limit */
    const atomic_bool *is_stopping; /* ends it within a quarter of a second; may be NULL */
};

enum sandbox_end {
    SANDBOX_EXITED,  /* by itself: *ret_status is its exit status */
    SANDBOX_SLOW,    /* used up its processor time or the wall clock's */
    SANDBOX_FULL,    /* wrote more than `out` takes */
    SANDBOX_STOPPED, /* by `is_stopping` */
    SANDBOX_CRASHED, /* a signal ended it */
    SANDBOX_UNBORN,  /* no process, descriptor or memory was available, or no such program */
};

/* Runs the child to its end and collects what it writes to standard output in `out`. The child is
 * gone when this returns. */
enum sandbox_end sandbox_run(const struct sandbox_job *job, struct buf *out,
                             int *ret_status) must_check;

/* Returns the path of a program on PATH, which the caller frees; NULL if it is not found. */
char *sandbox_find_program(const char *name) must_check;

#endif
