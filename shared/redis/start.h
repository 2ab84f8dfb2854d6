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

/* A row of the tables of all such commands. */
#define REDIS_PASSWORD_FILE_OPTION                                                                 \
    {                                                                                              \
        .name = "redis-password-file", .kind = CONFIG_TEXT, .metavar = "FILE",                     \
        .help = "The file that holds the password of Redis; the user, if there is one, is in "     \
                "--redis.",                                                                        \
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

#endif
