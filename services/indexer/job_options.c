/* SPDX-License-Identifier: MIT
 * job_options.c - see job_options.h. */
#include "services/indexer/job_options.h"

const struct config_group job_options = {
    "Indexing jobs",
    (const struct config_option[]){
        OPTION_NUMBER(
            "job-lease-seconds", "N", "30", 1, 3600,
            "Seconds without a heartbeat from its indexer after which another indexer takes "
            "over a document. Use the same value for all nodes and tools of a cluster."),
        {0}}};

uint64_t job_read_lease_ms(const struct config *config)
{
    return config_number(config, "job-lease-seconds") * 1000;
}
