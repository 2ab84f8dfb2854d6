/* SPDX-License-Identifier: MIT
 * run_next.c - prints what a person can do next about a run: who may answer its question, and
 * commands to paste. Names come from a node, so no control character of them is printed, and words
 * that a shell would take apart are quoted. */
#include "services/workflow/cli/run.h"

#include "shared/base/shown.h"

#include <stdio.h>

enum { LINE_MAX_BYTES = 64 << 10, NAMES_SHOWN_MAX = 10 };

#define ROLE STR("role:")

/* --- words ------------------------------------------------------------------------------------ */

static bool is_plain(struct str word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./:,@%+=";
    for (size_t i = 0; i < word.n; i++)
        if (word.at[i] == 0 || strchr(plain, word.at[i]) == NULL)
            return false;
    return word.n > 0;
}

/* As a shell takes it for one word. */
static void put_word(struct buf *b, struct str word)
{
    buf_put_char(b, ' ');
    if (is_plain(word)) {
        buf_put(b, word);
        return;
    }
    buf_put_char(b, '\'');
    for (struct str rest = word; rest.at != NULL;) {
        buf_put(b, str_cut(&rest, '\''));
        if (rest.at != NULL)
            buf_lit(b, "'\\''");
    }
    buf_put_char(b, '\'');
}

static void put_flag(struct buf *b, const char *flag, const char *value)
{
    if (value == NULL || value[0] == 0)
        return;
    buf_printf(b, " --%s", flag);
    put_word(b, str_of(value));
}

void run_put_command(struct buf *b, const struct run_cli *run)
{
    const struct config *c = run->config;
    buf_lit(b, "parley workflow run");
    put_flag(b, "session", run->session);
    put_flag(b, "request", run->request);
    put_flag(b, "url", config_text(c, "url"));
    put_flag(b, "user", run->user);
    put_flag(b, "secret-file", config_text(c, "secret-file"));
    put_flag(b, "on-behalf-of", run->on_behalf_of);
}

/* --- who may answer --------------------------------------------------------------------------- */

static bool is_self_allowed(const json_t *hitl)
{
    return !json_is_false(json_object_get(hitl, "self"));
}

static bool has_role(struct str approver)
{
    return str_has_prefix(approver, ROLE);
}

bool run_may_answer(const struct run_cli *run)
{
    const json_t *hitl = json_object_get(run->stop, "hitl"),
                 *approvers = json_object_get(hitl, "approvers"), *name;
    bool may = json_array_size(approvers) == 0;
    size_t i;
    json_array_foreach(approvers, i, name)
    {
        struct str approver = json_str(name);
        may = may || has_role(approver) || str_eq(approver, str_of(run->user));
    }
    return may && is_self_allowed(hitl);
}

/* "Ann" or "any operator". */
static void put_approver(struct buf *b, struct str approver)
{
    if (has_role(approver)) {
        buf_lit(b, "any ");
        approver = (struct str){approver.at + ROLE.n, approver.n - ROLE.n};
    }
    buf_put_shown(b, approver);
}

static void put_owner(struct buf *b, const struct run_cli *run)
{
    buf_put_shown(b, str_of(run->user));
    if (run->on_behalf_of != NULL && run->on_behalf_of[0] != 0) {
        buf_lit(b, " on behalf of ");
        buf_put_shown(b, str_of(run->on_behalf_of));
    }
}

void run_put_who(struct buf *b, const struct run_cli *run)
{
    const json_t *hitl = json_object_get(run->stop, "hitl"),
                 *approvers = json_object_get(hitl, "approvers");
    long long quorum = (long long)json_integer_value(json_object_get(hitl, "quorum"));
    size_t n = json_array_size(approvers), shown = n < NAMES_SHOWN_MAX ? n : NAMES_SHOWN_MAX;
    if (n == 0) {
        put_owner(b, run);
        buf_lit(b, ", who began it,");
    }
    for (size_t i = 0; i < shown; i++) {
        buf_put(b, i == 0 ? STR("") : i + 1 < n ? STR(", ") : STR(" or "));
        put_approver(b, json_str(json_array_get(approvers, i)));
    }
    if (shown < n)
        buf_printf(b, " or one of %zu more", n - shown);
    buf_lit(b, " may answer");
    if (n > 0 && !is_self_allowed(hitl)) {
        buf_lit(b, ", but not ");
        put_owner(b, run);
        buf_lit(b, ", who began it");
    }
    if (quorum > 1)
        buf_printf(b, "; %lld of them must approve", quorum);
}

/* --- what to paste ---------------------------------------------------------------------------- */

/* For approvers who are not here: over HTTP, because a session is its owner's. */
static void put_http_answer(struct buf *b, const struct run_cli *run)
{
    const json_t *hitl = json_object_get(run->stop, "hitl"),
                 *approvers = json_object_get(hitl, "approvers");
    struct str name = json_str(json_array_get(approvers, 0)), id = json_member_str(hitl, "id");
    bool is_account = name.n > 0 && !has_role(name);
    buf_lit(b, "curl -d '{\"approved\":true}' \"$(parley sign --user");
    put_word(b, is_account ? name : STR("APPROVER"));
    buf_lit(b, " --secret-file FILE ");
    buf_put(b, run->urls[run->url]);
    buf_lit(b, "/api/workflows/questions/");
    buf_put(b, id.at == NULL ? STR("ID") : id);
    buf_lit(b, ")\"");
}

void run_put_next(struct buf *b, const struct run_cli *run)
{
    struct buf line;
    buf_init(&line, LINE_MAX_BYTES);
    if (run_may_answer(run)) {
        buf_lit(&line, "to approve: ");
        run_put_command(&line, run);
        buf_lit(&line, " --approve (--reject rejects; neither asks, on a terminal)");
    } else {
        buf_lit(&line, "to approve, as one of them: ");
        put_http_answer(&line, run);
    }
    buf_put_shown(b, buf_str(&line));
    buf_fini(&line);
}
