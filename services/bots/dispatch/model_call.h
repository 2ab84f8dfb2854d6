/* SPDX-License-Identifier: MIT
 *
 * model_call: one attempt to reach a bot that is a model of this cluster (`parley:MODEL`): a
 * question in the queue, in the fair order of its registrant, answered by any engine that serves
 * the model. For call.c only, whose rules hold (call.h).
 *
 * Attempts of one delivery share one question, on any node, so that a later attempt waits for the
 * query that is in the queue already, or reads its answer.
 */
#ifndef PARLEY_SERVICES_BOTS_MODEL_CALL_H
#define PARLEY_SERVICES_BOTS_MODEL_CALL_H

#include "services/bots/dispatch/call.h"

struct model_call;

struct model_call *model_call_start(struct bots *bots, const struct bot_call_settings *settings,
                                    bot_call_end_cb *on_end, void *context) must_check;
void model_call_cancel(struct model_call *call, bool is_final);

#endif
