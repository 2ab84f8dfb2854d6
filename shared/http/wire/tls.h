/* SPDX-License-Identifier: MIT
 *
 * tls: a process's certificate, with the settings of TLS for those who connect: version 1.2 or 1.3,
 * ciphers with forward secrecy only, ALPN for h2 and http/1.1, no renegotiation, no early data. One
 * per process. Connections that are open when it is reloaded keep what they began with.
 */
#ifndef PARLEY_HTTP_TLS_H
#define PARLEY_HTTP_TLS_H

#include "shared/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ssl_ctx_st;
struct tls;

/* Reads both PEM files (`certificate_file` with its chain). Borrows the paths. Returns NULL with
 * one line in `reason` that names the file at fault. */
struct tls *tls_create(const char *certificate_file, const char *key_file, char *reason,
                       size_t reason_size) must_check;
/* Accepts NULL. */
void tls_destroy(struct tls *tls);

/* Any thread: the settings for one more connection; the caller ends them with SSL_CTX_free. */
struct ssl_ctx_st *tls_take(struct tls *tls) must_check;

enum tls_reloaded { TLS_SAME, TLS_RELOADED, TLS_REFUSED };
/* Reads the files again if they have changed since they were read last, whether or not they were
 * good then, but not since the last call (`is_forced`: in any case). A fault is returned once with
 * its `reason`, and the old certificate stays. On one thread at a time. */
enum tls_reloaded tls_reload(struct tls *tls, bool is_forced, char *reason,
                             size_t reason_size) must_check;

/* Seconds since 1970 at which the certificate ends. */
int64_t tls_ends_s(struct tls *tls) must_check;

#endif
