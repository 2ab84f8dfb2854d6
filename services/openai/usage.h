/* SPDX-License-Identifier: MIT
 *
 * usage: the tokens of an answer. What its engine said counts; without that, a token is taken to be
 * 4 bytes. In its owner. Pure, single thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_USAGE_H
#define PARLEY_SERVICES_OPENAI_USAGE_H

#include "services/openai/members.h"

/* Where an engine says nothing: nodes have no tokenizer. */
enum { USAGE_BYTES_PER_TOKEN = 4 };

struct usage {
    struct buf said;                  /* the last object that came */
    size_t request_bytes, text_bytes; /* for an estimate */
};

/* The estimate. */
static inline uint64_t usage_tokens_of(size_t bytes)
{
    return bytes / USAGE_BYTES_PER_TOKEN + 1;
}

/* `request_bytes`: of what was asked. */
void usage_init(struct usage *usage, size_t request_bytes);
void usage_fini(struct usage *usage);
void usage_say(struct usage *usage, const struct json_span *object);
/* `facts`: JSON members FinishReason and Usage as an outcome has them (shared/queue/lines.h); what
 * the pieces have said is better. */
void usage_say_facts(struct usage *usage, struct str facts);
/* Puts an object with prompt_tokens, completion_tokens (`has_completion`), total_tokens, and the
 * details that the engine sent. */
void usage_put(const struct usage *usage, struct buf *b, bool has_completion);

#endif
