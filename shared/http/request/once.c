/* SPDX-License-Identifier: MIT
 * once.c - see once.h. */
#include "shared/http/request/once.h"

#include "generated/verbs.h"
#include "shared/http/request/multipart.h"
#include "shared/http/request/respond.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIGEST_BYTES = 16,
    NAME_MAX_BYTES = 1024,
    KEY_MAX_BYTES = 2 * DIGEST_BYTES + 1 + NAME_MAX_BYTES,
    STEP_BYTES = 1 << 20 /* half a millisecond */
};

/* In the request's pool. */
struct once {
    struct str given; /* the header */
    EVP_MD_CTX *digest;
    struct str rest, boundary; /* of the body; boundary.n == 0: it is no form */
    struct str key;            /* n == 0: not all is read yet */
    bool is_bound;             /* to this request, on the key's shard */
    handler *then;             /* once it is */
};

/* --- what was asked --------------------------------------------------------------------------- */

static void add(struct once *once, struct str text)
{
    if (EVP_DigestUpdate(once->digest, text.at, text.n) != 1)
        abort();
}

static struct once *begin(struct request *r, struct str given)
{
    struct once *once = request_alloc(r, sizeof *once);
    struct str user = request_param(r, "OnBehalfOf");
    const char *reason;
    *once = (struct once){.given = given,
                          .digest = EVP_MD_CTX_new(),
                          .rest = {r->exchange.h2o->entity.base, r->exchange.h2o->entity.len}};
    if (once->digest == NULL || EVP_DigestInit_ex(once->digest, EVP_sha256(), NULL) != 1)
        abort();
    if (!multipart_boundary(request_header(r, "content-type"), &once->boundary, &reason))
        once->boundary = STR("");
    add(once, str_of(r->route->method));
    add(once, r->path);
    add(once, (struct str){"", 1});
    add(once, user.at == NULL ? STR("") : user);
    add(once, (struct str){"", 1});
    return once;
}

/* Up to the next boundary, which is left out, or as much as one step takes. */
static size_t add_part(struct once *once)
{
    struct str rest = once->rest, mark = once->boundary;
    size_t n = rest.n < STEP_BYTES ? rest.n : STEP_BYTES, cut = 0;
    size_t seen = rest.n < STEP_BYTES + mark.n ? rest.n : STEP_BYTES + mark.n;
    const char *at = mark.n == 0 ? NULL : memmem(rest.at, seen, mark.at, mark.n);
    if (at != NULL) {
        n = (size_t)(at - rest.at);
        cut = mark.n;
    }
    add(once, (struct str){rest.at, n});
    once->rest = (struct str){rest.at + n + cut, rest.n - n - cut};
    return n + cut;
}

static void end_digest(struct request *r, struct once *once)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    char hex[2 * DIGEST_BYTES + 1];
    struct buf key;
    if (EVP_DigestFinal_ex(once->digest, bytes, NULL) != 1)
        abort();
    str_hex(bytes, DIGEST_BYTES, hex);
    buf_init(&key, KEY_MAX_BYTES);
    buf_printf(&key, "%s %.*s:", hex, STR_ARG(r->account->name_token));
    buf_put_name(&key, once->given);
    once->key = request_copy(r, buf_str(&key));
    buf_fini(&key);
}

bool once_read_some(struct request *r)
{
    struct str given = request_header(r, "idempotency-key");
    size_t n = 0;
    if (!r->route->takes_key || r->account == NULL || given.n == 0)
        return false;
    if (r->once == NULL)
        r->once = begin(r, given);
    if (r->once->key.n > 0)
        return false;
    while (n < STEP_BYTES && r->once->rest.n > 0)
        n += add_part(r->once);
    if (r->once->rest.n > 0)
        return true;
    end_digest(r, r->once);
    return false;
}

void once_fini(struct request *r)
{
    if (r->once != NULL)
        EVP_MD_CTX_free(r->once->digest);
}

/* --- the key ---------------------------------------------------------------------------------- */

struct str once_key(const struct request *r)
{
    return r->once == NULL ? STR("") : r->once->key;
}

void once_id(struct str key, size_t bytes, char *ret_hex)
{
    unsigned char digest[SHA_DIGEST_LENGTH];
    if (key.n == 0) {
        str_random_hex(bytes, ret_hex);
        return;
    }
    SHA1((const unsigned char *)key.at, key.n, digest);
    str_hex(digest, bytes, ret_hex);
}

/* --- of several shards ------------------------------------------------------------------------ */

bool once_must_bind(const struct request *r)
{
    return r->once != NULL && r->server->shards->n > 1 && !r->once->is_bound;
}

static void on_bound(struct request *r, enum err error, struct str reply)
{
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
    } else if (str_eq(reply, STR("mismatch"))) {
        respond_error(r, ERR_IDEMPOTENCY, NULL);
    } else {
        r->once->is_bound = true;
        r->once->then(r);
    }
}

void once_bind(struct request *r, handler *then)
{
    r->once->then = then;
    struct str name = r->once->key, digest = str_cut(&name, ' ');
    call_bind_key(request_call(r, on_bound), .key = name, .digest = digest);
}

void once_unbind(struct request *r)
{
    if (r->once == NULL || !r->once->is_bound)
        return;
    struct str name = r->once->key, digest = str_cut(&name, ' ');
    r->once->is_bound = false;
    call_unbind_key(shards_forget(r->server->shards), .key = name, .digest = digest);
}
