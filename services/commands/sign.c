/* SPDX-License-Identifier: MIT
 * sign.c - `parley sign`: prints a URL with User, Nonce and Hash added, so that curl and scripts
 * can talk to a node without a line of cryptography. The signature proves who sends a request; it
 * covers neither the method nor the path nor the body (/openapi.yaml), so the URL is kept as it
 * is except for the three parameters. Nothing is sent from here. A path alone is put after the node
 * of --url or of the login, if there is one. */
#include "services/commands/commands.h"

#include "shared/auth/login.h"
#include "shared/auth/signed.h"
#include "shared/base/config.h"
#include "shared/http/client/endpoint.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>

enum { URL_MAX_BYTES = 65536, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static const struct config_group sign_options = {
    "Flags",
    (const struct config_option[]){
        OPTION_TEXT("url", "URL[,URL...]", NULL,
                    "The node that is put in front of a path: the first, if there are "
                    "several. Unset: that of parley login, and without one a path is printed "
                    "as a path."),
        OPTION_CHOICE("method", "GET|POST|PUT|DELETE|DEL", "GET",
                      "The method that the URL is for. It has no effect, because the signature "
                      "does not cover the method: it only makes scripts easier to read."),
        {0}}};

static int refuse(const char *reason)
{
    fprintf(stderr, "parley: %s (see parley sign --help)\n", reason);
    return EXIT_USAGE;
}

/* Splits `url` in front of its query and its fragment. `query` comes without '?', `fragment` with
 * '#'; `query.at` is NULL when there is no '?'. */
static void split_url(struct str url, struct str *ret_base, struct str *ret_query,
                      struct str *ret_fragment)
{
    const char *hash = memchr(url.at, '#', url.n);
    size_t n = hash == NULL ? url.n : (size_t)(hash - url.at);
    *ret_fragment = (struct str){url.at + n, url.n - n};
    struct str rest = {url.at, n};
    *ret_base = str_cut(&rest, '?');
    *ret_query = rest;
}

/* The part of `base` from the path on; `at == NULL` when it is neither absolute nor a path. */
static struct str find_path(struct str base)
{
    if (str_has_prefix(base, STR("/")))
        return base;
    const char *scheme_end = memmem(base.at, base.n, "://", 3);
    if (scheme_end == NULL || scheme_end == base.at)
        return (struct str){NULL, 0};
    const char *host = scheme_end + 3, *end = base.at + base.n;
    const char *path = memchr(host, '/', (size_t)(end - host));
    if (host == end || path == host)
        return (struct str){NULL, 0};
    return path == NULL ? (struct str){end, 0} : (struct str){path, (size_t)(end - path)};
}

static bool is_signed_already(struct str query)
{
    while (query.at != NULL) {
        struct str pair = str_cut(&query, '&');
        struct str name = str_cut(&pair, '=');
        if (str_eq(name, STR("User")) || str_eq(name, STR("Nonce")) || str_eq(name, STR("Hash")))
            return true;
    }
    return false;
}

static const char *find_fault(struct str url)
{
    if (url.n > URL_MAX_BYTES / 2)
        return "the URL is longer than 32768 bytes";
    for (size_t i = 0; i < url.n; i++) {
        unsigned char c = (unsigned char)url.at[i];
        if (c <= ' ' || c >= 0x7f)
            return "the URL contains white space, a control character or a non-ASCII letter: "
                   "percent-encode it";
    }
    struct str base, query, fragment;
    split_url(url, &base, &query, &fragment);
    if (find_path(base).at == NULL)
        return "the URL must look like http://host/path or /path";
    if (is_signed_already(query))
        return "the URL already has User, Nonce or Hash in its query";
    return NULL;
}

static void put_signed(struct buf *out, struct str url, struct str user, struct str secret)
{
    struct str base, query, fragment;
    split_url(url, &base, &query, &fragment);
    buf_put(out, base);
    if (find_path(base).n == 0)
        buf_put_char(out, '/');
    buf_put_char(out, '?');
    buf_put(out, query);
    if (query.n > 0 && query.at[query.n - 1] != '&')
        buf_put_char(out, '&');
    signed_put_query(out, user, secret);
    buf_put(out, fragment);
    buf_put_char(out, '\n');
}

static int print_signed(const struct config *config, struct str url)
{
    char *secret = login_read_secret(config);
    struct str user = str_of(config_text(config, "user"));
    if (secret == NULL)
        return EXIT_FAILED;
    struct buf out;
    buf_init(&out, URL_MAX_BYTES);
    put_signed(&out, url, user, str_of(secret));
    OPENSSL_cleanse(secret, strlen(secret));
    free(secret);
    bool ok = fwrite(out.at, 1, out.n, stdout) == out.n && fflush(stdout) == 0;
    if (!ok)
        fprintf(stderr, "parley: cannot write the URL: %s\n", strerror(errno));
    buf_fini(&out);
    return ok ? 0 : EXIT_FAILED;
}

/* The argument, after the node if it is a path. */
static void put_whole(struct buf *whole, const struct config *config)
{
    struct str url = str_of(config->arguments[0]);
    const char *node = config_text(config, "url");
    struct str rest = str_of(node == NULL ? "" : node);
    if (str_has_prefix(url, STR("/")))
        buf_put(whole, http_base_url(str_trim(str_cut(&rest, ','))));
    buf_put(whole, url);
}

static int run_sign(const struct config *config)
{
    struct buf whole;
    if (config->argument_n != 1)
        return refuse(config->argument_n == 0 ? "which URL?" : "give one URL at a time");
    buf_init(&whole, URL_MAX_BYTES);
    put_whole(&whole, config);
    if (whole.at == NULL)
        return refuse("the URL is empty");
    struct str base, query, fragment, url = buf_str(&whole);
    const char *fault = find_fault(url);
    if (fault == NULL) {
        split_url(url, &base, &query, &fragment);
        bool is_path = str_has_prefix(base, STR("/"));
        fault = login_fault_of_url(config, is_path ? STR("") : base);
    }
    int code = fault != NULL ? refuse(fault) : print_signed(config, url);
    buf_fini(&whole);
    return code;
}

const struct command sign_command = {
    .name = "sign",
    .summary = "print a URL with User, Nonce and Hash added",
    .about =
        "usage: parley sign [--user NAME --secret-file FILE] URL\n"
        "\n"
        "Prints URL with the query parameters User, Nonce and Hash added. The result is a signed\n"
        "request that can be used once. Hash is the SHA-256 of \"User Nonce secret\", Nonce is\n"
        "random. Existing query parameters are kept, and a fragment stays at the end. Nothing is\n"
        "sent.\n"
        "\n"
        "URL is absolute (http://host:8080/api/login) or a path (/api/login), which is put after\n"
        "the node of --url or of parley login. Percent-encode characters that a URL cannot\n"
        "contain, and quote the URL, because the shell interprets '&' and '?'.\n"
        "\n",
    .more =
        "\n"
        "Examples:\n"
        "  Get a token, after parley login:\n"
        "    curl \"$(parley sign /api/login)\"\n"
        "  Ask a question and wait up to 30 seconds for its answer:\n"
        "    curl -d '{\"Topic\":\"t1\",\"User\":\"User_1\",\"Query\":\"What is a lease?\"}' \\\n"
        "        \"$(parley sign '/api/add-query?Wait=30')\"\n"
        "  Get the answer of an earlier question, as another account:\n"
        "    curl \"$(parley sign --user User_2 --secret-file user_2.secret \\\n"
        "        'http://127.0.0.1:8080/api/check-query?Topic=t1&Seq=1&Wait=30')\"\n"
        "  Read the secret from a pipe, so that it is in no file:\n"
        "    pass show parley/user_1 | parley sign --user User_1 --secret-file /dev/stdin /api/me\n"
        "\n"
        "Exit status: 0 printed; 1 the secret cannot be read or the result cannot be written;\n"
        "2 wrong usage.\n",
    .groups = (const struct config_group *const[]){&signed_options, &login_file_options,
                                                   &sign_options, NULL},
    .run = run_sign,
};
