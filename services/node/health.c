/* SPDX-License-Identifier: MIT
 * health.c - see health.h. */
#include "services/node/health.h"

void health_put(struct health_report *report, const char *name, enum health health,
                struct str message)
{
    static const char *const words[HEALTH_NR] = {
        [HEALTH_UNKNOWN] = "configured", [HEALTH_GOOD] = "connected", [HEALTH_BAD] = "error"};
    buf_printf(report->b, "%s\"%s\":{\"status\":\"%s\",\"details\":", report->is_begun ? "," : "",
               name, words[health]);
    if (message.n == 0) {
        buf_lit(report->b, "null}");
    } else {
        buf_lit(report->b, "{\"message\":");
        buf_put_json(report->b, message);
        buf_lit(report->b, "}}");
    }
    report->is_begun = true;
    report->is_broken = report->is_broken || health == HEALTH_BAD;
}
