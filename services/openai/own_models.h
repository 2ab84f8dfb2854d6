/* SPDX-License-Identifier: MIT
 *
 * own_models: the models that services of this node offer of their own (shared/ask/own_model.h). On
 * the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_OWN_MODELS_H
#define PARLEY_SERVICES_OPENAI_OWN_MODELS_H

#include "shared/ask/own_model.h"

/* Returns the one after `model` (NULL: the first), or NULL. */
const struct own_model *own_models_next(const struct request *r, const struct own_model *model);
/* Returns the model of that name or whose name precedes a colon in it, or NULL. `ret_engine_model`:
 * what follows the colon, at == NULL without one. Untouched without a model. */
const struct own_model *own_models_find(const struct request *r, struct str name,
                                        struct str *ret_engine_model);

#endif
