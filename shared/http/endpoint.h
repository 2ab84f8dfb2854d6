/* SPDX-License-Identifier: MIT
 *
 * endpoint: one address of a server's JSON API, with the key that it wants: a base URL such as
 * http://host:11434/v1, a path behind it, and a bearer token. It says where requests go and who
 * sends them; calls, time limits and callbacks are those of the client (client.h).
 *
 * One per address that is called; owned by the caller. Read-only once it is set up, so any
 * number of threads may use one at the same time, each with its own client.
 */
#ifndef PARLEY_HTTP_ENDPOINT_H
#define PARLEY_HTTP_ENDPOINT_H

#include "shared/http/client.h"

struct http_endpoint {
    char *url;
    char *authorization; /* a header; NULL without a key */
};

/* Whether paths can follow it: http or https, a host, and no user, query or fragment. A password in
 * a URL would be in logs and in what settings print. */
bool http_is_base_url(struct str url) must_check;
/* Without the slashes at its end, so that a path can follow. Borrows from `url`. */
struct str http_base_url(struct str url);

/* Copies everything. `path` begins with a slash; `key` may be NULL. Neither is checked: a URL that
 * makes no sense is HTTP_BAD_URL in the response. */
void http_endpoint_init(struct http_endpoint *endpoint, const char *base_url, const char *path,
                        const char *key);
/* Wipes the key. Calls under way may go on. Zeroed storage is fine. */
void http_endpoint_fini(struct http_endpoint *endpoint);

/* Starts a GET: `request` gives the limits. Otherwise as http_call_start. */
struct http_call *http_endpoint_get(const struct http_endpoint *endpoint,
                                    struct http_client *client, const struct http_request *request,
                                    const struct http_events *events, void *context) must_check;
/* Starts a POST of JSON: `request` gives the body and the limits, and at most one header of its
 * own; its URL and method are not looked at. Otherwise as http_call_start. */
struct http_call *http_endpoint_post(const struct http_endpoint *endpoint,
                                     struct http_client *client, const struct http_request *request,
                                     const struct http_events *events, void *context) must_check;

#endif
