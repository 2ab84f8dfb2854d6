/* SPDX-License-Identifier: MIT
 * process.c - see process.h. */
#include "shared/metrics/process.h"

#include "shared/base/clock.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t started_ms;

void metrics_process_begin(void)
{
    started_ms = clock_wall_ms();
}

static void put(struct buf *b, const char *name, const char *kind, const char *help, double value)
{
    buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n%s %.3f\n", name, help, name, kind, name, value);
}

static double cpu_seconds(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double resident_bytes(void)
{
    unsigned long total, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%lu %lu", &total, &resident) != 2)
        resident = 0;
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

void metrics_write_process(struct buf *b, unsigned thread_n)
{
    buf_lit(b, "# HELP parley_build_info The version of this node\n"
               "# TYPE parley_build_info gauge\n"
               "parley_build_info{version=\"" PARLEY_VERSION "\"} 1\n");
    put(b, "parley_threads", "gauge", "Event loops of this process", thread_n);
    put(b, "process_start_time_seconds", "gauge", "Start of the process, in seconds since 1970",
        (double)started_ms / 1e3);
    put(b, "process_cpu_seconds_total", "counter", "CPU time of the process", cpu_seconds());
    put(b, "process_resident_memory_bytes", "gauge", "Resident memory of the process",
        resident_bytes());
}
