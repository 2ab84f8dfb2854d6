/* SPDX-License-Identifier: MIT
 * endpoint_options.c - see endpoint_options.h. */
#include "shared/http/client/endpoint_options.h"

const struct config_group endpoint_options = {
    "Endpoints",
    (const struct config_option[]){
        OPTION_BOOL(
            "allow-private-endpoints", "off",
            "Lets the node call http agents at loopback, private and other special addresses. "
            "Without it such a call is refused after DNS, because the author of an address "
            "could reach services that are meant for this network only."),
        {0}}};

bool endpoint_options_allow_private(const struct config *config)
{
    return config_number(config, "allow-private-endpoints") == 1;
}
