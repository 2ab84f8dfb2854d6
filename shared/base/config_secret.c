/* SPDX-License-Identifier: MIT
 * config_secret.c - config_read_secret of config.h. */
#include "shared/base/config.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>

enum { SECRET_MAX_BYTES = 4096 };

char *config_read_secret(const char *path)
{
    char bytes[SECRET_MAX_BYTES];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "parley: cannot read the secret file %s: %s\n", path, strerror(errno));
        return NULL;
    }
    size_t n = fread(bytes, 1, sizeof bytes, file);
    const char *wrong = ferror(file) ? strerror(errno) : NULL;
    fclose(file);
    struct str secret = str_trim((struct str){bytes, n});
    if (wrong == NULL && n == sizeof bytes)
        wrong = "it is larger than 4095 bytes";
    if (wrong == NULL && secret.n == 0)
        wrong = "it is empty";
    if (wrong == NULL && memchr(secret.at, 0, secret.n) != NULL)
        wrong = "it contains a NUL byte";
    char *twin = NULL;
    if (wrong != NULL)
        fprintf(stderr, "parley: cannot use the secret file %s: %s\n", path, wrong);
    else
        twin = str_copy(secret);
    OPENSSL_cleanse(bytes, sizeof bytes);
    return twin;
}
