/* SPDX-License-Identifier: MIT
 *
 * check: the checks before an engine starts to pull: a node responds and accepts the account's
 * signature, the account has role engine; the model server responds, accepts the key and has the
 * model. Each failure is one line on standard error that names the flag to change. It runs the
 * loop's HTTP client itself, before anything else does.
 */
#ifndef PARLEY_ENGINE_CHECK_H
#define PARLEY_ENGINE_CHECK_H

#include "services/engine/engine.h"

struct check_settings {
    struct engine *engine; /* its client and link */
    struct backend *backend;
    /* For the lines: the model server's URL and the file with its key, each with its flag. The URL
     * and the file may be NULL. */
    const char *user, *secret_source, *server_flag, *server, *key_flag, *key_file;
    const char *models;  /* of --models; NULL */
    uint64_t patience_s; /* what is not reachable may come so late */
    int signal_fd;       /* a signal ends the wait; -1: none */
};

enum check_result { CHECK_GOOD, CHECK_BAD, CHECK_SIGNAL };

/* With several nodes one that answers is enough, unless one refuses the account. */
enum check_result check_all(const struct check_settings *settings) must_check;

#endif
