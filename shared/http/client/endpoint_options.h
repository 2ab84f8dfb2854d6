/* SPDX-License-Identifier: MIT
 *
 * endpoint_options: --allow-private-endpoints, for every service that calls addresses which people
 * choose: http agents of workflows, bots. Used from main before threads start.
 */
#ifndef PARLEY_HTTP_ENDPOINT_OPTIONS_H
#define PARLEY_HTTP_ENDPOINT_OPTIONS_H

#include "shared/base/config.h"

extern const struct config_group endpoint_options;

/* Returns whether such addresses may be loopback or private ones (http_client_settings). */
bool endpoint_options_allow_private(const struct config *config);

#endif
