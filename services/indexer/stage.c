/* SPDX-License-Identifier: MIT
 * stage.c - see stage.h. */
#include "services/indexer/stage.h"

#include <stdarg.h>
#include <stdio.h>

enum { MESSAGE_BYTES = 160 };
/* Where each stage begins, in percent of the whole. */
static const unsigned stage_percent[JOB_STAGE_NR + 1] = {0, 25, 30, 95, 100};

enum err stage_refuse(struct pipeline *p, const char *format, ...)
{
    char text[STAGE_REASON_MAX_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_clear(&p->reason);
    buf_put(&p->reason, str_of(text));
    return ERR_FAILED;
}

enum err stage_stopped(const struct pipeline *p)
{
    return atomic_load(&p->is_stopping) ? ERR_DRAINING : ERR_LEASE_LOST;
}

enum err stage_report(struct pipeline *p, enum job_stage stage, unsigned percent_of_stage,
                      const char *format, ...)
{
    char message[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    unsigned from = stage_percent[stage], to = stage_percent[stage + 1];
    unsigned percent = from + (to - from) * percent_of_stage / 100;
    if (p->settings->on_stage != NULL)
        p->settings->on_stage(p->settings->arg, stage, percent);
    enum err error = job_report(&p->job, stage, percent, message);
    return error == ERR_OK && stage_must_stop(p) ? stage_stopped(p) : error;
}
