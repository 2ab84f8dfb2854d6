/* SPDX-License-Identifier: MIT
 * corrections.c - applies people's corrections to a run's messageBody (see run.h). The members that
 * they send replace those that were there. The words of the deployed chat replace nothing: "Yes, it
 * should be pattern" means nothing without the request and the rejection that it answers, so all
 * three are kept, and each agent from then on is shown them. */
#include "services/workflow/run/run.h"

#include "services/workflow/run/envelope.h"

#include <stdlib.h>

/* Returns what messageBody gets for the words of the deployed chat. */
static json_t *note_words(const struct run *run, const json_t *corrections)
{
    const json_t *had = json_object_get(run->body, BODY_CORRECTIONS);
    struct str rejection = json_member_str(run->asked, "reason"),
               words = json_member_str(corrections, "raw_text");
    json_t *list = json_is_array(had) ? json_copy((json_t *)(uintptr_t)had) : json_array();
    json_t *note = json_pack("{s:s%,s:s%,s:s%}", "agent", run->agent->name.at, run->agent->name.n,
                             "objection", rejection.n > 0 ? rejection.at : "", rejection.n,
                             "correction", words.n > 0 ? words.at : "", words.n);
    if (list == NULL || note == NULL || json_array_append_new(list, note) != 0)
        abort();
    return json_pack("{s:o}", BODY_CORRECTIONS, list);
}

/* Removes what was corrected before, which is not part of a new request. */
static void forget_request(json_t *body, const json_t *corrections)
{
    if (json_object_get(corrections, "raw_text") != NULL)
        json_object_del(body, "rule_text");
    if (json_object_get(corrections, "raw_text") != NULL ||
        json_object_get(corrections, "rule_text") != NULL ||
        json_object_get(corrections, "text") != NULL)
        json_object_del(body, BODY_CORRECTIONS);
}

static bool take_correction(struct run *run, const json_t *answer, const json_t *corrections)
{
    if (!str_eq(json_member_str(answer, "how"), STR("echo"))) {
        forget_request(run->body, corrections);
        return envelope_merge(run->body, corrections);
    }
    json_t *noted = note_words(run, corrections);
    bool fits = envelope_merge(run->body, noted);
    json_decref(noted);
    return fits;
}

bool run_correct(struct run *run, bool *ret_fits)
{
    bool has_any = false;
    const json_t *answer;
    size_t i;
    *ret_fits = true;
    json_array_foreach(run->answers, i, answer)
    {
        const json_t *corrections = json_object_get(answer, "corrections");
        if (!json_is_object(corrections) || json_object_size(corrections) == 0)
            continue;
        has_any = true;
        *ret_fits = *ret_fits && take_correction(run, answer, corrections);
    }
    return has_any;
}
