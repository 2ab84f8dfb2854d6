/* SPDX-License-Identifier: MIT
 *
 * hello: follows what a client of TLS sends before its connection is encrypted, and refuses
 * messages that are too long. OpenSSL allocates a message when its header arrives: an anonymous
 * client that only announces a ClientHello of 128 KiB would cost that much. Pure; one per
 * connection, on its thread.
 */
#ifndef PARLEY_HTTP_HELLO_H
#define PARLEY_HTTP_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A ClientHello with keys of post-quantum groups takes 2 KiB. */
enum { HELLO_MOST_BYTES = 16 << 10, HELLO_RECORD_HEADER_BYTES = 5 };

/* Zeroed at first. */
struct hello {
    uint8_t record[HELLO_RECORD_HEADER_BYTES], message[4]; /* headers, as far as they have come */
    uint8_t record_n, message_n;
    bool is_encrypted; /* nothing more is looked at */
    size_t record_left, message_left;
    unsigned messages_n; /* whose header has come */
};

/* Takes the next `n` bytes. `is_13`: TLS 1.3 is agreed on, whose ChangeCipherSpec changes nothing.
 * False: the client sends no TLS, or a message of more than HELLO_MOST_BYTES. */
bool hello_take(struct hello *hello, const uint8_t *bytes, size_t n, bool is_13);

/* The length of the first record, header included, from its first five bytes; 0: it is no handshake
 * message, or too long. */
size_t hello_record_bytes(const uint8_t header[HELLO_RECORD_HEADER_BYTES]);

#endif
