/* SPDX-License-Identifier: MIT
 * repeated.c - see repeated.h. */
#include "services/openai/repeated.h"

#include "shared/queue/delta.h"

enum { SENT_MAX_BYTES = 1 << 20 };

void repeated_init(struct repeated *r)
{
    *r = (struct repeated){.at = 0};
    buf_init(&r->sent, SENT_MAX_BYTES);
}

void repeated_fini(struct repeated *r)
{
    buf_fini(&r->sent);
}

bool repeated_begin(struct repeated *r)
{
    r->at = 0;
    r->is_again = true;
    return !r->has_more && !r->sent.is_over;
}

static void note(struct repeated *r, bool is_text, struct str text)
{
    r->has_more |= !is_text;
    buf_put(&r->sent, text);
}

enum repeated_part repeated_take(struct repeated *r, struct str delta, struct str *ret_rest)
{
    struct str text = STR("");
    bool is_text = delta_read_text(delta, &text);
    size_t left = r->sent.n - r->at, n = text.n < left ? text.n : left;
    if (!r->is_again) {
        note(r, is_text, text);
        return REPEATED_ALL;
    }
    if (!is_text) { /* its end, or more than text */
        r->is_again = false;
        r->has_more = true;
        return left == 0 ? REPEATED_ALL : REPEATED_DIFFERS;
    }
    if (n > 0 && memcmp(text.at, r->sent.at + r->at, n) != 0)
        return REPEATED_DIFFERS;
    r->at += n;
    if (text.n == n)
        return REPEATED_NOTHING;
    *ret_rest = (struct str){text.at + n, text.n - n};
    r->is_again = false;
    note(r, true, *ret_rest);
    return REPEATED_REST;
}

bool repeated_is_short(const struct repeated *r)
{
    return r->is_again && r->at < r->sent.n;
}
