/* SPDX-License-Identifier: MIT
 * index_file.c - see index_file.h. The order of the folders is that of the XDG base directory
 * specification, after what systemd sets for a service with CacheDirectory=. */
#include "services/engine/index_file.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { DIGEST_BYTES = 8, NAME_SHOWN_MAX = 64 };

/* A variable with an absolute path, as the specification demands; otherwise NULL. */
static const char *folder_of(const char *variable)
{
    const char *folder = getenv(variable);
    return folder != NULL && folder[0] == '/' ? folder : NULL;
}

static char *cache_folder(void)
{
    const char *service = folder_of("CACHE_DIRECTORY"), *cache = folder_of("XDG_CACHE_HOME");
    const char *home = folder_of("HOME");
    char *folder = NULL;
    int n = 0;
    if (service != NULL) /* the first of several */
        n = asprintf(&folder, "%.*s", (int)strcspn(service, ":"), service);
    else if (cache != NULL)
        n = asprintf(&folder, "%s/parley", cache);
    else if (home != NULL)
        n = asprintf(&folder, "%s/.cache/parley", home);
    if (n < 0)
        abort();
    return folder;
}

char *index_file_path(const char *corpus)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    char hex[2 * DIGEST_BYTES + 1], *path = NULL;
    char *folder = cache_folder(), *whole = realpath(corpus, NULL);
    if (folder != NULL && whole != NULL) {
        const char *name = strrchr(whole, '/') + 1;
        if (EVP_Digest(whole, strlen(whole), digest, NULL, EVP_sha256(), NULL) != 1)
            abort();
        str_hex(digest, DIGEST_BYTES, hex);
        if (asprintf(&path, "%s/%.*s-%s.index", folder, NAME_SHOWN_MAX, name, hex) < 0)
            abort();
    }
    free(folder);
    free(whole);
    return path;
}

void index_file_make_folder(const char *path)
{
    char *copy = str_copy(str_of(path));
    for (char *at = strchr(copy + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = 0;
        (void)mkdir(copy, 0700);
        *at = '/';
    }
    free(copy);
}
