/* SPDX-License-Identifier: MIT
 * audit.c - `parley audit`: prints the audit log, page by page, from any node, and waits for more
 * if asked to. */
#include "services/commands/commands.h"

#include "shared/auth/login.h"
#include "shared/auth/signed.h"
#include "shared/base/clock.h"
#include "shared/base/shown.h"
#include "shared/base/trust.h"
#include "shared/base/utc.h"
#include "shared/http/client/node_calls.h"

#include <poll.h>
#include <stdio.h>

enum {
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    PATH_MAX_BYTES = 512,
    PAGE_MAX_BYTES = 8 << 20,
    CURSOR_MAX_BYTES = 64,
    LINE_MAX_BYTES = 64 << 10,
    PAGE = 250,
    FOLLOW_MS = 2000,
    MINUTE_S = 60,
    HOUR_S = 3600,
    DAY_S = 86400
};

static const struct config_group audit_options = {
    "Flags",
    (const struct config_option[]){
        OPTION_TEXT("url", "URL[,URL...]", "http://127.0.0.1:8080",
                    "Nodes that run the service broker. Requests go to the first; if it does not "
                    "respond, to the next."),
        OPTION_TEXT("since", "TIME", "24h",
                    "The first entry to print: how long ago, such as 30m, 24h or 7d, or a time in "
                    "UTC, such as 2026-11-24T01:02:03Z. Entries are kept for 90 days."),
        OPTION_BOOL("follow", "off",
                    "Continues with new entries as they come, until it is interrupted."),
        OPTION_NUMBER(
            "patience-seconds", "N", "0", 0, 86400,
            "Seconds to keep retrying a request that no node answers or that gets 429 or 5xx. "
            "0: try each node once."),
        OPTION_BOOL("json", "off", "Prints one JSON object per line."),
        {0}}};

struct audit {
    struct node_calls calls;
    bool is_json, follows;
    char since[24];                   /* as the route takes it */
    char after[CURSOR_MAX_BYTES + 1]; /* "" at the start */
};

/* --- entries ---------------------------------------------------------------------------------- */

static void put_shown(struct buf *b, struct str text)
{
    buf_put_shown(b, text);
}

/* Members that have a column, or that only programs need. */
static bool is_in_line(const char *name)
{
    static const char *const others[] = {"Id",      "Timestamp", "Class", "Event",
                                         "Account", "Address",   "Node",  "Request"};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0)
            return false;
    return true;
}

static void put_value(struct buf *b, const json_t *value)
{
    if (json_is_string(value))
        put_shown(b, (struct str){json_string_value(value), json_string_length(value)});
    else
        buf_put_json_value(b, value);
}

/* "TIME  EVENT  ACCOUNT  ADDRESS  Name=value ..." */
static void put_line(struct buf *b, json_t *entry)
{
    struct str account = json_member_str(entry, "Account");
    struct str address = json_member_str(entry, "Address");
    const char *name;
    json_t *value;
    put_shown(b, json_member_str(entry, "Timestamp"));
    buf_lit(b, "  ");
    struct str event = json_member_str(entry, "Event");
    put_shown(b, event);
    for (size_t i = event.n; i < 27; i++)
        buf_put_char(b, ' ');
    buf_put_char(b, ' ');
    put_shown(b, account.n == 0 ? STR("-") : account);
    if (address.n > 0) {
        buf_lit(b, " from ");
        put_shown(b, address);
    }
    json_object_foreach(entry, name, value)
    {
        if (!is_in_line(name))
            continue;
        buf_lit(b, "  ");
        put_shown(b, str_of(name));
        buf_put_char(b, '=');
        put_value(b, value);
    }
    buf_put_char(b, '\n');
}

/* False after a line if the entry has no usable id. */
static bool print_entry(struct audit *x, json_t *entry)
{
    struct str id = json_member_str(entry, "Id");
    struct buf b;
    if (id.n == 0 || id.n > CURSOR_MAX_BYTES)
        return node_calls_complain(&x->calls, "--url: this is not the answer of a Parley node");
    memcpy(x->after, id.at, id.n);
    x->after[id.n] = 0;
    buf_init(&b, LINE_MAX_BYTES);
    if (x->is_json) {
        buf_put_json_value(&b, entry);
        buf_put_char(&b, '\n');
    } else {
        put_line(&b, entry);
    }
    fwrite(b.at, 1, b.n, stdout);
    buf_fini(&b);
    return true;
}

/* --- pages ------------------------------------------------------------------------------------ */

static bool print_page(struct audit *x, bool *ret_is_more)
{
    struct buf path;
    json_t *page = NULL, *entry;
    size_t i;
    buf_init(&path, PATH_MAX_BYTES);
    buf_printf(&path, "/api/audit?Limit=%d&", PAGE);
    buf_put(&path, x->after[0] == 0 ? STR("Since=") : STR("After="));
    buf_put_url_encoded(&path, str_of(x->after[0] == 0 ? x->since : x->after));
    buf_terminate(&path);
    const struct node_call call = {
        .method = "GET", .path = path.at, .max_bytes = PAGE_MAX_BYTES, .tries_all = true};
    bool is_good = node_calls_ask(&x->calls, &call, &page);
    buf_fini(&path);
    const json_t *list = json_object_get(page, "Events");
    if (is_good && !json_is_array(list))
        is_good = node_calls_complain(&x->calls, "--url: this is not the answer of a Parley node");
    json_array_foreach(list, i, entry)
    {
        is_good = is_good && print_entry(x, entry);
    }
    *ret_is_more = is_good && json_is_string(json_object_get(page, "Next"));
    json_decref(page);
    fflush(stdout);
    return is_good && !ferror(stdout);
}

static bool print_all(struct audit *x)
{
    bool is_more;
    do {
        if (!print_page(x, &is_more))
            return false;
        if (!is_more && x->follows && !node_calls_wait(&x->calls, NULL, FOLLOW_MS))
            return true;
    } while (is_more || x->follows);
    return true;
}

/* --- settings --------------------------------------------------------------------------------- */

static bool read_since(struct audit *x, const char *text)
{
    struct str s = str_of(text);
    uint64_t at_s, n, unit_s = 0, now_s = clock_wall_s();
    if (!utc_parse(s, &at_s)) {
        char unit = s.n < 2 ? 0 : s.at[s.n - 1];
        unit_s = unit == 's'   ? 1
                 : unit == 'm' ? MINUTE_S
                 : unit == 'h' ? HOUR_S
                 : unit == 'd' ? DAY_S
                               : 0;
        if (unit_s == 0 || !str_parse_u64((struct str){s.at, s.n - 1}, &n) || n > now_s / unit_s)
            return config_wrong("since", "takes how long ago, such as 30m, 24h or 7d, or a time "
                                         "in UTC, such as 2026-11-24T01:02:03Z");
        at_s = now_s - n * unit_s;
    }
    struct buf b;
    buf_init(&b, sizeof x->since - 1);
    buf_put_timestamp(&b, at_s);
    buf_put_char(&b, 'Z');
    memcpy(x->since, b.at, b.n);
    x->since[b.n] = 0;
    buf_fini(&b);
    return true;
}

static int run_audit(const struct config *config)
{
    struct audit x = {.calls = {.config = config, .command = "audit", .service = "broker"},
                      .is_json = config_number(config, "json"),
                      .follows = config_number(config, "follow")};
    if (!read_since(&x, config_text(config, "since")) || !node_calls_read(&x.calls))
        return EXIT_USAGE;
    bool is_good = node_calls_open(&x.calls) && print_all(&x);
    bool is_ended = x.calls.is_interrupted && x.follows; /* the way to end it */
    node_calls_close(&x.calls);
    return is_good || is_ended ? 0 : EXIT_FAILED;
}

const struct command audit_command = {
    .name = "audit",
    .is_flags_only = true,
    .summary = "print the audit log: logins refused, accounts changed, deletions",
    .about =
        "usage: parley audit [--since TIME] [--follow] [--json] [flags]\n"
        "\n"
        "Prints the audit log of the cluster, the oldest entry first: refused logins, changed\n"
        "accounts, what operators did, and what was deleted. Any node can answer.\n"
        "The account that signs (--user) must be an operator.\n"
        "\n",
    .more = "\n"
            "Exit codes\n"
            "  0  success\n"
            "  1  a node refused the request, or no node served it in time\n"
            "  2  invalid argument, flag or value\n"
            "\n"
            "Examples\n"
            "  parley audit --user Operator_1 --secret-file operator.secret --since 7d\n"
            "  parley audit --user Operator_1 --secret-file operator.secret --follow --json |\n"
            "      jq -c 'select(.Class == \"refused\")'\n",
    .groups = (const struct config_group *const[]){&audit_options, &signed_options,
                                                   &login_file_options, &trust_options, NULL},
    .run = run_audit,
};
