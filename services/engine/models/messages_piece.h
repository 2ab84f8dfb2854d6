/* SPDX-License-Identifier: MIT
 *
 * messages_piece: reads one object of a response of Anthropic's /messages, an event or a whole
 * message, as openai_piece.h reads one of a chat. Pure, single thread.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_MESSAGES_PIECE_H
#define PARLEY_SERVICES_ENGINE_MODELS_MESSAGES_PIECE_H

#include "services/engine/models/openai_piece.h"

/* Its finish is a finish_reason of chats. */
struct openai_piece messages_read_piece(const json_t *json);
/* Reads the counts of tokens that are there; what a cache has is among those of the prompt. Returns
 * false if those of the answer are not known yet. */
bool messages_read_usage(const json_t *json, uint64_t *ret_prompt, uint64_t *ret_completion);

#endif
