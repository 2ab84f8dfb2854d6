/* SPDX-License-Identifier: MIT
 * link.c - see link.h.
 *
 * The MAC covers the text in its base64url form and is compared in that form, in constant time,
 * before anything is decoded: one spelling passes, and no code below it sees bytes that this
 * cluster did not write. The decoder's checks stay, since another program might hold the same key.
 *
 * Texts that are hashed under the derived key begin with what they are for and a NUL, so none of
 * them is ever taken for another. */
#include "services/workflow/approvals/link.h"

#include "shared/base/base64url.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <stdlib.h>

enum { MAC_BYTES = 32, MAC_CHARS = 43 };

static const char key_purpose[] = "key of workflow links";
static const char link_purpose[] = "link";
static const char generation_purpose[] = "generation of an account";

static void hash(const unsigned char *key, size_t key_n, struct str text,
                 unsigned char mac[EVP_MAX_MD_SIZE])
{
    unsigned n = 0;
    /* Fails when OpenSSL cannot allocate, or was set up without SHA-256. */
    if (HMAC(EVP_sha256(), key, (int)key_n, (const unsigned char *)text.at, text.n, mac, &n) ==
        NULL)
        abort();
    assert(n == MAC_BYTES);
}

void link_key_derive(const struct token_key *key, struct link_key *ret_key)
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    hash(key->bytes, sizeof key->bytes, (struct str){key_purpose, sizeof key_purpose}, mac);
    memcpy(ret_key->bytes, mac, sizeof ret_key->bytes);
    OPENSSL_cleanse(mac, sizeof mac);
}

static void sign(const struct link_key *key, struct str encoded, char chars[MAC_CHARS])
{
    char text[sizeof link_purpose + LINK_MAX_BYTES];
    unsigned char mac[EVP_MAX_MD_SIZE];
    assert(encoded.at != NULL && encoded.n <= LINK_MAX_BYTES);
    memcpy(text, link_purpose, sizeof link_purpose);
    memcpy(text + sizeof link_purpose, encoded.at, encoded.n);
    hash(key->bytes, sizeof key->bytes, (struct str){text, sizeof link_purpose + encoded.n}, mac);
    base64url_encode(mac, MAC_BYTES, chars);
}

/* Stands for the secret, role and namespace that the account has. The secret may be short: without
 * the key nobody can try guesses against this. A name has no white space, so the parts stay apart.
 */
static void put_generation(const struct link_key *key, const struct account *account,
                           char hex[TOKEN_GENERATION_CHARS + 1])
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    struct buf text;
    buf_init(&text, 1024);
    buf_put(&text, (struct str){generation_purpose, sizeof generation_purpose});
    buf_put(&text, account->name);
    buf_put_char(&text, ' ');
    buf_put(&text, role_name(account->role));
    buf_put_char(&text, ' ');
    buf_put_name(&text, account->namespace);
    buf_put_char(&text, ' ');
    buf_put(&text, account->secret);
    assert(!text.is_over);
    hash(key->bytes, sizeof key->bytes, buf_str(&text), mac);
    OPENSSL_cleanse(text.at, text.n);
    buf_fini(&text);
    str_hex(mac, TOKEN_GENERATION_CHARS / 2, hex);
}

void link_put(struct buf *b, const struct link_key *key, const struct account *account,
              struct str user, const struct question_id *question)
{
    char mac[MAC_CHARS], generation[TOKEN_GENERATION_CHARS + 1];
    size_t start = b->n;
    struct buf text;
    put_generation(key, account, generation);
    buf_init(&text, LINK_TEXT_MAX_BYTES);
    question_id_put(&text, question);
    buf_put_char(&text, ' ');
    buf_put(&text, str_of(generation));
    buf_put_char(&text, ' ');
    buf_put_name(&text, account->name);
    buf_put_char(&text, ' ');
    buf_put_name(&text, user);
    assert(!text.is_over);
    char *at = buf_reserve(b, (text.n * 4 + 2) / 3);
    if (at != NULL)
        b->n += base64url_encode((const unsigned char *)text.at, text.n, at);
    buf_fini(&text);
    if (b->is_over)
        return;
    sign(key, (struct str){b->at + start, b->n - start}, mac);
    buf_put_char(b, '.');
    buf_put(b, (struct str){mac, MAC_CHARS});
}

/* Finds the signed part of a segment whose MAC is right. */
static bool check_mac(const struct link_key *key, struct str segment, struct str *ret_encoded)
{
    char mac[MAC_CHARS];
    if (segment.n > LINK_MAX_BYTES || segment.n < MAC_CHARS + 2)
        return false;
    struct str encoded = {segment.at, segment.n - MAC_CHARS - 1};
    if (segment.at[encoded.n] != '.')
        return false;
    sign(key, encoded, mac);
    if (!str_eq_secret((struct str){mac, MAC_CHARS},
                       (struct str){segment.at + encoded.n + 1, MAC_CHARS}))
        return false;
    *ret_encoded = encoded;
    return true;
}

/* A name of 1 to `max` bytes, decoded into `at`. */
static bool read_name(struct str name, size_t max, char *at, size_t *ret_n)
{
    struct buf b;
    buf_init(&b, max);
    bool is_good = buf_put_unnamed(&b, name) && !b.is_over && b.n > 0;
    if (is_good) {
        memcpy(at, b.at, b.n);
        *ret_n = b.n;
    }
    buf_fini(&b);
    return is_good;
}

enum link_state link_read(const struct link_key *key, const struct accounts *accounts,
                          struct str segment, struct link *ret_link)
{
    char name[ACCOUNT_NAME_MAX_BYTES], generation[TOKEN_GENERATION_CHARS + 1];
    size_t text_n, name_n;
    struct str encoded;
    if (!check_mac(key, segment, &encoded) || encoded.n * 3 / 4 > sizeof ret_link->text ||
        !base64url_decode(encoded, (unsigned char *)ret_link->text, &text_n))
        return LINK_FORGED;
    struct str rest = {ret_link->text, text_n};
    struct str id = str_cut(&rest, ' ');
    struct str signed_generation = str_cut(&rest, ' ');
    struct str account = str_cut(&rest, ' ');
    if (rest.at == NULL || !question_id_parse(id, &ret_link->question) ||
        !read_name(account, sizeof name, name, &name_n) ||
        !read_name(rest, sizeof ret_link->user, ret_link->user, &ret_link->user_n))
        return LINK_FORGED;
    ret_link->account = accounts_find(accounts, (struct str){name, name_n});
    if (ret_link->account == NULL)
        return LINK_ENDED;
    put_generation(key, ret_link->account, generation);
    if (str_eq_secret(str_of(generation), signed_generation))
        return LINK_GOOD;
    if (ret_link->account->former == NULL)
        return LINK_ENDED;
    put_generation(key, ret_link->account->former, generation);
    return str_eq_secret(str_of(generation), signed_generation) ? LINK_GOOD : LINK_ENDED;
}
