/* SPDX-License-Identifier: MIT
 * facts.c - reads the members FinishReason and Usage that engines send with answers. */
#include "services/broker/broker.h"

#include "shared/http/request/explain.h"

enum { FINISH_MAX_BYTES = 64 };

/* A member of Usage; the last one of a name counts. */
static bool read_tokens(const struct json_member *members, size_t n, const char *name,
                        uint64_t *ret_tokens)
{
    while (n-- > 0)
        if (str_eq(members[n].name.raw, str_of(name)))
            return members[n].value.kind == JSON_SPAN_NUMBER &&
                   str_parse_u64(members[n].value.raw, ret_tokens);
    return false;
}

/* Puts Usage with the members that are kept. False after a 400. */
static bool put_usage(struct buf *b, struct request *r)
{
    enum { MEMBERS_MAX = 32 };
    struct json_member members[MEMBERS_MAX];
    const struct json_span *usage = request_member(r, "Usage");
    uint64_t prompt, completion;
    const char *reason;
    size_t n, at;
    bool is_object;
    if (usage == NULL)
        return true;
    if (!json_scan_object(usage->raw, members, MEMBERS_MAX, &n, &reason, &at, &is_object) ||
        n > MEMBERS_MAX || !read_tokens(members, n, "prompt_tokens", &prompt) ||
        !read_tokens(members, n, "completion_tokens", &completion)) {
        explain(r, ERR_BAD_REQUEST,
                "Usage must be an object in which prompt_tokens and completion_tokens are whole "
                "numbers from 0.");
        return false;
    }
    buf_printf(b, "\"Usage\":{\"prompt_tokens\":%llu,\"completion_tokens\":%llu}",
               (unsigned long long)prompt, (unsigned long long)completion);
    return true;
}

bool facts_put(struct buf *b, struct request *r)
{
    struct str finish;
    size_t before = b->n;
    if (!request_optional_text(r, "FinishReason", FINISH_MAX_BYTES, &finish))
        return false;
    if (finish.n > 0) {
        buf_lit(b, "\"FinishReason\":");
        buf_put_json(b, finish);
    }
    if (b->n > before && request_member(r, "Usage") != NULL)
        buf_put_char(b, ',');
    return put_usage(b, r);
}
