/* SPDX-License-Identifier: MIT
 *
 * job_words: translates the state of an indexing job for clients. Redis stores the words of
 * lua/documents/jobs.lua; clients see DocuChat's: the status QUEUED, INDEXING, INDEXED, FAILED or
 * CANCELLED, and the stage PARSE, CHUNK, EMBED, STORE or COMPLETE. Pure; results borrow from the
 * arguments.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_JOB_WORDS_H
#define PARLEY_SERVICES_DOCUMENTS_JOB_WORDS_H

#include "shared/base/str.h"

static inline bool job_is_indexed(struct str stored_status)
{
    return str_eq(stored_status, STR("DONE"));
}

static inline struct str job_status(struct str stored_status)
{
    return job_is_indexed(stored_status)           ? STR("INDEXED")
           : str_eq(stored_status, STR("RUNNING")) ? STR("INDEXING")
                                                   : stored_status;
}

/* A job that succeeded is past its last stage. */
static inline struct str job_stage(struct str stored_stage, bool is_indexed)
{
    return is_indexed ? STR("COMPLETE") : stored_stage;
}

#endif
