/* SPDX-License-Identifier: MIT
 *
 * proc: measures processes of this machine by /proc: processor time and resident memory of a group
 * of processes with all their threads and children. It also finds the process that listens on an
 * address, so that nobody has to look up process ids. Whatever the system does not let us read
 * counts as absent. Linux only.
 */
#ifndef PARLEY_BENCH_PROC_H
#define PARLEY_BENCH_PROC_H

#include "shared/base/str.h"

#include <sys/socket.h>
#include <sys/types.h>

enum { BENCH_PROC_MAX = 64 };

struct bench_proc_group {
    pid_t pids[BENCH_PROC_MAX];
    size_t n;
};

/* Reads "1234,1235". False when it is no list of running processes. */
bool bench_proc_group_parse(struct bench_proc_group *group, struct str text) must_check;

/* Adds the processes of this machine that listen on `address`, or on its port of all addresses. */
void bench_proc_find_listeners(struct bench_proc_group *group,
                               const struct sockaddr_storage *address);
/* Adds the Redis or Valkey servers of this machine to which processes of `clients` are connected.
 */
void bench_proc_find_redis(struct bench_proc_group *group, const struct bench_proc_group *clients);

/* Seconds of processor time so far, children included; negative when the group is empty or one of
 * it has ended. */
double bench_proc_cpu_s(const struct bench_proc_group *group);
/* Seconds since bench_proc_cpu_s returned `before_s`; negative when either is not known. */
double bench_proc_spent_s(const struct bench_proc_group *group, double before_s);
/* Resident bytes, children included; negative likewise. */
int64_t bench_proc_resident_bytes(const struct bench_proc_group *group);
/* Seconds of processor time of this very process. */
double bench_proc_own_cpu_s(void);

#endif
