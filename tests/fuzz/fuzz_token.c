/* SPDX-License-Identifier: MIT
 * Any bytes as a token; and, since these never get past the MAC, any bytes as a payload that
 * carries the right one, both encoded and as they stand. The first byte of the input chooses. */
#include "shared/auth/token.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

enum { NOW = 1742864523, TEXT_BYTES = 24 << 10 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct token_key key = {.bytes = "a key for the fuzzer, 32 bytes.."};

static size_t encode(const uint8_t *bytes, size_t n, char *out)
{
    int chars = EVP_EncodeBlock((unsigned char *)out, bytes, (int)n);
    for (int i = 0; i < chars; i++)
        out[i] = (char)(out[i] == '+' ? '-' : out[i] == '/' ? '_' : out[i]);
    while (chars > 0 && out[chars - 1] == '=')
        chars--;
    return (size_t)chars;
}

static void verify(struct str token)
{
    struct token_claims claims = {.sub_n = SIZE_MAX};
    if (token_read(&key, token, NOW, &claims) != ERR_OK) {
        assert(claims.sub_n == SIZE_MAX);
        return;
    }
    assert(token.n <= TOKEN_MAX_BYTES);
    assert(claims.sub_n > 0 && claims.sub_n <= TOKEN_SUB_MAX_BYTES);
    assert((unsigned)claims.role < ROLE_NR && claims.expires_s + TOKEN_SKEW_S > NOW);

    /* What was accepted can be issued again and says the same. */
    struct token_claims again;
    struct buf b, json;
    buf_init(&json, 6 * TOKEN_SUB_MAX_BYTES + 2);
    buf_put_json(&json, token_sub(&claims));
    struct account account = {.name = token_sub(&claims),
                              .name_json = buf_str(&json),
                              .secret = STR("secret"),
                              .role = claims.role};
    buf_init(&b, TOKEN_MAX_BYTES);
    token_issue(&b, &key, &account, NOW, NOW, 1);
    assert(token_read(&key, buf_str(&b), NOW, &again) == ERR_OK);
    assert(str_eq(token_sub(&again), token_sub(&claims)) && again.role == claims.role);
    buf_fini(&json);
    buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct str header = STR("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.");
    char token[TEXT_BYTES];
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned mac_n;
    if (size == 0 || size > TOKEN_MAX_BYTES + 2)
        return 0;
    uint8_t form = *data++ % 3;
    size--;
    if (form == 0) {
        verify((struct str){(const char *)data, size});
        return 0;
    }
    memcpy(token, header.at, header.n);
    size_t n = header.n;
    if (form == 1) {
        n += encode(data, size, token + n);
    } else {
        memcpy(token + n, data, size);
        n += size;
    }
    assert(HMAC(EVP_sha256(), key.bytes, sizeof key.bytes, (unsigned char *)token, n, mac, &mac_n));
    token[n++] = '.';
    verify((struct str){token, n + encode(mac, mac_n, token + n)});
    return 0;
}
