/* SPDX-License-Identifier: MIT
 *
 * limits: rate limits of an owner for the most expensive requests, counted in Redis for the whole
 * cluster (lua/auth/limiter.lua) under limit:upload:<user> and limit:ask:<user>.
 */
#ifndef PARLEY_ASK_LIMITS_H
#define PARLEY_ASK_LIMITS_H

enum {
    UPLOADS_A_MINUTE = 5,
    UPLOADS_AN_HOUR = 50,
    ASKS_A_MINUTE = 20,    /* questions over documents and agent runs */
    DOCUMENTS_MAX = 10000, /* per owner: lua/documents/documents.lua */
};

#endif
