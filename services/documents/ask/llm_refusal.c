/* SPDX-License-Identifier: MIT
 * llm_refusal.c - see llm_refusal.h. What is wrong with the store or the node keeps its own code.
 */
#include "services/documents/ask/llm_refusal.h"

#include <stdio.h>

static void use_llm_words(struct refusal *refusal)
{
    char more[sizeof refusal->members];
    if (refusal->detail[0] == 0)
        snprintf(refusal->detail, sizeof refusal->detail, "%s", err_info(refusal->error)->text);
    if (!err_is_outage(refusal->error) && refusal->error != ERR_STORE_FULL &&
        refusal->error != ERR_DRAINING)
        refusal->error = ERR_LLM_UNAVAILABLE;
    snprintf(more, sizeof more, "%s%.100s", refusal->members[0] != 0 ? "," : "", refusal->members);
    snprintf(refusal->members, sizeof refusal->members, "\"retryable\":true%.100s", more);
}

void llm_refusal_of(const struct question_end *end, struct refusal *ret_refusal)
{
    refusal_of(end, ret_refusal);
    use_llm_words(ret_refusal);
}

void llm_refusal_of_drain(struct refusal *ret_refusal)
{
    refusal_of_drain(ret_refusal);
    use_llm_words(ret_refusal);
}
