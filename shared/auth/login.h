/* SPDX-License-Identifier: MIT
 *
 * login: the URL, account and secret that `parley login` keeps in a file, for every command that
 * signs requests to nodes. A flag, a variable or a configuration file beats it, one setting at a
 * time; the secret is used only for its own account and for the URLs that it was given for.
 *
 * The file is YAML with url, user and secret, and must be readable by its owner alone. One per
 * process, on its main thread; what is read lives until login_forget.
 */
#ifndef PARLEY_AUTH_LOGIN_H
#define PARLEY_AUTH_LOGIN_H

#include "shared/base/buf.h"
#include "shared/base/config.h"

/* --login-file, for commands that sign requests. */
extern const struct config_group login_file_options;

/* The path of the file: --login-file, or parley/login.yaml in the user's configuration folder; NULL
 * if there is neither. The caller frees it. */
char *login_path(const struct config *config) must_check;

/* Reads the file if a setting is missing that it has, and fills in --url and --user, where the
 * command has them and nobody set them. A default file that does not exist is no fault. False after
 * one line on standard error. */
bool login_use(struct config *config) must_check;
/* Sets what `parley login` was given, in place of a file's. Copies. */
void login_set(const char *url, const char *user, const char *secret);
void login_forget(void);

/* Returns why the command cannot sign its requests, as a text that says what to do; NULL: it can.
 * Opens nothing. */
const char *login_fault(const struct config *config) must_check;
/* The same for requests to `url`, which the command takes as an argument. */
const char *login_fault_of_url(const struct config *config, struct str url) must_check;
/* The secret, from --secret-file or the login; the caller wipes and frees it. Only where
 * login_fault has none. NULL after a line on standard error. */
char *login_read_secret(const struct config *config) must_check;
/* Returns the source of the secret, for messages: "--secret-file NAME" or "the login in NAME". */
const char *login_source(const struct config *config);

/* Puts what the file holds. */
void login_put_file(struct buf *b);

#endif
