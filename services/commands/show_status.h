/* SPDX-License-Identifier: MIT
 *
 * show_status: the state of a cluster for `parley show` without a word, as GET /api/status has it:
 * from a node's route (--url), or from the shards themselves (--redis), which know neither accounts
 * nor settings. One per process, on its main thread.
 */
#ifndef PARLEY_SERVICES_COMMANDS_SHOW_STATUS_H
#define PARLEY_SERVICES_COMMANDS_SHOW_STATUS_H

#include "shared/base/config.h"
#include "shared/base/json.h"

/* --url and --patience-seconds, which commands that sign requests need. */
extern const struct config_group show_url_options;

/* Asks, and returns the exit code: 0, 1 after a line, 2 after a line about a wrong setting. The
 * caller owns *ret_status; it is unset otherwise. */
int show_status_of_node(const struct config *config, json_t **ret_status) must_check;
int show_status_of_redis(const struct config *config, json_t **ret_status) must_check;

#endif
