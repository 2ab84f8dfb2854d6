/* SPDX-License-Identifier: MIT
 *
 * handlers: the document service's handlers, one per route (routes.c). Each answers exactly once.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_HANDLERS_H
#define PARLEY_SERVICES_DOCUMENTS_HANDLERS_H

#include "shared/http/respond.h"

extern const struct route documents_routes[];

handler documents_me;

#endif
