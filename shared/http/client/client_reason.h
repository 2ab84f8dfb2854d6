/* SPDX-License-Identifier: MIT
 *
 * client_reason: why libcurl had no response, in words that say what to do: for logs, and for the
 * person who typed the URL. The address is shown, and never the query, which may be a signature.
 */
#ifndef PARLEY_HTTP_CLIENT_REASON_H
#define PARLEY_HTTP_CLIENT_REASON_H

#include "shared/base/buf.h"

#include <curl/curl.h>

enum { CLIENT_REASON_BYTES = 640 };

/* Writes the reason for `code`, which is not CURLE_OK. `error` is the text of CURLOPT_ERRORBUFFER,
 * empty if there is none. */
void client_put_reason(CURL *easy, CURLcode code, const char *error,
                       char reason[CLIENT_REASON_BYTES]);

/* Returns whether a response with status 400 says that the address takes TLS, as nodes, nginx and
 * Apache say it to a client that speaks HTTP without; writes the reason. */
bool client_wants_tls(CURL *easy, struct str body, char reason[CLIENT_REASON_BYTES]);

#endif
