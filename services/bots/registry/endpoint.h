/* SPDX-License-Identifier: MIT
 *
 * endpoint: reads the endpoint with which a bot is registered: the URL that is called for its
 * messages, `parley:MODEL` for a model of this cluster, or nothing for a bot that pulls. It judges
 * the text only; the addresses that a host's name stands for are checked when it is called
 * (shared/http/client/client.h). Pure functions, any thread.
 */
#ifndef PARLEY_BOTS_REGISTRY_ENDPOINT_H
#define PARLEY_BOTS_REGISTRY_ENDPOINT_H

#include "shared/base/str.h"

enum { BOT_ENDPOINT_MAX_BYTES = 2000, ENDPOINT_MODEL_MAX_BYTES = 128 };

enum endpoint_kind { ENDPOINT_PULLS, ENDPOINT_MODEL, ENDPOINT_HTTP };

/* Returns NULL and the kind, or a sentence that says what is wrong with it, a constant. Any bytes;
 * takes time that grows linearly with them. `allows_private`: also addresses that are not public.
 */
const char *endpoint_check(struct str endpoint, bool allows_private,
                           enum endpoint_kind *ret_kind) must_check;
/* The kind of an endpoint that was registered. */
enum endpoint_kind endpoint_kind_of(struct str endpoint);
/* The model of "parley:MODEL". */
struct str endpoint_model(struct str endpoint);

#endif
