/* SPDX-License-Identifier: MIT
 * hello.c - see hello.h. Records: RFC 8446, section 5.1; messages: section 4. */
#include "shared/http/wire/hello.h"

enum { RECORD_CHANGE_CIPHER = 20, RECORD_HANDSHAKE = 22, RECORD_LAST = 23 };
enum { RECORD_MOST_BYTES = (16 << 10) + 2048 /* encrypted, TLS 1.2 */ };

static size_t length_of(const struct hello *h)
{
    return (size_t)h->record[3] << 8 | h->record[4];
}

/* Messages lie across records as they like. */
static bool take_messages(struct hello *h, const uint8_t *bytes, size_t n)
{
    while (n > 0) {
        if (h->message_left > 0) {
            size_t skipped = n < h->message_left ? n : h->message_left;
            h->message_left -= skipped;
            bytes += skipped;
            n -= skipped;
            continue;
        }
        h->message[h->message_n++] = *bytes++;
        n--;
        if (h->message_n < sizeof h->message)
            continue;
        h->message_n = 0;
        h->message_left = (size_t)h->message[1] << 16 | (size_t)h->message[2] << 8 | h->message[3];
        h->messages_n++;
        if (h->message_left > HELLO_MOST_BYTES)
            return false;
    }
    return true;
}

bool hello_take(struct hello *h, const uint8_t *bytes, size_t n, bool is_13)
{
    while (n > 0 && !h->is_encrypted) {
        if (h->record_n < sizeof h->record) {
            h->record[h->record_n++] = *bytes++;
            n--;
            if (h->record_n < sizeof h->record)
                continue;
            h->record_left = length_of(h);
            if (h->record[0] < RECORD_CHANGE_CIPHER || h->record[0] > RECORD_LAST ||
                h->record_left > RECORD_MOST_BYTES)
                return false;
        }
        size_t here = n < h->record_left ? n : h->record_left;
        if (h->record[0] == RECORD_HANDSHAKE && !take_messages(h, bytes, here))
            return false;
        bytes += here;
        n -= here;
        h->record_left -= here;
        if (h->record_left > 0)
            continue;
        h->is_encrypted =
            h->record[0] == RECORD_LAST || (h->record[0] == RECORD_CHANGE_CIPHER && !is_13);
        h->record_n = 0;
    }
    return true;
}

size_t hello_record_bytes(const uint8_t header[HELLO_RECORD_HEADER_BYTES])
{
    size_t n = (size_t)header[3] << 8 | header[4];
    if (header[0] != RECORD_HANDSHAKE || n > HELLO_MOST_BYTES)
        return 0;
    return HELLO_RECORD_HEADER_BYTES + n;
}
