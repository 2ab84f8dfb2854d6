/* SPDX-License-Identifier: MIT
 * webhook.c - see webhook.h. */
#include "shared/http/client/webhook.h"

#include "shared/base/buf.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

bool webhook_read_secret(struct str secret, struct webhook_key *ret_key)
{
    enum { TEXT_MAX_BYTES = (WEBHOOK_KEY_MAX_BYTES + 2) / 3 * 4 };
    static const struct str prefix = {"whsec_", 6};
    unsigned char bytes[TEXT_MAX_BYTES];
    secret = str_trim(secret);
    if (!str_has_prefix(secret, prefix))
        return false;
    secret = (struct str){secret.at + prefix.n, secret.n - prefix.n};
    if (secret.n == 0 || secret.n % 4 != 0 || secret.n > TEXT_MAX_BYTES)
        return false;
    int n = EVP_DecodeBlock(bytes, (const unsigned char *)secret.at, (int)secret.n);
    /* It counts what padding stands for. */
    for (size_t i = secret.n; n > 0 && i > secret.n - 2 && secret.at[i - 1] == '='; i--)
        n--;
    bool is_good = n >= WEBHOOK_KEY_MIN_BYTES && n <= WEBHOOK_KEY_MAX_BYTES;
    if (is_good) {
        memcpy(ret_key->bytes, bytes, (size_t)n);
        ret_key->n = (size_t)n;
    }
    OPENSSL_cleanse(bytes, sizeof bytes);
    return is_good;
}

void webhook_sign(const struct webhook_key *key, struct str id, uint64_t timestamp, struct str body,
                  char ret_signature[WEBHOOK_SIGNATURE_BYTES + 1])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    struct buf content;
    buf_init(&content, SIZE_MAX / 2);
    buf_put(&content, id);
    buf_put_char(&content, '.');
    buf_put_u64(&content, timestamp);
    buf_put_char(&content, '.');
    buf_put(&content, body);
    HMAC(EVP_sha256(), key->bytes, (int)key->n, (const unsigned char *)content.at, content.n,
         digest, &n);
    memcpy(ret_signature, "v1,", 3);
    EVP_EncodeBlock((unsigned char *)ret_signature + 3, digest, (int)n);
    buf_fini(&content);
}
