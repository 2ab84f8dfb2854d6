/* SPDX-License-Identifier: MIT
 *
 * respond: the only way to answer. It adds the common headers: request id, CORS, traceparent,
 * length and no-store by default; HEAD gets only the head. On the loop's thread. Each request is
 * answered once; a second answer is our own bug and aborts. An answer may be delayed by a round
 * trip to Redis while it waits for the request's nonce (respond.c).
 */
#ifndef PARLEY_HTTP_RESPOND_H
#define PARLEY_HTTP_RESPOND_H

#include "shared/http/request/html_frame.h"
#include "shared/http/request/request.h"

/* Answers with a JSON body, which is copied. A body that overflowed its buffer is incomplete, so it
 * is logged and answered with 500; callers need not check. tests/lint/buffers.pl ensures that no
 * answer bypasses this. */
void respond_json(struct request *r, int status, const struct buf *body);
void respond_text(struct request *r, int status, const char *content_type, const struct buf *body);
/* The same for JSON that was not built in a buffer: a constant or a short text. */
void respond_json_fixed(struct request *r, int status, struct str body);
/* Answers with an HTML page of this frame, and the policy that belongs to it. */
void respond_page(struct request *r, int status, const struct html_frame *frame, bool has_form,
                  const struct buf *page);
/* The policy alone, for a page that is sent otherwise. */
void respond_page_policy(struct request *r, const struct html_policy *policy);
/* An answer without a body. */
void respond_empty(struct request *r, int status);

/* Answers 200 with bytes that live as long as the process and are not copied. `etag`, in its
 * quotes, changes with them: a client that has them (If-None-Match) gets 304. Caches may store them
 * but must revalidate. */
void respond_constant(struct request *r, const char *content_type, struct str body,
                      const char *etag);
/* The same, but caches may keep the bytes for a year without asking: this address never has others.
 */
void respond_fixed(struct request *r, const char *content_type, struct str body, const char *etag);
/* Returns whether If-None-Match names `etag` (RFC 9110, 13.1.2: compared weakly). Pure. */
bool respond_etag_is_in(struct str list, struct str etag);

/* Answers with an error: a page if the request prefers one, otherwise in the form that the route's
 * row names (problem.h). `detail`: NULL for the
 * text of the error table. */
void respond_error(struct request *r, enum err error, const char *detail);
/* The same with more: `members` is put into the object as it is ("\"depth\":5", NULL for none),
 * `retry_after_s` becomes a header when it is not 0. */
void respond_error_more(struct request *r, enum err error, const char *detail, const char *members,
                        unsigned retry_after_s);
/* Sends the answer that is held for the request's nonce. */
void respond_held(struct request *r);
/* Answers with an error, instead of an answer that is held for its nonce, if there is one. */
void respond_instead(struct request *r, enum err error);
void respond_header(struct request *r, const char *name, struct str value);

/* Starts a streamed answer, usually of events; the request's nonce must be used up. The caller then
 * uses h2o_send on r->exchange.h2o with `generator`. */
void respond_start_stream(struct request *r, const char *content_type, h2o_generator_t *generator);
/* The same for a file that is generated while it is sent (download.h). */
void respond_start_download(struct request *r, const char *content_type, const char *disposition,
                            h2o_generator_t *generator);
/* Counts the request and adds the common headers; the caller then lets libh2o write 101 Switching
 * Protocols (websocket.c). */
void respond_start_upgrade(struct request *r);
/* False if origins are listed and the request comes from another one. */
bool respond_allows_origin(struct request *r);

#endif
