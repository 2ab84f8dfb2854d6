/* SPDX-License-Identifier: MIT
 * certificate.c - see certificate.h.
 *
 * Files are looked at instead of watched: a certificate may be a link into a folder that is itself
 * exchanged (Kubernetes), or lie on a file system that reports nothing. */
#include "services/node/certificate.h"

#include "shared/base/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { CHECK_EVERY_S = 2, WARN_EVERY_S = 86400, WARN_BEFORE_S = 7 * 86400, REASON_MAX = 512 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one reload at a time */
static bool is_over;                                     /* the certificate is gone */

static void reload(struct tls *tls, bool is_forced)
{
    char reason[REASON_MAX];
    pthread_mutex_lock(&lock);
    enum tls_reloaded outcome =
        is_over ? TLS_SAME : tls_reload(tls, is_forced, reason, sizeof reason);
    int64_t ends_s = is_over ? 0 : tls_ends_s(tls);
    pthread_mutex_unlock(&lock);
    if (outcome == TLS_REFUSED)
        log_write(LOG_ERROR, "certificate not reloaded: keeping the old one",
                  LOG_S("reason", reason));
    else if (outcome == TLS_RELOADED)
        log_write(LOG_INFO, "certificate reloaded",
                  LOG_U("days left", (ends_s - time(NULL)) / 86400));
}

static void warn_of_end(struct tls *tls)
{
    pthread_mutex_lock(&lock);
    int64_t left_s = is_over ? INT64_MAX : tls_ends_s(tls) - time(NULL);
    pthread_mutex_unlock(&lock);
    if (left_s < 0)
        log_write(LOG_WARN, "the certificate has ended: clients refuse it");
    else if (left_s < WARN_BEFORE_S)
        log_write(LOG_WARN, "the certificate ends soon", LOG_U("hours left", left_s / 3600));
}

static void *watch(void *arg)
{
    const struct timespec pause = {.tv_sec = CHECK_EVERY_S};
    for (unsigned round = 0;; round++) {
        if (round % (WARN_EVERY_S / CHECK_EVERY_S) == 0)
            warn_of_end(arg);
        nanosleep(&pause, NULL);
        reload(arg, false);
    }
    return NULL;
}

void certificate_watch(struct tls *tls)
{
    pthread_t thread;
    if (tls == NULL)
        return;
    if (pthread_create(&thread, NULL, watch, tls) != 0)
        abort();
    pthread_detach(thread);
}

void certificate_end_watch(void)
{
    pthread_mutex_lock(&lock);
    is_over = true;
    pthread_mutex_unlock(&lock);
}

void certificate_reload(struct tls *tls)
{
    if (tls != NULL)
        reload(tls, true);
}
