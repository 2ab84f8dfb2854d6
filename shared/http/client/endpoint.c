/* SPDX-License-Identifier: MIT
 * endpoint.c - see endpoint.h. The header with the key is built once, because every request needs
 * it; it is the only copy of the key except libcurl's during a call. */
#include "shared/http/client/endpoint.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>

bool http_is_base_url(struct str url)
{
    struct str host = {NULL, 0};
    if (str_has_prefix(url, STR("http://")))
        host = (struct str){url.at + 7, url.n - 7};
    else if (str_has_prefix(url, STR("https://")))
        host = (struct str){url.at + 8, url.n - 8};
    for (size_t i = 0; i < host.n; i++)
        if (host.at[i] == '?' || host.at[i] == '#' || host.at[i] == ' ')
            return false;
    host = str_cut(&host, '/');
    return host.n > 0 && memchr(host.at, '@', host.n) == NULL;
}

struct str http_base_url(struct str url)
{
    while (url.n > 0 && url.at[url.n - 1] == '/')
        url.n--;
    return url;
}

void http_endpoint_init(struct http_endpoint *endpoint, const char *base_url, const char *path,
                        const char *key)
{
    struct str base = http_base_url(str_of(base_url));
    *endpoint = (struct http_endpoint){0};
    if (asprintf(&endpoint->url, "%.*s%s", STR_ARG(base), path) < 0)
        abort();
    if (key != NULL && asprintf(&endpoint->authorization, "Authorization: Bearer %s", key) < 0)
        abort();
}

void http_endpoint_fini(struct http_endpoint *endpoint)
{
    if (endpoint->authorization != NULL)
        OPENSSL_cleanse(endpoint->authorization, strlen(endpoint->authorization));
    free(endpoint->authorization);
    free(endpoint->url);
    *endpoint = (struct http_endpoint){0};
}

struct http_call *http_endpoint_post(const struct http_endpoint *endpoint,
                                     struct http_client *client, const struct http_request *request,
                                     const struct http_events *events, void *context)
{
    enum { OWN = 2, MORE = 4 };
    const char *headers[OWN + MORE + 1] = {"Content-Type: application/json"}; /* NULL ends */
    size_t n = 1;
    struct http_request whole = *request;
    if (endpoint->authorization != NULL)
        headers[n++] = endpoint->authorization;
    for (size_t i = 0; request->headers != NULL && request->headers[i] != NULL; i++) {
        assert(i < MORE);
        headers[n++] = request->headers[i];
    }
    whole.method = "POST";
    whole.url = endpoint->url;
    whole.headers = headers;
    return http_call_start(client, &whole, events, context);
}

struct http_call *http_endpoint_get(const struct http_endpoint *endpoint,
                                    struct http_client *client, const struct http_request *request,
                                    const struct http_events *events, void *context)
{
    const char *headers[3] = {"Accept: application/json", endpoint->authorization};
    struct http_request whole = *request;
    whole.method = "GET";
    whole.url = endpoint->url;
    whole.headers = headers;
    return http_call_start(client, &whole, events, context);
}
