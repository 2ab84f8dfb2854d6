/* SPDX-License-Identifier: MIT
 * websocket_handshake.c - see websocket_handshake.h and RFC 6455, section 4.2. Browsers send no
 * preflight for a WebSocket: the origin is checked here. */
#include "shared/http/websocket/websocket_handshake.h"

#include "shared/http/request/respond.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

enum { KEY_BYTES = 24 };

/* Base64 of 16 bytes. */
static bool is_good_key(struct str key)
{
    unsigned char bytes[KEY_BYTES];
    return key.n == KEY_BYTES && key.at[22] == '=' && key.at[23] == '=' && key.at[21] != '=' &&
           EVP_DecodeBlock(bytes, (const unsigned char *)key.at, KEY_BYTES) == 18;
}

static bool refuse_upgrade(struct request *r, enum err error, const char *detail)
{
    if (error == ERR_UPGRADE && r->exchange.h2o->version < 0x200) /* HTTP/2 has no such header */
        respond_header(r, "upgrade", STR("websocket"));
    if (error == ERR_UPGRADE)
        respond_header(r, "sec-websocket-version", STR("13"));
    respond_error(r, error, detail);
    return false;
}

bool handshake_check(struct request *r, struct str *ret_key)
{
    h2o_iovec_t upgrade = r->exchange.h2o->upgrade;
    struct str version = request_header(r, "sec-websocket-version");
    struct str key = request_header(r, "sec-websocket-key");
    if (r->server->is_draining)
        return refuse_upgrade(r, ERR_DRAINING, NULL);
    if (r->exchange.h2o->version < 0x101 || r->exchange.h2o->version >= 0x200 ||
        upgrade.base == NULL ||
        !h2o_contains_token(upgrade.base, upgrade.len, H2O_STRLIT("websocket"), ','))
        return refuse_upgrade(r, ERR_UPGRADE, NULL);
    if (!str_eq(version, STR("13")))
        return refuse_upgrade(r, ERR_UPGRADE, "Sec-WebSocket-Version must be 13.");
    if (key.at == NULL || !is_good_key(key))
        return refuse_upgrade(r, ERR_BAD_REQUEST, "Sec-WebSocket-Key must be 16 bytes in base64.");
    if (!respond_allows_origin(r))
        return refuse_upgrade(r, ERR_FORBIDDEN, "This origin may not open a WebSocket here.");
    *ret_key = key;
    return true;
}

void handshake_put_accept(struct request *r, struct str key)
{
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455, 1.3 */
    unsigned char joined[KEY_BYTES + sizeof guid - 1], hash[SHA_DIGEST_LENGTH];
    unsigned char text[(SHA_DIGEST_LENGTH + 2) / 3 * 4 + 1];
    memcpy(joined, key.at, KEY_BYTES);
    memcpy(joined + KEY_BYTES, guid, sizeof guid - 1);
    SHA1(joined, sizeof joined, hash);
    EVP_EncodeBlock(text, hash, sizeof hash);
    respond_header(r, "upgrade", STR("websocket"));
    respond_header(r, "sec-websocket-accept", str_of((const char *)text));
}
