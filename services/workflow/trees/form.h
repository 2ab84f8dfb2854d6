/* SPDX-License-Identifier: MIT
 *
 * form: the form that a person's corrections must fit: a small, strict subset of JSON Schema, read
 * with the workflows file and checked there (form_read of reader.h). Keywords outside the subset
 * are refused when the file is read, so none is silently ignored here:
 *
 *   type (one or a list), enum, const            of scalars
 *   properties, required, additionalProperties   of objects; the last is true or false
 *   items, minItems, maxItems                    of lists
 *   minLength, maxLength                         of texts, in characters
 *   minimum, maximum                             of numbers
 *   title, description, default                  are for people and check nothing
 *
 * Pure functions, any thread.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_TREES_FORM_H
#define PARLEY_SERVICES_WORKFLOW_TREES_FORM_H

#include "shared/base/json.h"

enum {
    FORM_WHY_MAX_BYTES = 4096,
    FORM_LIST_MAX = 100,      /* names in one enum, required, properties */
    FORM_MAX_BYTES = 32 << 10 /* as JSON: frames and stored questions hold it whole */
};

/* Returns whether `corrections` fits `form`; NULL: everything does. If not, `why` (which has room
 * for FORM_WHY_MAX_BYTES) gets one sentence that names the member and what it takes. The cost is
 * linear in the corrections. */
bool form_check(const json_t *form, const json_t *corrections, struct buf *why) must_check;

/* The same for any value, which `why` calls `name`. */
bool form_check_value(const json_t *form, const json_t *value, struct str name,
                      struct buf *why) must_check;

#endif
