/* SPDX-License-Identifier: MIT
 *
 * respond: the only way to answer. Adds what every answer carries: request id, CORS, traceparent,
 * lengths, no caching. On the loop's thread; each request is answered once (a second answer aborts:
 * our own bug).
 */
#ifndef PARLEY_HTTP_RESPOND_H
#define PARLEY_HTTP_RESPOND_H

#include "shared/http/request.h"

/* Answers with a JSON body, which is copied. */
void respond_json(struct request *r, int status, struct str body);
void respond_text(struct request *r, int status, const char *content_type, struct str body);

/* Answers with a problem document. `detail`: NULL for the text of the error table. */
void respond_error(struct request *r, enum err error, const char *detail);
/* The same with more: `members` is put into the object as it is ("\"depth\":5", NULL for none),
 * `retry_after_s` becomes a header when it is not 0. */
void respond_error_more(struct request *r, enum err error, const char *detail, const char *members,
                        unsigned retry_after_s);
void respond_header(struct request *r, const char *name, struct str value);

/* Starts a streamed answer (SSE); the caller then uses h2o_send on r->h2o with `generator`. */
void respond_start_stream(struct request *r, h2o_generator_t *generator);
/* Counts the request and puts what every answer carries; the caller then lets libh2o write 101
 * Switching Protocols (websocket.c). */
void respond_start_upgrade(struct request *r);
/* False when origins are listed and the request comes from another one. */
bool respond_allows_origin(struct request *r);

#endif
