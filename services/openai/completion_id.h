/* SPDX-License-Identifier: MIT
 *
 * completion_id: the id of a chat completion or response that is stored. It says where it is, so
 * any node finds it, and where it is in the list of its user's, also once it is deleted. It proves
 * nothing: the verbs check whose it is (lua/queue/kept.lua, responses.lua).
 *
 *   chatcmpl-<asker>-<place>                 the first query of a topic that is named so
 *   chatcmpl-<asker>-<place>-<Seq>-<topic>   a query of another topic, in base64url
 *
 * Those of responses begin with resp_.
 *
 * On the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_COMPLETION_ID_H
#define PARLEY_SERVICES_OPENAI_COMPLETION_ID_H

#include "shared/http/request/request.h"

#define COMPLETION_PREFIX "chatcmpl-"
#define RESPONSE_PREFIX "resp_"

enum { COMPLETION_ASKER_CHARS = 24 };

struct completion_id {
    struct str asker; /* of the request that made it: COMPLETION_ASKER_CHARS of hex */
    uint64_t place;   /* of its topic among those of its user (lua/turn/order.lua), microseconds */
    uint64_t seq;
    struct str topic; /* a name, in the namespace of the account */
};

/* `prefix`: one of these two. */
void completion_id_put(struct buf *b, struct request *r, const char *prefix,
                       const struct completion_id *id);
/* Reads one. The result lives as long as the request and `text`. Returns false if it is none. */
bool completion_id_read(struct request *r, const char *prefix, struct str text,
                        struct completion_id *ret_id) must_check;

#endif
