/* SPDX-License-Identifier: MIT
 *
 * trace: the two names by which a request is followed through logs and processes: the request id
 * (X-Request-Id) and W3C Trace Context's `traceparent`. Pure functions, any thread.
 */
#ifndef PARLEY_BASE_TRACE_H
#define PARLEY_BASE_TRACE_H

#include "shared/base/str.h"

enum { TRACE_REQUEST_ID_MAX = 128, TRACE_ID_BYTES = 32 };

/* Returns whether a client's request id is used as it is: 1 to 128 printable ASCII characters
 * except space, quotes, backslash, '<', '>' and '&'. It can then be in a header, in JSON and in
 * HTML. */
bool trace_is_request_id(struct str id);
/* Returns whether it is a traceparent: version, trace, span and flags in lower-case hex (W3C Trace
 * Context, 3.2), at most 128 bytes for versions that add fields. Neither trace nor span is all
 * zeros. */
bool trace_is_parent(struct str traceparent);
/* The 32 digits that all parts of a trace share. `traceparent` must be one. Borrows from it. */
struct str trace_id_of(struct str traceparent);

#endif
