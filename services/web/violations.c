/* SPDX-License-Identifier: MIT
 * violations.c - POST /app/violations: browsers report here what the policy of the app's pages kept
 * them from (CSP 3, report-uri). Each report is counted, and a line a minute is logged: what is
 * reported comes from anybody, and means a fault of the app, an extension of a browser or an
 * attempt to attack. */
#include "services/web/web.h"

#include "services/node/service.h"
#include "shared/base/json.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/respond.h"

#include <stdatomic.h>

static atomic_ullong violation_n; /* in this process */

enum { TEXT_MAX_BYTES = 200, REASON_BYTES = 160 };

/* A member of the report, cut. */
static struct str text_of(const json_t *report, const char *name)
{
    struct str text = json_member_str(report, name);
    return (struct str){text.at, text.n < TEXT_MAX_BYTES ? text.n : TEXT_MAX_BYTES};
}

void web_report_violation(struct request *r)
{
    struct web *web = service_state(r, "web");
    char reason[REASON_BYTES];
    uint64_t times;
    json_t *body = NULL;
    bool is_json = json_parse(request_entity(r), reason, sizeof reason, &body);
    const json_t *report = json_object_get(body, "csp-report");
    if (!json_is_object(report)) {
        explain(r, is_json ? ERR_BAD_REQUEST : ERR_BAD_JSON,
                "The body must be a report of a browser, a JSON object with csp-report%s%s.",
                is_json ? "" : ": ", is_json ? "" : reason);
        json_decref(body);
        return;
    }
    atomic_fetch_add(&violation_n, 1);
    if (log_limit_passes(&web->violations, "policy", &times))
        log_write(LOG_WARN, "a browser reported what the policy of the web app forbids",
                  LOG_STR("directive", text_of(report, "violated-directive")),
                  LOG_STR("blocked", text_of(report, "blocked-uri")),
                  LOG_STR("source", text_of(report, "source-file")), LOG_U("times", times));
    json_decref(body);
    respond_empty(r, 204);
}

void web_put_violations(struct buf *b)
{
    buf_printf(b,
               "# HELP parley_policy_violations_total Reports of browsers about what the policy of "
               "the web app forbids\n# TYPE parley_policy_violations_total counter\n"
               "parley_policy_violations_total %llu\n",
               atomic_load(&violation_n));
}
