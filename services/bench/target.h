/* SPDX-License-Identifier: MIT
 *
 * target: one node's base URL, taken apart and resolved once, before anything is measured. Plain
 * HTTP only: what is measured is the node, not a TLS library. Owned by main.c, read by all.
 */
#ifndef PARLEY_BENCH_TARGET_H
#define PARLEY_BENCH_TARGET_H

#include "shared/base/str.h"

#include <sys/socket.h>

enum { BENCH_TARGET_MAX = 16, BENCH_HOST_MAX = 256, BENCH_PREFIX_MAX = 256 };

struct bench_target {
    char host[BENCH_HOST_MAX];     /* with the port, as in the Host header */
    char prefix[BENCH_PREFIX_MAX]; /* of every path: "" or "/base" */
    struct sockaddr_storage address;
    socklen_t address_n;
    bool is_loopback; /* 127.x: other source addresses of 127.0.1.x reach it */
    bool is_local;    /* an address of this machine: its processes can be looked at */
};

/* Reads `http://host[:port][/prefix]` and resolves the host (blocks). False with a reason for
 * people, NUL-terminated, in `reason`. */
bool bench_target_parse(struct str url, struct bench_target *ret_target, char *reason,
                        size_t reason_size) must_check;

#endif
