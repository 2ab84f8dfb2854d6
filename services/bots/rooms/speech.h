/* SPDX-License-Identifier: MIT
 *
 * speech: reads a message that a client wants to post, from an HTTP body or a frame of a socket:
 * {"text","reply_to","tagged"}. Other members are ignored. Pure functions, any thread.
 */
#ifndef PARLEY_BOTS_ROOMS_SPEECH_H
#define PARLEY_BOTS_ROOMS_SPEECH_H

#include "services/bots/rooms/post.h"
#include "shared/base/json_scan.h"

struct speech {
    struct str text, reply_to; /* reply_to.n == 0: none */
    struct str tagged[POST_TAGS_MAX];
    size_t tagged_n;
    char *own; /* the bytes of these texts */
};

/* Reads the members of an object. False: `detail`, of POST_DETAIL_BYTES, names what is wrong.
 * Either way speech_fini is needed. */
bool speech_read(const struct json_member *members, size_t n, struct speech *ret_speech,
                 char *detail) must_check;
void speech_fini(struct speech *speech);

#endif
