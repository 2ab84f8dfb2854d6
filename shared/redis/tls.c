/* SPDX-License-Identifier: MIT
 * tls.c - see tls.h.
 *
 * hiredis_ssl is not used: it mixes the handshake with the first command, loses the reason when a
 * certificate is refused, and judges a blocking read by whatever errno was before.
 *
 * A read takes at most 16 KiB, and so does a record of TLS, of which OpenSSL never reads two at
 * once: after a read nothing waits in OpenSSL that poll or epoll would not see. A record without
 * data (a session ticket) ends a read, so that a blocking socket is not waited for after poll.
 * After the handshake writing never needs reading, because renegotiation is off. */
#include "shared/redis/tls.h"

#include "shared/base/mem.h"

#include <hiredis/async.h>
#include <hiredis/hiredis.h>

#if HIREDIS_MAJOR >= 1

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <hiredis/sds.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

/* The struct that hiredis calls `privctx`. */
struct tls {
    SSL *ssl;
    redisContextFuncs funcs;
    size_t writing_n; /* bytes of a write that OpenSSL has not finished: the same come again */
};

static SSL_CTX *context;

bool redis_tls_is_built_in(void)
{
    return true;
}

/* A key with a password is refused rather than asked for on the terminal. */
static int no_password(char *text, int size, int is_writing, void *arg)
{
    return -1;
}

bool redis_tls_init(const char *ca_file, const char *cert, const char *key, const char **ret_flag,
                    char *reason, size_t reason_size)
{
    SSL_CTX *made = SSL_CTX_new(TLS_client_method());
    if (made == NULL || SSL_CTX_set_min_proto_version(made, TLS1_2_VERSION) != 1)
        abort();
    SSL_CTX_set_verify(made, SSL_VERIFY_PEER, NULL);
    SSL_CTX_clear_mode(made, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_mode(made, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_default_passwd_cb(made, no_password);
    /* The end of a reply is known by its length: a server that was killed is one that has closed.
     */
    SSL_CTX_set_options(made, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    const char *flag = NULL, *fault = NULL;
    (void)SSL_CTX_set_default_verify_paths(made);
    if (ca_file != NULL && SSL_CTX_load_verify_file(made, ca_file) != 1) {
        flag = "ca-file";
        fault = "names no file of certificates in PEM that can be read";
    } else if ((cert == NULL) != (key == NULL)) {
        flag = cert == NULL ? "redis-tls-key" : "redis-tls-cert";
        fault = "is one of two: --redis-tls-cert and --redis-tls-key belong together";
    } else if (cert != NULL && SSL_CTX_use_certificate_chain_file(made, cert) != 1) {
        flag = "redis-tls-cert";
        fault = "names no file with a certificate in PEM that can be read";
    } else if (key != NULL && (SSL_CTX_use_PrivateKey_file(made, key, SSL_FILETYPE_PEM) != 1 ||
                               SSL_CTX_check_private_key(made) != 1)) {
        flag = "redis-tls-key";
        fault = "names no file with the key of --redis-tls-cert (PEM, without a password)";
    }
    ERR_clear_error();
    if (fault != NULL) {
        SSL_CTX_free(made);
        *ret_flag = flag;
        snprintf(reason, reason_size, "%s", fault);
        return false;
    }
    SSL_CTX_free(context);
    context = made;
    return true;
}

/* --- errors ----------------------------------------------------------------------------------- */

static void fail(redisContext *c, int kind, const char *text, const char *more)
{
    c->err = kind;
    snprintf(c->errstr, sizeof c->errstr, "%s%s", text, more);
}

/* `error` is of SSL_get_error, `number` was errno after the call. */
static void explain(redisContext *c, int error, int number)
{
    const struct tls *tls = c->privctx;
    long verified = SSL_get_verify_result(tls->ssl);
    unsigned long first = ERR_peek_error();
    const char *text = first == 0 ? NULL : ERR_reason_error_string(first);
    if (verified != X509_V_OK)
        fail(c, REDIS_ERR_OTHER,
             "UNTRUSTED certificate: ", X509_verify_cert_error_string(verified));
    else if (error == SSL_ERROR_ZERO_RETURN || (error == SSL_ERROR_SYSCALL && number == 0))
        fail(c, REDIS_ERR_EOF, "Server closed the connection", "");
    else if (error == SSL_ERROR_SYSCALL)
        fail(c, REDIS_ERR_IO, strerror(number), "");
    else
        fail(c, REDIS_ERR_IO, "TLS: ", text == NULL ? "unknown error" : text);
    ERR_clear_error();
}

/* --- reading and writing ---------------------------------------------------------------------- */

/* 0: later; or -1. A blocking socket has timeouts of its own, which end as EAGAIN: `late`. */
static int is_later(redisContext *c, int result, const char *late)
{
    struct tls *tls = c->privctx;
    int number = errno, error = SSL_get_error(tls->ssl, result);
    bool is_wanting = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
    bool is_late = (c->flags & REDIS_BLOCK) != 0 && (number == EAGAIN || number == EWOULDBLOCK);
    if (is_wanting && !is_late)
        return 0;
    if (is_wanting)
        fail(c, REDIS_ERR_IO, late, "");
    else
        explain(c, error, number);
    return -1;
}

/* Clears what is_later looks at, so that it is of the call that follows. */
static void ready(void)
{
    ERR_clear_error();
    errno = 0;
}

static ssize_t read_some(redisContext *c, char *at, size_t size)
{
    struct tls *tls = c->privctx;
    ready();
    int n = SSL_read(tls->ssl, at, size > INT_MAX ? INT_MAX : (int)size);
    return n > 0 ? n : is_later(c, n, "no answer in time");
}

bool redis_tls_is_begun(const struct redisContext *c)
{
    return c->privctx != NULL;
}

ssize_t redis_tls_read_now(struct redisContext *c, char *at, size_t size)
{
    struct tls *tls = c->privctx;
    int flags = fcntl(c->fd, F_GETFL);
    (void)fcntl(c->fd, F_SETFL, flags | O_NONBLOCK);
    ready();
    int n = SSL_read(tls->ssl, at, size > INT_MAX ? INT_MAX : (int)size);
    int number = errno, error = n > 0 ? SSL_ERROR_NONE : SSL_get_error(tls->ssl, n);
    (void)fcntl(c->fd, F_SETFL, flags);
    if (n > 0)
        return n;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
        return 0;
    explain(c, error, number);
    return -1;
}

static ssize_t write_some(redisContext *c)
{
    struct tls *tls = c->privctx;
    size_t size = tls->writing_n > 0 ? tls->writing_n : sdslen(c->obuf);
    if (size > INT_MAX)
        size = INT_MAX;
    ready();
    int n = SSL_write(tls->ssl, c->obuf, (int)size);
    tls->writing_n = n > 0 ? 0 : size;
    return n > 0 ? n : is_later(c, n, "no answer in time");
}

static void free_tls(void *privctx)
{
    struct tls *tls = privctx;
    if (tls == NULL)
        return;
    SSL_free(tls->ssl);
    free(tls);
}

/* --- the handshake ---------------------------------------------------------------------------- */

static bool is_ip_address(const char *name)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

static bool expect_name(SSL *ssl, const char *name)
{
    if (is_ip_address(name))
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set_tlsext_host_name(ssl, name) == 1 && SSL_set1_host(ssl, name) == 1;
}

void redis_tls_begin(struct redisContext *c, const char *name)
{
    struct tls *tls = mem_zeroed(sizeof *tls);
    if (context == NULL || (tls->ssl = SSL_new(context)) == NULL)
        abort();
    tls->funcs = *c->funcs;
    tls->funcs.free_privctx = free_tls;
    tls->funcs.read = read_some;
    tls->funcs.write = write_some;
    c->funcs = &tls->funcs;
    c->privctx = tls;
    SSL_set_connect_state(tls->ssl);
    /* Without a name that can be verified there is no connection. */
    if (name[0] == 0 || !expect_name(tls->ssl, name) || SSL_set_fd(tls->ssl, c->fd) != 1)
        fail(c, REDIS_ERR_OTHER, "UNTRUSTED certificate: no name to compare it with", "");
    ERR_clear_error();
}

enum redis_tls_step redis_tls_shake(struct redisContext *c)
{
    struct tls *tls = c->privctx;
    for (;;) {
        if (c->err != 0)
            return REDIS_TLS_FAILED;
        ready();
        int result = SSL_do_handshake(tls->ssl);
        if (result == 1)
            return REDIS_TLS_DONE;
        if (is_later(c, result, REDIS_TLS_LATE) == 0 && (c->flags & REDIS_BLOCK) == 0)
            return SSL_want_write(tls->ssl) ? REDIS_TLS_WANTS_WRITE : REDIS_TLS_WANTS_READ;
    }
}

#else

bool redis_tls_is_built_in(void)
{
    return false;
}

bool redis_tls_init(const char *ca_file, const char *cert, const char *key, const char **ret_flag,
                    char *reason, size_t reason_size)
{
    abort();
}

void redis_tls_begin(struct redisContext *c, const char *name)
{
    abort();
}

bool redis_tls_is_begun(const struct redisContext *c)
{
    return false;
}

ssize_t redis_tls_read_now(struct redisContext *c, char *at, size_t size)
{
    abort();
}

enum redis_tls_step redis_tls_shake(struct redisContext *c)
{
    abort();
}

#endif
