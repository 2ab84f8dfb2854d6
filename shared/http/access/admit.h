/* SPDX-License-Identifier: MIT
 *
 * admit: decides from the head of a request how much of its body to read: the route and method must
 * exist, the length must be within the route's limit, and large bodies on a route with roles need
 * proof of the sender. It reserves nothing and answers nothing. On the loop's thread.
 */
#ifndef PARLEY_HTTP_ADMIT_H
#define PARLEY_HTTP_ADMIT_H

#include "shared/http/access/proof.h"

/* Rules of the wire (wire.h); `server` is a struct server. */
struct admission admit(void *server, const struct admit_ask *ask);
size_t admit_body_most(void *server, struct str method, struct str target,
                       bool is_for_authenticated);

#endif
