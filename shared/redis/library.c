/* SPDX-License-Identifier: MIT
 * library.c - see library.h. */
#include "shared/redis/library.h"

#include <openssl/sha.h>
#include <stdio.h>

extern const char lua_library[];
extern const size_t lua_library_bytes;

void redis_library_put(struct buf *text, struct redis_library_names *ret_names)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    char hex[17];
    SHA256((const unsigned char *)lua_library, lua_library_bytes, digest);
    str_hex(digest, 8, hex);
    snprintf(ret_names->turn, LIBRARY_NAME_BYTES, "turn_%s", hex);
    snprintf(ret_names->turn_freeing, LIBRARY_NAME_BYTES, "turn_%s_freeing", hex);
    buf_printf(text, "#!lua name=parley_%s\nlocal FUNCTION_NAME = '%s'\n", hex, ret_names->turn);
    buf_put(text, (struct str){lua_library, lua_library_bytes});
}

bool redis_library_is_there(const char *error)
{
    return strstr(error, "already exists") != NULL;
}

bool redis_library_is_missing(const char *error)
{
    return strstr(error, "Function not found") != NULL;
}

bool redis_verb_is_refused(const char *error)
{
    return strncmp(error, "STOREFULL", 9) == 0;
}
