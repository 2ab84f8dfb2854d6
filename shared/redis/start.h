/* SPDX-License-Identifier: MIT
 *
 * start: what every command with --redis does before it works: reads where Redis is, and ends with
 * one line that names the flag when waiting for Redis would be in vain. Used from main before
 * threads start.
 */
#ifndef PARLEY_REDIS_START_H
#define PARLEY_REDIS_START_H

#include "shared/base/config.h"
#include "shared/redis/address.h"
#include "shared/redis/sync.h"

/* Rows of the tables of such commands. Nodes word --redis and --key-prefix in their own way. */
#define REDIS_URL_OPTION                                                                           \
    {                                                                                              \
        .name = "redis", .kind = CONFIG_TEXT, .metavar = "URL",                                    \
        .fallback = "redis://127.0.0.1:6379/0",                                                    \
        .help = "The Redis of the nodes: redis://[user:@]host:port[/db] or unix:/path[?db=N]. A "  \
                "password in it (user:password@) shows in ps: use --redis-password-file.",         \
    }
#define REDIS_PASSWORD_FILE_OPTION                                                                 \
    {                                                                                              \
        .name = "redis-password-file", .kind = CONFIG_TEXT, .metavar = "FILE",                     \
        .help = "The file that holds the password of Redis; the user, if there is one, is in "     \
                "--redis.",                                                                        \
    }
#define REDIS_KEY_PREFIX_OPTION                                                                    \
    {                                                                                              \
        .name = "key-prefix", .kind = CONFIG_TEXT, .metavar = "TEXT", .fallback = "parley:{0}:",   \
        .help = "What keys in Redis begin with. The same as that of the nodes.",                   \
    }
/* Of those that print results and log little. */
#define REDIS_TOOL_LOG_LEVEL_OPTION                                                                \
    {                                                                                              \
        .name = "log-level", .kind = CONFIG_TEXT, .choices = "debug|info|warn|error",              \
        .fallback = "error", .help = "The least that is logged on standard error.",                \
    }

/* Reads --redis and --redis-password-file, which the command's table has. False: one line was
 * written to standard error. */
bool redis_read_flags(const struct config *config, struct redis_address *ret_address) must_check;

/* Logs in and looks whether a restore into this Redis has begun and has not ended, which is all
 * that a command needs that only reads. False, with one line on standard error: the login is
 * refused, or there is such a restore. Else as redis_check_start. */
bool redis_check_login(const struct redis_address *address, const char *prefix) must_check;

/* The same, and calls the function library once, without any effect. False, with one line on
 * standard error, also if its rights do not suffice, or the server is too old. True in all
 * other cases, also when Redis is away, hangs (up to 3 seconds) or refuses for a reason that
 * passes. `prefix`: what keys begin with. SIGPIPE is ignored from then on. */
bool redis_check_start(const struct redis_address *address, const char *prefix) must_check;

/* For tools of one connection: SIGINT and SIGTERM stop `sync` (sync_stop) from here on, and are
 * noted. Once per process. */
void redis_stop_on_signals(struct sync *sync);
/* Such a signal came. */
bool redis_is_interrupted(void);
/* Further signals are ignored; before `sync` is destroyed. */
void redis_ignore_signals(void);

#endif
