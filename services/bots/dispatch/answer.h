/* SPDX-License-Identifier: MIT
 *
 * answer: reads what a bot has answered to a delivery, whichever way it came: in the response to
 * its call, or by a request of a bot that pulls. Pure functions, any thread.
 */
#ifndef PARLEY_SERVICES_BOTS_ANSWER_H
#define PARLEY_SERVICES_BOTS_ANSWER_H

#include "shared/base/json.h"

enum { BOT_ANSWER_MAX_BYTES = 64 << 10 };

enum bot_format { BOT_FORMAT_ANNEX, BOT_FORMAT_ZULIP, BOT_FORMAT_NR };

/* The word of the registry and of requests: "annex" or "zulip". */
struct str bot_format_name(enum bot_format format);
/* False for other words. */
bool bot_format_of(struct str name, enum bot_format *ret_format) must_check;

struct bot_answer {
    bool is_silent;  /* it has nothing to say: `response_not_required` */
    struct str text; /* otherwise 1 byte to 64 KiB, UTF-8; borrowed from `json` */
    json_t *json;    /* owned: bot_answer_fini */
};

/* Reads a JSON object: `{"message":"…"}`, for Zulip `{"content":"…"}` (or the older
 * `{"response_string":"…"}`), or `{"response_not_required":true}`. Returns NULL, or what is wrong
 * with it, for people, to follow "its answer": "is not JSON". After an error there is nothing to
 * free. */
const char *bot_answer_read(enum bot_format format, struct str body,
                            struct bot_answer *ret_answer) must_check;
void bot_answer_fini(struct bot_answer *answer);

#endif
