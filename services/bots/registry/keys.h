/* SPDX-License-Identifier: MIT
 *
 * keys: derives the two secrets with which a bot and this cluster authenticate to each other;
 * neither is stored (ADR 15). The node sends the caller key with each call, and the bot sends it as
 * its credential; the signing secret signs calls as Standard Webhooks describes it. Both are
 * derived from the cluster's token key, the bot's name and id, and its generation, so a deleted
 * registration, another cluster and a former generation have different ones. Pure functions, any
 * thread. The caller wipes what is secret.
 */
#ifndef PARLEY_BOTS_REGISTRY_KEYS_H
#define PARLEY_BOTS_REGISTRY_KEYS_H

#include "shared/auth/token.h"
#include "shared/base/buf.h"
#include "shared/http/client/webhook.h"

enum {
    BOT_ID_CHARS = 16,           /* hex digits, new at every registration */
    BOT_USERNAME_MAX_BYTES = 64, /* letters, digits, '-', '_' and '.': its name has as many */
    BOT_NAME_MAX_BYTES = NAMESPACE_MAX_BYTES + 1 + BOT_USERNAME_MAX_BYTES,
    CALLER_KEY_MAX_BYTES =
        4 + (BOT_NAME_MAX_BYTES + BOT_ID_CHARS + STR_U64_MAX + 2) * 4 / 3 + 1 + 1 + 43,
    SIGNING_SECRET_BYTES = 6 + 44, /* "whsec_" and 32 bytes in base64 */
    KEY_FORMER_MS = 3600 * 1000    /* for which a former generation stays good after a rotation */
};

struct bot_keys {
    unsigned char bytes[TOKEN_KEY_BYTES];
};

/* A bot at one generation. Texts are borrowed. */
struct bot_version {
    struct str name; /* with its namespace, 1 to BOT_NAME_MAX_BYTES */
    struct str id;   /* BOT_ID_CHARS */
    uint64_t generation;
};

/* The content of a caller key. In the caller's storage. */
struct caller_key {
    char name[BOT_NAME_MAX_BYTES];
    size_t name_n;
    char id[BOT_ID_CHARS];
    uint64_t generation;
};

/* Derives the key of all bots' keys from the cluster's. */
void bot_keys_derive(const struct token_key *key, struct bot_keys *ret_keys);

/* Puts the caller key: at most CALLER_KEY_MAX_BYTES of letters, digits, '-', '_' and '.'. */
void caller_key_put(struct buf *b, const struct bot_keys *keys, const struct bot_version *bot);
/* Returns whether `text`, any bytes, is a caller key of this cluster. Compares in constant time.
 * Whether the bot still exists, and at which generation it is, is for the registry to say. */
bool caller_key_read(const struct bot_keys *keys, struct str text,
                     struct caller_key *ret_key) must_check;

/* Puts the signing secret as it is handed out, SIGNING_SECRET_BYTES. */
void signing_secret_put(struct buf *b, const struct bot_keys *keys, const struct bot_version *bot);
/* The same as webhook_sign takes it. */
void signing_key_derive(const struct bot_keys *keys, const struct bot_version *bot,
                        struct webhook_key *ret_key);

#endif
