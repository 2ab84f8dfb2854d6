/* SPDX-License-Identifier: MIT
 *
 * endpoint: one address of a server's JSON API with its key: a base URL such as
 * http://host:11434/v1, a path after it, and a bearer token. Calls, timeouts and callbacks are
 * those of the client (client.h).
 *
 * One per address that is called; owned by the caller. Read-only once it is set up, so any
 * number of threads may use one at the same time, each with its own client.
 */
#ifndef PARLEY_HTTP_ENDPOINT_H
#define PARLEY_HTTP_ENDPOINT_H

#include "shared/http/client/client.h"

struct http_endpoint {
    char *url;
    char *authorization; /* a header; NULL without a key */
};

/* Returns whether `url` can be a base URL: http or https, a host, and no user, query or fragment. A
 * password in a URL would appear in logs and printed settings. */
bool http_is_base_url(struct str url) must_check;
/* Returns `url` without trailing slashes, so that a path can follow. Borrows from `url`. */
struct str http_base_url(struct str url);

/* Copies everything. `path` begins with a slash; `key` may be NULL. Neither is checked: an invalid
 * URL gives HTTP_BAD_URL. */
void http_endpoint_init(struct http_endpoint *endpoint, const char *base_url, const char *path,
                        const char *key);
/* Wipes the key. Running calls continue. Accepts zeroed storage. */
void http_endpoint_fini(struct http_endpoint *endpoint);

/* Starts a GET: `request` gives the limits. Otherwise as http_call_start. */
struct http_call *http_endpoint_get(const struct http_endpoint *endpoint,
                                    struct http_client *client, const struct http_request *request,
                                    const struct http_events *events, void *context) must_check;
/* Starts a POST of JSON: `request` gives the body and the limits, and at most four headers; its URL
 * and method are ignored. Otherwise as http_call_start. */
struct http_call *http_endpoint_post(const struct http_endpoint *endpoint,
                                     struct http_client *client, const struct http_request *request,
                                     const struct http_events *events, void *context) must_check;

#endif
