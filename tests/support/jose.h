/* SPDX-License-Identifier: MIT
 *
 * jose: keys and tokens for tests, made by OpenSSL alone, to be independent of the code under test
 * and of its library. Header-only. Everything is put into bufs of the caller.
 */
#ifndef PARLEY_TESTS_SUPPORT_JOSE_H
#define PARLEY_TESTS_SUPPORT_JOSE_H

#include "shared/base/buf.h"

#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <stdio.h>

static inline void jose_put_bytes(struct buf *b, const void *bytes, size_t n)
{
    char *at = buf_reserve(b, n * 4 / 3 + 5);
    assert(at != NULL);
    int chars = EVP_EncodeBlock((unsigned char *)at, bytes, (int)n);
    for (int i = 0; i < chars; i++)
        at[i] = (char)(at[i] == '+' ? '-' : at[i] == '/' ? '_' : at[i]);
    while (chars > 0 && at[chars - 1] == '=')
        chars--;
    b->n += (size_t)chars;
}

static inline void jose_put_number(struct buf *b, const EVP_PKEY *key, const char *param, int width)
{
    unsigned char bytes[1024];
    BIGNUM *number = NULL;
    int ok = EVP_PKEY_get_bn_param(key, param, &number);
    assert(ok == 1);
    int n = width > 0 ? width : BN_num_bytes(number);
    ok = BN_bn2binpad(number, bytes, n);
    assert(ok == n);
    jose_put_bytes(b, bytes, (size_t)n);
    BN_free(number);
}

/* The bytes of a coordinate, 0 for RSA. */
static inline int jose_width(const EVP_PKEY *key)
{
    return EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA ? 0 : (EVP_PKEY_get_bits(key) + 7) / 8;
}

/* Puts the public key as a JWK; `more` is put into the object as it is (",\"kid\":\"a\""). */
static inline void jose_put_jwk(struct buf *b, const EVP_PKEY *key, const char *more)
{
    int width = jose_width(key);
    if (width == 0) {
        buf_lit(b, "{\"kty\":\"RSA\",\"n\":\"");
        jose_put_number(b, key, OSSL_PKEY_PARAM_RSA_N, 0);
        buf_lit(b, "\",\"e\":\"");
        jose_put_number(b, key, OSSL_PKEY_PARAM_RSA_E, 0);
    } else {
        buf_printf(b, "{\"kty\":\"EC\",\"crv\":\"P-%d\",\"x\":\"", EVP_PKEY_get_bits(key));
        jose_put_number(b, key, OSSL_PKEY_PARAM_EC_PUB_X, width);
        buf_lit(b, "\",\"y\":\"");
        jose_put_number(b, key, OSSL_PKEY_PARAM_EC_PUB_Y, width);
    }
    buf_printf(b, "\"%s}", more);
}

/* r and s, each of `width` bytes, out of the DER that OpenSSL makes. */
static inline size_t jose_raw_signature(unsigned char *signature, size_t n, int width)
{
    const unsigned char *der = signature;
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)n);
    assert(pair != NULL);
    unsigned char raw[132];
    BN_bn2binpad(ECDSA_SIG_get0_r(pair), raw, width);
    BN_bn2binpad(ECDSA_SIG_get0_s(pair), raw + width, width);
    ECDSA_SIG_free(pair);
    memcpy(signature, raw, (size_t)width * 2);
    return (size_t)width * 2;
}

/* Signs what is in `b` as the algorithm `alg` ("RS256") says, and puts "." and the signature. */
static inline void jose_sign(struct buf *b, EVP_PKEY *key, const char *alg)
{
    unsigned char signature[1024];
    size_t n = sizeof signature;
    char digest[8];
    snprintf(digest, sizeof digest, "SHA%.3s", alg + 2);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_PKEY_CTX *key_context = NULL;
    int ok = EVP_DigestSignInit(context, &key_context, EVP_get_digestbyname(digest), NULL, key);
    if (ok == 1 && alg[0] == 'P')
        ok = EVP_PKEY_CTX_set_rsa_padding(key_context, RSA_PKCS1_PSS_PADDING) == 1 &&
             EVP_PKEY_CTX_set_rsa_pss_saltlen(key_context, RSA_PSS_SALTLEN_DIGEST) == 1;
    if (ok == 1)
        ok = EVP_DigestSign(context, signature, &n, (const unsigned char *)b->at, b->n);
    assert(ok == 1);
    EVP_MD_CTX_free(context);
    if (jose_width(key) != 0)
        n = jose_raw_signature(signature, n, jose_width(key));
    buf_put_char(b, '.');
    jose_put_bytes(b, signature, n);
}

/* Puts a whole token, whatever its header says, signed as `alg` says. */
static inline void jose_put_token(struct buf *b, struct str header, struct str payload,
                                  EVP_PKEY *key, const char *alg)
{
    jose_put_bytes(b, header.at, header.n);
    buf_put_char(b, '.');
    jose_put_bytes(b, payload.at, payload.n);
    jose_sign(b, key, alg);
}

#endif
