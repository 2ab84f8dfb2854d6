/* SPDX-License-Identifier: MIT
 *
 * job_options: --job-lease-seconds, of all that work on jobs. Used from main before threads start.
 */
#ifndef PARLEY_INDEXER_JOB_OPTIONS_H
#define PARLEY_INDEXER_JOB_OPTIONS_H

#include "shared/base/config.h"

extern const struct config_group job_options;

uint64_t job_read_lease_ms(const struct config *config);

#endif
