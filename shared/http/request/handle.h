/* SPDX-License-Identifier: MIT
 *
 * handle: for request.c, which ends what handle.c has begun.
 */
#ifndef PARLEY_HTTP_HANDLE_H
#define PARLEY_HTTP_HANDLE_H

#include "shared/http/request/request.h"

/* Keeps a handler that waits for its turn, because the body is long, from running. */
void handle_cancel(struct request *r);

#endif
