/* SPDX-License-Identifier: MIT
 * connection_tls.c - connections under TLS (connection_internal.h).
 *
 * libh2o encrypts what it writes and begins the handshake, but it decrypts all that a socket has.
 * So its SSL object gets a BIO of ours, which reads from the socket itself, and connection_read.c
 * calls SSL_read for as much as it takes. What is written passes through to libh2o's own BIO,
 * except for the alerts that end a connection: libh2o would wait for clients that never read them.
 *
 * A handshake begins once the whole first record is there: until then it waits in the kernel, and
 * costs no SSL object. Records without data, and messages of a handshake, are taken so many a pass:
 * what remains in the kernel makes the socket readable again. */
#include "shared/http/wire/connection_internal.h"

#include "shared/base/clock.h"
#include "shared/base/mem.h"
#include "shared/http/wire/hello.h"
#include "shared/http/wire/tls.h"

#include <errno.h>
#include <h2o/http1.h>
#include <h2o/http2.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>

enum {
    HANDSHAKE_MS = 10000,
    MESSAGES_A_TURN = 8, /* of all handshakes; the dearest takes a signature, up to 1 ms */
    RECORD_ALERT = 21
};

struct connection_tls {
    struct connection *c;
    struct list_link link; /* of the handshakes */
    SSL_CTX *context;      /* a reference */
    SSL *ssl;              /* libh2o's; NULL until the first record is there */
    BIO *inner;            /* libh2o's, a reference */
    struct hello hello;
    struct deadline handshake;
    bool is_reading;  /* nothing may be written */
    bool has_written; /* all the same */
    bool is_cut;      /* an alert was omitted, or its goodbye is to be */
    bool is_direct;   /* what is written bypasses libh2o */
};

/* SSL_new is libh2o's call. */
static _Thread_local SSL *newest;

static void on_new_ssl(void *parent, void *data, CRYPTO_EX_DATA *all, int index, long n, void *arg)
{
    (void)data;
    (void)all;
    (void)index;
    (void)n;
    (void)arg;
    newest = parent;
}

/* --- our BIO ---------------------------------------------------------------------------------- */

static ssize_t send_directly(const struct connection_tls *t, const char *bytes, int n)
{
    return send(h2o_socket_get_fd(t->c->socket), bytes, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool is_retried(ssize_t n)
{
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Notes that input gives cause for an alert, such as the refusal of a renegotiation: it ends the
 * connection. It may not go between parts of what libh2o is writing. */
static int note_alert(struct connection_tls *t, const char *bytes, int n)
{
    t->has_written = true;
    if (h2o_socket_is_writing(t->c->socket))
        t->is_cut = true;
    else
        (void)!send_directly(t, bytes, n);
    return n;
}

static int on_bio_write(BIO *bio, const char *bytes, int n)
{
    struct connection_tls *t = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (t->is_reading)
        return note_alert(t, bytes, n);
    if (t->is_direct) {
        ssize_t sent = send_directly(t, bytes, n);
        if (is_retried(sent))
            BIO_set_retry_write(bio);
        return (int)sent;
    }
    if ((SSL_get_shutdown(t->ssl) & SSL_SENT_SHUTDOWN) != 0 || bytes[0] == RECORD_ALERT) {
        if (!t->is_cut)
            (void)!send_directly(t, bytes, n);
        return n;
    }
    return BIO_write(t->inner, bytes, n);
}

static bool must_wait(const struct connection_tls *t)
{
    return !SSL_is_init_finished(t->ssl) && t->hello.record_n == 0 &&
           t->c->all->handshake_messages_n >= MESSAGES_A_TURN;
}

static int on_bio_read(BIO *bio, char *bytes, int n)
{
    struct connection_tls *t = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (must_wait(t)) {
        BIO_set_retry_read(bio);
        return -1;
    }
    ssize_t got = recv(h2o_socket_get_fd(t->c->socket), bytes, (size_t)n, MSG_DONTWAIT);
    if (is_retried(got))
        BIO_set_retry_read(bio);
    if (got <= 0 || SSL_is_init_finished(t->ssl))
        return (int)got;
    unsigned before = t->hello.messages_n;
    bool is_good = hello_take(&t->hello, (const uint8_t *)bytes, (size_t)got,
                              SSL_version(t->ssl) == TLS1_3_VERSION);
    t->c->all->handshake_messages_n += t->hello.messages_n - before;
    return is_good ? (int)got : -1;
}

static long on_bio_control(BIO *bio, int command, long n, void *arg)
{
    (void)bio;
    (void)n;
    (void)arg;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *method;

static void make_method(void)
{
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "connection");
    if (method == NULL || BIO_meth_set_write(method, on_bio_write) != 1 ||
        BIO_meth_set_read(method, on_bio_read) != 1 ||
        BIO_meth_set_ctrl(method, on_bio_control) != 1 ||
        SSL_get_ex_new_index(0, NULL, on_new_ssl, NULL, NULL) < 0)
        abort();
}

static void attach(struct connection_tls *t, SSL *ssl)
{
    BIO *bio = BIO_new(method);
    if (bio == NULL)
        abort();
    BIO_set_data(bio, t);
    BIO_set_init(bio, 1);
    t->ssl = ssl;
    t->inner = SSL_get_rbio(ssl);
    BIO_up_ref(t->inner);
    BIO_up_ref(bio);
    SSL_set0_rbio(ssl, bio);
    SSL_set0_wbio(ssl, bio);
}

/* --- the handshake ---------------------------------------------------------------------------- */

static void wake_from(const struct connection_tls *t, size_t bytes)
{
    int n = (int)bytes;
    (void)setsockopt(h2o_socket_get_fd(t->c->socket), SOL_SOCKET, SO_RCVLOWAT, &n, sizeof n);
}

/* Less is there than the socket waits for: is that because no more comes? */
static bool has_hung_up(const struct connection_tls *t)
{
    struct pollfd ended = {.fd = h2o_socket_get_fd(t->c->socket), .events = POLLRDHUP};
    return poll(&ended, 1, 0) > 0;
}

/* Most likely http:// was meant to be https://. */
static void answer_in_clear(const struct connection_tls *t)
{
    static const char text[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"
                               "Content-Type: text/plain\r\nContent-Length: 55\r\n\r\n"
                               "This address takes HTTPS only: use an https:// URL.\r\n\r\n";
    char dropped[4096]; /* or the end of the connection would overtake the answer */
    (void)!recv(h2o_socket_get_fd(t->c->socket), dropped, sizeof dropped, MSG_DONTWAIT);
    (void)!send_directly(t, text, sizeof text - 1);
}

enum hello_state { HELLO_UNFINISHED, HELLO_THERE, HELLO_REFUSED };

static enum hello_state check_hello(const struct connection_tls *t)
{
    uint8_t header[HELLO_RECORD_HEADER_BYTES];
    int fd = h2o_socket_get_fd(t->c->socket), there_n = 0;
    ssize_t n = recv(fd, header, sizeof header, MSG_PEEK | MSG_DONTWAIT);
    if (n <= 0)
        return is_retried(n) ? HELLO_UNFINISHED : HELLO_REFUSED;
    if (header[0] >= 'A' && header[0] <= 'Z') {
        answer_in_clear(t);
        return HELLO_REFUSED;
    }
    size_t needed_n = sizeof header;
    if (n == (ssize_t)sizeof header) {
        needed_n = hello_record_bytes(header);
        if (needed_n == 0 || ioctl(fd, FIONREAD, &there_n) != 0)
            return HELLO_REFUSED;
        if ((size_t)there_n >= needed_n) {
            wake_from(t, 1);
            return HELLO_THERE;
        }
    }
    wake_from(t, needed_n);
    return has_hung_up(t) ? HELLO_REFUSED : HELLO_UNFINISHED;
}

static void leave_handshakes(struct connection_tls *t)
{
    loop_cancel_deadline(t->c->all->wire->loop, &t->handshake);
    list_remove(&t->link);
}

void connections_end_handshakes(struct connections *all)
{
    struct connection_tls *t;
    while ((t = list_first(&all->handshakes, struct connection_tls, link)) != NULL)
        h2o_socket_close(t->c->socket);
}

void connection_shake_hands(struct connection *c)
{
    struct connection_tls *t = c->tls;
    if (t->ssl == NULL) {
        enum hello_state state = check_hello(t);
        if (state == HELLO_UNFINISHED)
            return;
        if (state == HELLO_REFUSED) {
            (void)!connection_pass(c, h2o_socket_error_closed);
            return;
        }
        newest = NULL;
        if (!connection_pass(c, NULL)) /* libh2o makes its SSL object, and finds nothing to read */
            return;
        if (newest == NULL)
            abort();
        attach(t, newest);
        c->has_greeted = true;
        c->accepted_ms = clock_mono_ms();
    }
    (void)!connection_pass(c, NULL);
}

static void on_handshake_over(struct deadline *deadline)
{
    struct connection_tls *t = container_of(deadline, struct connection_tls, handshake);
    (void)!connection_close_idle(t->c);
}

static bool chose_http2(const struct connection_tls *t)
{
    const unsigned char *name;
    unsigned n;
    SSL_get0_alpn_selected(t->ssl, &name, &n);
    return n == 2 && memcmp(name, "h2", 2) == 0;
}

static void on_handshake(h2o_socket_t *socket, const char *error)
{
    struct connection *c = connection_of(socket);
    struct wire *wire = c->all->wire;
    struct timeval now = *h2o_get_timestamp(&wire->context, NULL, NULL);
    leave_handshakes(c->tls);
    c->accepted_ms = clock_mono_ms();
    if (error != NULL) {
        ERR_clear_error();
        h2o_socket_close(socket);
        return;
    }
    if (chose_http2(c->tls)) {
        connection_move(c, CONNECTION_PREFACE);
        h2o_http2_accept(&wire->accept, socket, now);
    } else {
        connection_move(c, CONNECTION_HEAD);
        h2o_http1_accept(&wire->accept, socket, now);
    }
    connection_take_over_reads(c);
}

void connection_secure(struct connection *c, struct tls *tls)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_method);
    struct connection_tls *t = mem_zeroed(sizeof *t);
    c->tls = t;
    t->c = c;
    t->context = tls_take(tls);
    t->handshake.on_expire = on_handshake_over;
    list_prepend(&c->all->handshakes, &t->link);
    loop_set_deadline(c->all->wire->loop, &t->handshake, HANDSHAKE_MS);
    h2o_socket_ssl_handshake(c->socket, t->context, NULL, on_handshake);
}

void connection_free_tls(struct connection *c)
{
    struct connection_tls *t = c->tls;
    if (t == NULL)
        return;
    leave_handshakes(t);
    BIO_free(t->inner);
    SSL_CTX_free(t->context);
    free(t);
}

/* --- afterwards ------------------------------------------------------------------------------- */

/* As recv(2) returns it. */
static ssize_t read_with(struct connection_tls *t, int (*read)(SSL *, void *, int), void *bytes,
                         size_t n)
{
    ERR_clear_error();
    t->is_reading = true;
    int got = read(t->ssl, bytes, (int)n);
    int error = got > 0 ? SSL_ERROR_NONE : SSL_get_error(t->ssl, got);
    t->is_reading = false;
    if (t->has_written)
        error = SSL_ERROR_SSL;
    switch (error) {
    case SSL_ERROR_NONE: return got;
    case SSL_ERROR_ZERO_RETURN: return 0;
    case SSL_ERROR_WANT_READ: errno = EAGAIN; return -1;
    default:
        ERR_clear_error();
        errno = EPROTO;
        return -1;
    }
}

ssize_t connection_receive(h2o_socket_t *socket, void *bytes, size_t n)
{
    const struct connection *c = connection_of(socket);
    if (c == NULL || c->tls == NULL)
        return recv(h2o_socket_get_fd(socket), bytes, n, MSG_DONTWAIT);
    return read_with(c->tls, SSL_read, bytes, n);
}

ssize_t connection_peek(h2o_socket_t *socket, char *ret_byte)
{
    const struct connection *c = connection_of(socket);
    if (c == NULL || c->tls == NULL || c->state == CONNECTION_HTTP2)
        return recv(h2o_socket_get_fd(socket), ret_byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return read_with(c->tls, SSL_peek, ret_byte, 1);
}

bool connection_has_more(h2o_socket_t *socket)
{
    const struct connection *c = connection_of(socket);
    return c != NULL && c->tls != NULL && c->tls->ssl != NULL && SSL_pending(c->tls->ssl) > 0;
}

void connection_send_now(struct connection *c, const char *bytes, size_t n)
{
    if (c->tls == NULL) {
        ssize_t sent = send(h2o_socket_get_fd(c->socket), bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void)sent; /* a client that is gone is noticed when it is read */
        return;
    }
    c->tls->is_direct = true;
    (void)!SSL_write(c->tls->ssl, bytes, (int)n); /* if it fails, so does the next write */
    c->tls->is_direct = false;
    ERR_clear_error();
}

void connection_omit_goodbye(struct connection *c)
{
    if (c->tls != NULL)
        c->tls->is_cut = true;
}

void connection_end_writing(h2o_socket_t *socket)
{
    const struct connection *c = connection_of(socket);
    if (c != NULL && c->tls != NULL)
        (void)!SSL_shutdown(c->tls->ssl);
    shutdown(h2o_socket_get_fd(socket), SHUT_WR);
}
