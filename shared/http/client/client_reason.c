/* SPDX-License-Identifier: MIT
 * client_reason.c - see client_reason.h. */
#include "shared/http/client/client_reason.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLACE_BYTES = 280 };

struct failed {
    CURL *easy;
    const char *error;
    char place[PLACE_BYTES]; /* HOST:PORT */
    char host[PLACE_BYTES];
    bool is_tls;
};

static void read_place(struct failed *f)
{
    char *url = NULL, *host = NULL, *port = NULL, *scheme = NULL;
    CURLU *parts = curl_url();
    snprintf(f->place, sizeof f->place, "the server");
    if (parts == NULL)
        abort();
    if (curl_easy_getinfo(f->easy, CURLINFO_EFFECTIVE_URL, &url) == CURLE_OK && url != NULL &&
        curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK) {
        snprintf(f->place, sizeof f->place, "%.255s:%s", host, port);
        snprintf(f->host, sizeof f->host, "%.255s", host);
        f->is_tls = strcmp(scheme, "https") == 0;
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parts);
}

static void put_connect(const struct failed *f, char *reason)
{
    long number = 0;
    curl_easy_getinfo(f->easy, CURLINFO_OS_ERRNO, &number);
    if (number == ECONNREFUSED)
        snprintf(reason, CLIENT_REASON_BYTES,
                 "nothing listens at %s (connection refused): start it, or correct the address",
                 f->place);
    else
        snprintf(reason, CLIENT_REASON_BYTES, "%s cannot be reached: %s", f->place,
                 number == 0 ? f->error : strerror((int)number));
}

static void put_timeout(const struct failed *f, char *reason)
{
    curl_off_t connected_us = 0;
    curl_easy_getinfo(f->easy, CURLINFO_PRETRANSFER_TIME_T, &connected_us);
    snprintf(reason, CLIENT_REASON_BYTES,
             connected_us == 0
                 ? "%s did not accept the connection in time: correct the address, or "
                   "look for a firewall"
                 : "%s did not respond in time",
             f->place);
}

static bool has(const struct failed *f, const char *words)
{
    return strstr(f->error, words) != NULL;
}

/* Recognises what OpenSSL finds where it expects TLS; its words depend on its version. */
static bool is_plain_http(const struct failed *f)
{
    return has(f, "wrong version number") || has(f, "unknown protocol") ||
           has(f, "packet length too long") || has(f, "http request") ||
           has(f, "record layer failure");
}

static void put_tls(const struct failed *f, char *reason)
{
    if (is_plain_http(f))
        snprintf(reason, CLIENT_REASON_BYTES,
                 "%s speaks HTTP without TLS: use http:// instead of "
                 "https://",
                 f->place);
    else
        snprintf(reason, CLIENT_REASON_BYTES, "no TLS connection with %s: %s", f->place, f->error);
}

static void put_certificate(const struct failed *f, char *reason)
{
    static const char prefix[] = "SSL certificate problem: ";
    const char *error = f->error;
    if (strncmp(error, prefix, sizeof prefix - 1) == 0)
        error += sizeof prefix - 1;
    if (has(f, "subject name") || has(f, "does not match"))
        snprintf(reason, CLIENT_REASON_BYTES,
                 "the certificate of %s is for another name: use a host name that is in it",
                 f->place);
    else
        snprintf(reason, CLIENT_REASON_BYTES,
                 "the certificate of %s is not accepted (%s): set --ca-file to the file of its "
                 "authority",
                 f->place, error);
}

/* The server answered something that is no HTTP, or nothing: as one does that waits for TLS. */
static void put_no_http(const struct failed *f, const char *what, char *reason)
{
    snprintf(reason, CLIENT_REASON_BYTES, "%s %s%s", f->place, what,
             f->is_tls ? "" : ": if it takes TLS, use https:// instead of http://");
}

bool client_wants_tls(CURL *easy, struct str body, char reason[CLIENT_REASON_BYTES])
{
    static const char *const words[] = {"takes HTTPS only", "sent to HTTPS port",
                                        "to an SSL-enabled server port"};
    struct failed f = {.easy = easy, .error = ""};
    bool is_there = false;
    for (size_t i = 0; body.n > 0 && i < sizeof words / sizeof *words; i++)
        is_there = is_there || str_holds(body, str_of(words[i]));
    read_place(&f);
    if (is_there)
        snprintf(reason, CLIENT_REASON_BYTES, "%s takes TLS: use https:// instead of http://",
                 f.place);
    return is_there && !f.is_tls;
}

void client_put_reason(CURL *easy, CURLcode code, const char *error,
                       char reason[CLIENT_REASON_BYTES])
{
    struct failed f = {.easy = easy, .error = error[0] != 0 ? error : curl_easy_strerror(code)};
    read_place(&f);
    switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
        snprintf(reason, CLIENT_REASON_BYTES,
                 "the host name of the proxy is unknown: correct http_proxy or https_proxy in the "
                 "environment");
        break;
    case CURLE_COULDNT_RESOLVE_HOST:
        snprintf(reason, CLIENT_REASON_BYTES,
                 "the host name %s is unknown: correct it, or its entry in DNS", f.host);
        break;
    case CURLE_COULDNT_CONNECT: put_connect(&f, reason); break;
    case CURLE_OPERATION_TIMEDOUT: put_timeout(&f, reason); break;
    case CURLE_PEER_FAILED_VERIFICATION: put_certificate(&f, reason); break;
    case CURLE_SSL_CONNECT_ERROR: put_tls(&f, reason); break;
    case CURLE_GOT_NOTHING:
        put_no_http(&f, "closed the connection without a response", reason);
        break;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
        if (has(&f, "HTTP/0.9") || code == CURLE_WEIRD_SERVER_REPLY) {
            put_no_http(&f, "does not speak HTTP", reason);
            break;
        }
        /* fall through */
    default: snprintf(reason, CLIENT_REASON_BYTES, "%s: %s", f.place, f.error);
    }
}
