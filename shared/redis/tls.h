/* SPDX-License-Identifier: MIT
 *
 * tls: TLS beneath a connection to Redis (rediss:// URLs), by OpenSSL. hiredis 1 lets its reading
 * and writing be replaced; 0.14 (Debian 12) does not, and there redis_tls_is_built_in is false and
 * no other function here is called. The server's certificate and name are always verified, and TLS
 * is 1.2 or later (ADR 2).
 *
 * One context per process, made before threads start; from then on any thread may open connections.
 * A connection belongs to the thread that uses its redisContext.
 */
#ifndef PARLEY_REDIS_TLS_H
#define PARLEY_REDIS_TLS_H

#include "shared/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct redisContext;

/* Returns whether this build supports rediss://. */
bool redis_tls_is_built_in(void);

/* Sets whose certificates are accepted: those of the system's authorities, and of `ca_file` (PEM)
 * unless it is NULL. A server that asks its clients for a certificate gets `cert` and `key` (PEM),
 * which may both be NULL. Reads the files; borrows nothing. False with a human-readable reason and
 * the name of the setting that is wrong. */
bool redis_tls_init(const char *ca_file, const char *cert, const char *key, const char **ret_flag,
                    char *reason, size_t reason_size) must_check;

/* Puts TLS beneath a context whose socket is connecting or connected, and on which nothing has been
 * sent. `name`: the host name or IP address that the certificate must have. The context owns what
 * is made here. */
void redis_tls_begin(struct redisContext *c, const char *name);

enum redis_tls_step {
    REDIS_TLS_DONE,
    REDIS_TLS_WANTS_READ,
    REDIS_TLS_WANTS_WRITE,
    REDIS_TLS_FAILED, /* c->err and c->errstr say why */
};

/* Why a handshake failed that the server did not answer. */
#define REDIS_TLS_LATE "TLS: no handshake in time: this port may have no TLS"

/* Continues with the handshake: until the socket would block, or, on a blocking socket, to its end.
 * hiredis may read and write after DONE only. */
enum redis_tls_step redis_tls_shake(struct redisContext *c);

/* Returns whether redis_tls_begin was called; always false where it is not built in. */
bool redis_tls_is_begun(const struct redisContext *c);
/* After DONE: reads what has arrived, at most `size` bytes, without waiting, even from a blocking
 * socket. Returns 0 if there is nothing yet, -1 if the connection is lost: c->errstr says why. */
ssize_t redis_tls_read_now(struct redisContext *c, char *at, size_t size);

#endif
