/* SPDX-License-Identifier: MIT
 * Any bytes as a link; and, since these never get past the MAC, any bytes as a text that carries
 * the right one, both encoded and as they stand. The first byte of the input chooses. */
#include "services/workflow/approvals/link.h"
#include "shared/base/base64url.h"

#include <assert.h>
#include <openssl/hmac.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct token_key token_key = {.bytes = "a key for the fuzzer, 32 bytes.."};
static const char file[] = "accounts:\n  Anna: {secret: a, role: user}\n";

static const struct accounts *accounts_of_file(void)
{
    static struct accounts *accounts;
    char reason[ACCOUNTS_REASON_BYTES];
    if (accounts == NULL && !accounts_parse(str_of(file), reason, sizeof reason, &accounts))
        abort();
    return accounts;
}

static void read_one(const struct link_key *key, struct str segment)
{
    struct link link, again;
    struct buf b;
    if (link_read(key, accounts_of_file(), segment, &link) != LINK_GOOD)
        return;
    assert(segment.n <= LINK_MAX_BYTES && link.user_n > 0);
    buf_init(&b, LINK_MAX_BYTES);
    link_put(&b, key, link.account, (struct str){link.user, link.user_n}, &link.question);
    assert(link_read(key, accounts_of_file(), buf_str(&b), &again) == LINK_GOOD);
    assert(str_eq((struct str){again.user, again.user_n}, (struct str){link.user, link.user_n}));
    buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char purpose[] = "link";
    char text[sizeof purpose + 2 * LINK_MAX_BYTES + 64];
    char *segment = text + sizeof purpose;
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned mac_n;
    struct link_key key;
    if (size == 0 || size > LINK_MAX_BYTES)
        return 0;
    link_key_derive(&token_key, &key);
    uint8_t form = *data++ % 3;
    size_t n = --size;
    memcpy(segment, data, n);
    if (form == 0) {
        read_one(&key, (struct str){segment, n});
        return 0;
    }
    if (form == 1)
        n = base64url_encode(data, size, segment);
    memcpy(text, purpose, sizeof purpose);
    assert(HMAC(EVP_sha256(), key.bytes, sizeof key.bytes, (unsigned char *)text,
                sizeof purpose + n, mac, &mac_n));
    segment[n++] = '.';
    read_one(&key, (struct str){segment, n + base64url_encode(mac, mac_n, segment + n)});
    return 0;
}
