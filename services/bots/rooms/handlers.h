/* SPDX-License-Identifier: MIT
 *
 * handlers: the routes of rooms and of their messages (/openapi.yaml). On the loop's thread.
 */
#ifndef PARLEY_BOTS_ROOMS_HANDLERS_H
#define PARLEY_BOTS_ROOMS_HANDLERS_H

#include "generated/routes_bots.h"
#include "shared/http/request/request.h"

/* Answers 404 for the room of the path. */
void rooms_refuse_missing(struct request *r);
/* No message is newer: read from here, there are none. */
#define ROOM_END STR("999999999999999999-0")

enum {
    ROOMS_MAX = 20000,               /* of a namespace; an account has half of them */
    ROOM_BODY_MAX_BYTES = 512 << 10, /* a text may be escaped */
};

#endif
