/* SPDX-License-Identifier: MIT
 *
 * llm_refusal: how the /api/rag routes report a question that ended without an answer: as
 * LLM_UNAVAILABLE, marked retryable (/openapi.yaml).
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_ASK_LLM_REFUSAL_H
#define PARLEY_SERVICES_DOCUMENTS_ASK_LLM_REFUSAL_H

#include "shared/ask/refusal.h"

void llm_refusal_of(const struct question_end *end, struct refusal *ret_refusal);
void llm_refusal_of_drain(struct refusal *ret_refusal);

#endif
