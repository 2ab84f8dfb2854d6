/* SPDX-License-Identifier: MIT
 *
 * limits: how often an owner may do what costs most, counted in Redis for the whole cluster
 * (lua/auth/limiter.lua): keys limit:upload:<user> and limit:ask:<user>. Numbers only.
 */
#ifndef PARLEY_ASK_LIMITS_H
#define PARLEY_ASK_LIMITS_H

enum {
    UPLOADS_A_MINUTE = 5,
    UPLOADS_AN_HOUR = 50,
    ASKS_A_MINUTE = 20,    /* questions over documents, and runs of the agent */
    DOCUMENTS_MAX = 10000, /* of an owner: lua/documents/documents.lua */
};

#endif
