/* SPDX-License-Identifier: MIT
 *
 * limits: rate limits of an owner for the most expensive requests, counted in Redis for the whole
 * cluster (lua/auth/limiter.lua) under limit:upload:<user> and limit:ask:<user>.
 */
#ifndef PARLEY_ASK_LIMITS_H
#define PARLEY_ASK_LIMITS_H

enum {
    UPLOADS_HOUR_FACTOR = 10, /* uploads an hour are so many times the account's a minute */
    ASKS_A_MINUTE = 20,       /* questions over documents and agent runs */
    DOCUMENTS_MAX = 10000,    /* per owner: lua/documents/documents.lua */
};

#endif
