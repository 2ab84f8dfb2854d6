/* SPDX-License-Identifier: MIT
 *
 * openai: OpenAI's HTTP interface over the queue (routes.yaml). Answers and errors have the shapes
 * of OpenAI's specification. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_OPENAI_H
#define PARLEY_SERVICES_OPENAI_OPENAI_H

#include "generated/routes_openai.h"
#include "services/node/service.h"

/* Writes errors as {"error":{"message","type","param","code"}}, always with these four members. */
problem_writer openai_put_problem;

#endif
