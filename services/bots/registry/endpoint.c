/* SPDX-License-Identifier: MIT
 * endpoint.c - see endpoint.h. A URL is read by the library that will call it (libcurl), so both
 * find the same host in it: it knows 0x7f.1, 2130706433 and 127.1 as one address, and says so.
 *
 * A URL is one spelling only: what it means must not depend on who reads it, so spaces, control
 * characters, backslashes and bytes past ASCII are refused. */
#include "services/bots/registry/endpoint.h"

#include "shared/http/client/private_address.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdlib.h>

static const struct str model_prefix = {"parley:", 7};

enum endpoint_kind endpoint_kind_of(struct str endpoint)
{
    if (endpoint.n == 0)
        return ENDPOINT_PULLS;
    return str_has_prefix(endpoint, model_prefix) ? ENDPOINT_MODEL : ENDPOINT_HTTP;
}

struct str endpoint_model(struct str endpoint)
{
    return (struct str){endpoint.at + model_prefix.n, endpoint.n - model_prefix.n};
}

static const char *check_model(struct str model)
{
    if (model.n < 1 || model.n > ENDPOINT_MODEL_MAX_BYTES || !str_is_utf8(model))
        return "endpoint: after `parley:` comes the name of a model, 1 to 128 bytes.";
    for (size_t i = 0; i < model.n; i++)
        if ((unsigned char)model.at[i] <= ' ' || model.at[i] == 0x7f)
            return "endpoint: the name of a model has no white space or control character.";
    return NULL;
}

/* `host` as libcurl writes it: an IPv6 address in brackets, IPv4 in four decimal parts. */
static bool is_private_host(const char *host)
{
    unsigned char address[16];
    char text[INET6_ADDRSTRLEN + 2];
    size_t n = strlen(host);
    if (n > 1 && host[n - 1] == '.') /* the root of names: it resolves to the same */
        n--;
    bool is_v6 = n > 2 && host[0] == '[' && host[n - 1] == ']';
    if (is_v6) {
        host++;
        n -= 2;
    }
    struct str name = {host, n};
    static const struct str local = {".localhost", 10};
    if (str_eq_nocase(name, STR("localhost")) ||
        (n > local.n && str_eq_nocase((struct str){name.at + n - local.n, local.n}, local)))
        return true;
    if (n >= sizeof text)
        return false;
    memcpy(text, host, n);
    text[n] = 0;
    if (is_v6)
        return inet_pton(AF_INET6, text, address) != 1 ||
               http_address_is_private(AF_INET6, address);
    return inet_pton(AF_INET, text, address) == 1 && http_address_is_private(AF_INET, address);
}

static bool has_part(CURLU *url, CURLUPart part)
{
    char *value = NULL;
    bool has = curl_url_get(url, part, &value, 0) == CURLUE_OK;
    curl_free(value);
    return has;
}

static const char *check_parts(CURLU *url, bool allows_private)
{
    char *host = NULL;
    const char *fault = NULL;
    if (has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD) ||
        has_part(url, CURLUPART_OPTIONS))
        return "endpoint: a URL must not contain credentials: our calls are signed.";
    if (has_part(url, CURLUPART_FRAGMENT))
        return "endpoint: a URL must not have a fragment (`#`).";
    if (curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK || host[0] == 0)
        fault = "endpoint: the URL has no host.";
    else if (!allows_private && is_private_host(host))
        fault = "endpoint: the URL leads to a private address: use a public one, or register a "
                "bot without an endpoint, which pulls. Operators allow private addresses with "
                "--allow-private-endpoints.";
    curl_free(host);
    return fault;
}

static const char *check_url(struct str text, bool allows_private)
{
    static const char *const bad = "endpoint takes an http:// or https:// URL, `parley:` and a "
                                   "model, or nothing for a bot that pulls.";
    if (text.n > BOT_ENDPOINT_MAX_BYTES)
        return "endpoint: a URL has at most 2000 bytes.";
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.at[i] <= ' ' || (unsigned char)text.at[i] >= 0x7f ||
            text.at[i] == '\\')
            return "endpoint: a URL has no white space, control character, backslash or character "
                   "past ASCII: encode them.";
    bool is_http = (text.n > 7 && str_eq_nocase((struct str){text.at, 7}, STR("http://"))) ||
                   (text.n > 8 && str_eq_nocase((struct str){text.at, 8}, STR("https://")));
    /* libcurl takes "https:///host" for a host that is misspelt. */
    if (!is_http || text.at[str_eq_nocase((struct str){text.at, 5}, STR("https")) ? 8 : 7] == '/')
        return bad;
    char *copy = str_copy(text);
    CURLU *url = curl_url();
    if (url == NULL)
        abort();
    const char *fault = curl_url_set(url, CURLUPART_URL, copy, 0) == CURLUE_OK
                            ? check_parts(url, allows_private)
                            : bad;
    curl_url_cleanup(url);
    free(copy);
    return fault;
}

const char *endpoint_check(struct str endpoint, bool allows_private, enum endpoint_kind *ret_kind)
{
    enum endpoint_kind kind = endpoint_kind_of(endpoint);
    const char *fault = NULL;
    if (kind == ENDPOINT_MODEL)
        fault = check_model(endpoint_model(endpoint));
    else if (kind == ENDPOINT_HTTP)
        fault = check_url(endpoint, allows_private);
    if (fault == NULL)
        *ret_kind = kind;
    return fault;
}
