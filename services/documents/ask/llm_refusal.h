/* SPDX-License-Identifier: MIT
 *
 * llm_refusal: how a question that ended without an answer is worded by the routes of contract
 * section 5: LLM_UNAVAILABLE, and that it is retryable.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_ASK_LLM_REFUSAL_H
#define PARLEY_SERVICES_DOCUMENTS_ASK_LLM_REFUSAL_H

#include "shared/ask/refusal.h"

void llm_refusal_of(const struct question_end *end, struct refusal *ret_refusal);
void llm_refusal_of_drain(struct refusal *ret_refusal);

#endif
