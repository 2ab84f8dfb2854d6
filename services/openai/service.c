/* SPDX-License-Identifier: MIT
 * service.c - OpenAI's interface as one of the node's services (services/node/service.h). It comes
 * with the broker, whose queue it is. */
#include "services/openai/openai.h"

const struct service openai_service = {
    .name = "openai",
    .summary = "OpenAI's interface: /v1",
    .comes_with = "broker",
    .routes = openai_routes,
};
