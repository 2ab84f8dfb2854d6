/* SPDX-License-Identifier: MIT
 * list.c - GET /v1/files: a page of them (lua/files/file_list.lua). */
#include "services/openai/files/files.h"

#include "generated/verbs.h"
#include "services/openai/stored.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/respond.h"

enum { LIMIT_MAX = 10000, PAGE_BYTES = 8 << 20, PURPOSE_MAX_BYTES = 64 };

struct listing {
    struct file_owner owner;
    struct str after, purpose;
    uint64_t limit;
    bool is_back;
};

static void ask(struct request *r);

static void on_listed(struct request *r, enum err error, struct str reply)
{
    struct listing *listing = r->state;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines), first = STR(""), last = STR(""), next;
    struct buf b;
    if (error == ERR_OK && str_eq(tag, STR("after"))) {
        (void)!explain_param(r, "after", "the id of a file in this list");
        return;
    }
    if (file_refuse(r, error, tag, &lines))
        return;
    bool is_more = lines_next_u64(&lines) == 1;
    next = lines_next(&lines);
    if (is_more && !lines_are_left(&lines)) { /* those that it looked at have other purposes */
        listing->after = request_copy(r, next);
        ask(r);
        return;
    }
    buf_init(&b, PAGE_BYTES);
    buf_lit(&b, "{\"object\":\"list\",\"data\":[");
    while (lines_are_left(&lines)) {
        if (first.n > 0)
            buf_put_char(&b, ',');
        file_put(&b, &lines, &last);
        if (first.n == 0)
            first = last;
    }
    const char *prefix = first.n > 0 ? FILE_PREFIX : "";
    buf_printf(&b, "],\"first_id\":\"%s%.*s\",\"last_id\":\"%s%.*s\",\"has_more\":%s}", prefix,
               STR_ARG(first), prefix, STR_ARG(last), is_more ? "true" : "false");
    respond_json(r, 200, &b);
    buf_fini(&b);
}

static void ask(struct request *r)
{
    const struct listing *listing = r->state;
    call_file_list(request_call(r, on_listed), .owner = listing->owner.owner,
                   .account = r->account->name_token, .user = listing->owner.person.user_name,
                   .after = listing->after, .is_back = listing->is_back, .limit = listing->limit,
                   .purpose = listing->purpose);
}

void openai_list_files(struct request *r)
{
    struct listing *listing = request_alloc(r, sizeof *listing);
    struct str after = request_param(r, "after"), purpose = request_param(r, "purpose");
    *listing = (struct listing){.after = STR(""), .purpose = STR("")};
    r->state = listing;
    if (!file_owner_of(r, &listing->owner) ||
        !request_param_u64(r, "limit", 1, LIMIT_MAX, LIMIT_MAX, &listing->limit) ||
        !stored_order(r, &listing->is_back))
        return;
    if (request_param(r, "order").at == NULL)
        listing->is_back = true;
    if (after.at != NULL && !file_id_read(after, &listing->after)) {
        (void)!explain_param(r, "after", "the id of a file in this list");
        return;
    }
    if (purpose.at != NULL) {
        struct buf *scratch = &r->server->scratch;
        if (purpose.n == 0 || purpose.n > PURPOSE_MAX_BYTES) {
            (void)!explain_param(r, "purpose", "a purpose of files, such as batch");
            return;
        }
        buf_clear(scratch);
        buf_put_name(scratch, purpose);
        listing->purpose = request_copy(r, buf_str(scratch));
    }
    ask(r);
}
