/* SPDX-License-Identifier: MIT
 * asked.c - see asked.h. */
#include "services/workflow/approvals/asked.h"

enum { REASON_BYTES = 160, NAME_MAX_BYTES = 512 };

static bool read_json(struct str text, json_t **ret_value)
{
    char reason[REASON_BYTES];
    return json_parse(text, reason, sizeof reason, ret_value);
}

bool asked_read(struct lines *lines, struct asked *ret_question)
{
    struct asked question = {.status = lines_next(lines)};
    question.id.session = lines_next(lines);
    question.id.run = lines_next_u64(lines);
    question.id.step = lines_next_u64(lines);
    question.request_id = lines_next(lines);
    question.session_id = lines_next(lines);
    question.verb = lines_next(lines);
    question.agent = lines_next(lines);
    question.account = lines_next(lines);
    question.user_name = lines_next(lines);
    question.asked_ms = lines_next_u64(lines);
    question.deadline_ms = lines_next_u64(lines);
    question.quorum = lines_next_u64(lines);
    question.approvals = lines_next_u64(lines);
    question.is_self_allowed = lines_next_u64(lines) == 1;
    question.who = lines_next(lines);
    question.closed_ms = lines_next_u64(lines);
    if (!read_json(lines_next(lines), &question.text))
        return false;
    if (!read_json(lines_next(lines), &question.body)) {
        json_decref(question.text);
        return false;
    }
    question.reason = json_member_str(question.text, "reason");
    const json_t *form = json_object_get(question.text, "form");
    question.form = json_is_object(form) ? form : NULL;
    *ret_question = question;
    return true;
}

void asked_fini(struct asked *question)
{
    json_decref(question->text);
    json_decref(question->body);
    *question = (struct asked){.text = NULL};
}

/* --- who -------------------------------------------------------------------------------------- */

static bool role_of(const struct workflow_who *who, enum role *ret_role)
{
    return who->role.n > 0 && role_parse(who->role, ret_role);
}

void identities_of(const struct workflow_who *who, struct identities *ret_identities)
{
    struct buf b = {.at = ret_identities->at,
                    .cap = sizeof ret_identities->at,
                    .max = sizeof ret_identities->at};
    size_t ends[IDENTITY_N], start = 0;
    enum role role;
    approver_put_account(&b, who->account);
    ends[0] = b.n;
    approver_put_owner(&b, who->account, who->user_name);
    ends[1] = b.n;
    if (role_of(who, &role))
        approver_put_role(&b, role, lines_namespace_of(who->user_name));
    ends[2] = b.n;
    for (int i = 0; i < IDENTITY_N; i++) {
        ret_identities->of[i] = (struct str){b.at + start, ends[i] - start};
        start = ends[i];
    }
}

bool asked_is_own(const struct asked *question, const struct workflow_who *who)
{
    return str_eq(who->account, question->account) || str_eq(who->user_name, question->user_name);
}

bool asked_may_answer(const struct asked *question, struct str approvers,
                      const struct workflow_who *who, const struct identities *identities)
{
    if (!question->is_self_allowed && asked_is_own(question, who))
        return false;
    for (int i = 0; i < IDENTITY_N; i++)
        if (approver_is_among(approvers, identities->of[i]))
            return true;
    return false;
}

/* --- texts ------------------------------------------------------------------------------------ */

void asked_put_closed(struct buf *b, struct str who, uint64_t closed_ms)
{
    json_t *person = NULL;
    struct str account = STR(""), user = STR("");
    if (who.n > 0 && read_json(who, &person)) {
        account = json_member_str(person, "account");
        user = json_member_str(person, "user");
    }
    if (account.n == 0) {
        buf_lit(b, "The deadline of this question passed at ");
    } else {
        buf_put(b, account);
        if (user.n > 0 && !str_eq(user, account)) {
            buf_lit(b, ", on behalf of ");
            buf_put(b, user);
            buf_put_char(b, ',');
        }
        buf_lit(b, " answered this question at ");
    }
    buf_put_timestamp(b, closed_ms / 1000);
    buf_lit(b, "Z.");
    json_decref(person);
}
