/* SPDX-License-Identifier: MIT
 *
 * process: the metrics that Prometheus expects of any process: version, start, CPU time, memory.
 * Names and units are those of its client libraries, so that common dashboards find them.
 */
#ifndef PARLEY_METRICS_PROCESS_H
#define PARLEY_METRICS_PROCESS_H

#include "shared/base/buf.h"

/* Call it once, before threads start: notes when the process has started. */
void metrics_process_begin(void);
/* Puts the lines; any thread. Reads one small file of /proc. `thread_n`: the event loops. */
void metrics_write_process(struct buf *b, unsigned thread_n);

#endif
