/* SPDX-License-Identifier: MIT
 * usage.c - see usage.h. */
#include "services/openai/usage.h"

enum { SAID_MAX_BYTES = 16 << 10 };

void usage_init(struct usage *usage, size_t request_bytes)
{
    *usage = (struct usage){.request_bytes = request_bytes};
    buf_init(&usage->said, SAID_MAX_BYTES);
}

void usage_fini(struct usage *usage)
{
    buf_fini(&usage->said);
}

void usage_say(struct usage *usage, const struct json_span *object)
{
    if (object == NULL || object->kind != JSON_SPAN_OBJECT || object->raw.n > SAID_MAX_BYTES)
        return;
    buf_clear(&usage->said);
    buf_put(&usage->said, object->raw);
}

void usage_say_facts(struct usage *usage, struct str facts)
{
    struct members members;
    struct buf b;
    if (usage->said.n > 0 || facts.n == 0)
        return;
    buf_init(&b, SAID_MAX_BYTES);
    buf_put_char(&b, '{');
    buf_put(&b, facts);
    buf_put_char(&b, '}');
    if (members_read(&members, buf_str(&b)))
        usage_say(usage, members_get(&members, "Usage"));
    buf_fini(&b);
}

static void put_details(const struct members *members, struct buf *b)
{
    for (size_t i = 0; i < members->n; i++) {
        const struct json_member *member = &members->at[i];
        if (member->value.kind != JSON_SPAN_OBJECT)
            continue;
        buf_lit(b, ",\"");
        buf_put(b, member->name.raw);
        buf_lit(b, "\":");
        buf_put(b, member->value.raw);
    }
}

void usage_put(const struct usage *usage, struct buf *b, bool has_completion)
{
    struct members members;
    (void)members_read(&members, buf_str(&usage->said));
    uint64_t prompt = members_u64(&members, "prompt_tokens", usage_tokens_of(usage->request_bytes));
    uint64_t completion = !has_completion ? 0
                                          : members_u64(&members, "completion_tokens",
                                                        usage_tokens_of(usage->text_bytes));
    buf_printf(b, "{\"prompt_tokens\":%llu", (unsigned long long)prompt);
    if (has_completion)
        buf_printf(b, ",\"completion_tokens\":%llu", (unsigned long long)completion);
    buf_printf(b, ",\"total_tokens\":%llu",
               (unsigned long long)members_u64(&members, "total_tokens", prompt + completion));
    put_details(&members, b);
    buf_put_char(b, '}');
}
