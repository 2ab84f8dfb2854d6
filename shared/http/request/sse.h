/* SPDX-License-Identifier: MIT
 *
 * sse: reads server-sent events (HTML standard, section 9.2.6) from bytes that arrive in pieces cut
 * anywhere. What it gives does not depend on the cuts. Pure, single thread.
 */
#ifndef PARLEY_HTTP_SSE_H
#define PARLEY_HTTP_SSE_H

#include "shared/base/buf.h"

/* Receives one event: its type, empty unless the server named one, and its data, the lines joined
 * by newlines. Return false to stop. */
typedef bool (*sse_callback)(void *context, struct str type, struct str data);

struct sse {
    struct buf line, type, data, next_id; /* of the event that is being read */
    struct buf
        id; /* of the last whole event that had one, at most 128 bytes; a longer one is none */
    bool has_data, has_id, is_after_cr;
};

/* An event, and each of its lines, has at most `event_max_bytes`. */
void sse_init(struct sse *sse, size_t event_max_bytes);
void sse_fini(struct sse *sse);
/* The stream has broken off and comes again: what was read of an event is dropped, the id stays. */
void sse_begin_again(struct sse *sse);
/* Returns false if the callback stopped it or an event is too large. */
bool sse_feed(struct sse *sse, struct str bytes, sse_callback callback, void *context) must_check;
/* The whole body has come: its last event counts even if no empty line follows. */
void sse_finish(struct sse *sse, sse_callback callback, void *context);

#endif
