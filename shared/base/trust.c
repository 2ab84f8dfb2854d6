/* SPDX-License-Identifier: MIT
 * trust.c - see trust.h. */
#include "shared/base/trust.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

const struct config_group trust_options = {
    "TLS", (const struct config_option[]){
               OPTION_TEXT(
                   "ca-file", "FILE", NULL,
                   "Certificate authorities (PEM) that https:// servers, and Redis over rediss://, "
                   "may be certified by, besides the system's. For certificates of your own "
                   "authority."),
               {0}}};

static const char *file;

bool trust_read_options(const struct config *config)
{
    if (!config_has(config, "ca-file") || config_text(config, "ca-file") == NULL)
        return true;
    file = config_text(config, "ca-file");
    X509_STORE *store = X509_STORE_new();
    bool is_good = store != NULL && X509_STORE_load_file(store, file) == 1;
    X509_STORE_free(store);
    ERR_clear_error();
    return is_good ||
           config_wrong("ca-file", "names no file of certificates in PEM that can be read");
}

const char *trust_file(void)
{
    return file;
}
