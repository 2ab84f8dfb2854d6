/* SPDX-License-Identifier: MIT
 * tls.c - see tls.h. */
#include "shared/http/wire/tls.h"

#include "shared/base/mem.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* The facts that distinguish a file from the one that was there before. */
struct seen {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec changed;
};

struct tls {
    const char *certificate_file, *key_file;
    pthread_mutex_t lock; /* of what follows */
    SSL_CTX *context;
    int64_t ends_s;
    struct seen certificate_seen, key_seen; /* at the last look; these are of who reloads only */
    bool has_changed;                       /* and not been read since */
};

/* Forward secrecy and authenticated encryption only; those of TLS 1.3 all have both. */
static const char CIPHERS[] = "ECDHE+AESGCM:ECDHE+CHACHA20";
static const char GROUPS[] = "X25519:P-256:P-384";

static const unsigned char PROTOCOLS[] = "\x02h2\x08http/1.1"; /* in our order */

static int choose_protocol(SSL *ssl, const unsigned char **ret_name, unsigned char *ret_n,
                           const unsigned char *offered, unsigned offered_n, void *arg)
{
    unsigned char *name = NULL;
    (void)ssl;
    (void)arg;
    if (SSL_select_next_proto(&name, ret_n, PROTOCOLS, sizeof PROTOCOLS - 1, offered, offered_n) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL; /* RFC 7301, 3.2 */
    *ret_name = name;
    return SSL_TLSEXT_ERR_OK;
}

/* A key with a passphrase must not make a server ask for it on its terminal. */
static int give_no_passphrase(char *text, int size, int is_writing, void *arg)
{
    (void)text;
    (void)size;
    (void)is_writing;
    (void)arg;
    return -1;
}

static bool fail(char *reason, size_t reason_size, const char *file, const char *what)
{
    snprintf(reason, reason_size, "%s: %s", file, what);
    ERR_clear_error();
    return false;
}

static bool read_state(const char *file, struct seen *ret_seen)
{
    struct stat now;
    if (stat(file, &now) != 0)
        return false;
    memset(ret_seen, 0, sizeof *ret_seen); /* compared as bytes */
    ret_seen->dev = now.st_dev;
    ret_seen->ino = now.st_ino;
    ret_seen->size = now.st_size;
    ret_seen->changed = now.st_mtim;
    return true;
}

static bool check_readable(const char *file, char *reason, size_t reason_size)
{
    FILE *f = fopen(file, "re");
    if (f == NULL)
        return fail(reason, reason_size, file, strerror(errno));
    fclose(f);
    return true;
}

static bool read_files(const struct tls *tls, SSL_CTX *context, char *reason, size_t reason_size)
{
    const char *certificate = tls->certificate_file, *key = tls->key_file;
    if (!check_readable(certificate, reason, reason_size) ||
        !check_readable(key, reason, reason_size))
        return false;
    if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1)
        return fail(reason, reason_size, certificate,
                    "no usable certificate: expected PEM, the server's certificate first, then its "
                    "chain");
    if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
        return fail(reason, reason_size, key,
                    "no usable private key of this certificate: expected PEM without a passphrase");
    if (SSL_CTX_check_private_key(context) != 1)
        return fail(reason, reason_size, key, "this key is not the certificate's");
    return true;
}

static bool ends_at(const SSL_CTX *context, int64_t *ret_ends_s)
{
    struct tm ends;
    const X509 *certificate = SSL_CTX_get0_certificate(context);
    if (certificate == NULL || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &ends) != 1)
        return false;
    *ret_ends_s = timegm(&ends);
    return true;
}

/* NULL: reason. Keeps as little as possible for anonymous clients: no sessions, one ticket, and
 * buffers only while they hold something. After a record without data SSL_read returns, so that a
 * client who sends nothing else gets one a pass. */
static SSL_CTX *make_context(const struct tls *tls, int64_t *ret_ends_s, char *reason,
                             size_t reason_size)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL)
        abort();
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 1);
    SSL_CTX_set_default_passwd_cb(context, give_no_passphrase);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    if (SSL_CTX_set_cipher_list(context, CIPHERS) != 1 ||
        SSL_CTX_set1_groups_list(context, GROUPS) != 1)
        abort();
    if (read_files(tls, context, reason, reason_size)) {
        if (ends_at(context, ret_ends_s))
            return context;
        fail(reason, reason_size, tls->certificate_file, "the certificate has no end");
    }
    SSL_CTX_free(context);
    return NULL;
}

struct tls *tls_create(const char *certificate_file, const char *key_file, char *reason,
                       size_t reason_size)
{
    struct tls *tls = mem_zeroed(sizeof *tls);
    if (pthread_mutex_init(&tls->lock, NULL) != 0)
        abort();
    tls->certificate_file = certificate_file;
    tls->key_file = key_file;
    (void)!read_state(certificate_file, &tls->certificate_seen);
    (void)!read_state(key_file, &tls->key_seen);
    tls->context = make_context(tls, &tls->ends_s, reason, reason_size);
    if (tls->context != NULL)
        return tls;
    tls_destroy(tls);
    return NULL;
}

void tls_destroy(struct tls *tls)
{
    if (tls == NULL)
        return;
    SSL_CTX_free(tls->context);
    pthread_mutex_destroy(&tls->lock);
    free(tls);
}

SSL_CTX *tls_take(struct tls *tls)
{
    pthread_mutex_lock(&tls->lock);
    SSL_CTX *context = tls->context;
    SSL_CTX_up_ref(context);
    pthread_mutex_unlock(&tls->lock);
    return context;
}

int64_t tls_ends_s(struct tls *tls)
{
    pthread_mutex_lock(&tls->lock);
    int64_t ends_s = tls->ends_s;
    pthread_mutex_unlock(&tls->lock);
    return ends_s;
}

/* Two files change one after the other: they are read once both were the same for a look. One that
 * is gone for a moment, while it is replaced, has not changed. */
static bool is_due(struct tls *tls)
{
    struct seen certificate = tls->certificate_seen, key = tls->key_seen;
    if (!read_state(tls->certificate_file, &certificate) || !read_state(tls->key_file, &key))
        return false;
    bool is_same = memcmp(&certificate, &tls->certificate_seen, sizeof certificate) == 0 &&
                   memcmp(&key, &tls->key_seen, sizeof key) == 0;
    tls->certificate_seen = certificate;
    tls->key_seen = key;
    tls->has_changed |= !is_same;
    return is_same && tls->has_changed;
}

enum tls_reloaded tls_reload(struct tls *tls, bool is_forced, char *reason, size_t reason_size)
{
    int64_t ends_s;
    if (!is_due(tls) && !is_forced)
        return TLS_SAME;
    tls->has_changed = false;
    SSL_CTX *context = make_context(tls, &ends_s, reason, reason_size), *old;
    if (context == NULL)
        return TLS_REFUSED;
    pthread_mutex_lock(&tls->lock);
    old = tls->context;
    tls->context = context;
    tls->ends_s = ends_s;
    pthread_mutex_unlock(&tls->lock);
    SSL_CTX_free(old);
    return TLS_RELOADED;
}
