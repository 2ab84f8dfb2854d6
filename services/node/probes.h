/* SPDX-License-Identifier: MIT
 *
 * probes: the routes for health and metrics, served by every target.
 */
#ifndef PARLEY_SERVICES_NODE_PROBES_H
#define PARLEY_SERVICES_NODE_PROBES_H

#include "shared/http/request/request.h"

extern const struct route probe_routes[];

#endif
