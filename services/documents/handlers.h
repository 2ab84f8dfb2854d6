/* SPDX-License-Identifier: MIT
 *
 * handlers: the document service's handlers, one per route (routes.yaml). Each answers exactly
 * once.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_HANDLERS_H
#define PARLEY_SERVICES_DOCUMENTS_HANDLERS_H

#include "generated/routes_documents.h"
#include "services/documents/documents.h"
#include "shared/ask/reply.h"

/* ask/as_model.c */
extern const struct own_model documents_model;

/* DocuChat's clients show what the member `error` says. */
problem_writer documents_put_problem;

#endif
