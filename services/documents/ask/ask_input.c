/* SPDX-License-Identifier: MIT
 * ask_input.c - see ask_input.h. */
#include "services/documents/ask/ask_input.h"

#include "shared/base/clock.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/peer.h"
#include "shared/text/text.h"

#include <stdio.h>

enum { OWNER_LIMIT_S = 60 };

static bool refuse(struct request *r, const char *name, const char *what, double min, double max)
{
    char expected[96];
    snprintf(expected, sizeof expected, "%s %g to %g", what, min, max);
    return explain_member(r, name, expected);
}

static bool refuse_text(struct request *r, const char *name, unsigned min, size_t max_chars)
{
    char expected[64];
    snprintf(expected, sizeof expected, "a string of %u to %zu characters", min, max_chars);
    return explain_member(r, name, expected);
}

bool ask_input_question(struct request *r, const char *name, size_t max_chars, struct str *ret_text)
{
    struct str text = request_member_text(r, name);
    if (str_trim(text).n == 0 || text.n > 4 * max_chars || text_length(text) > max_chars)
        return refuse_text(r, name, 1, max_chars);
    *ret_text = text;
    return true;
}

bool ask_input_top_k(struct request *r, const char *name, unsigned *ret_n)
{
    int64_t n = TOP_K_USUAL;
    if (request_member(r, name) != NULL && !request_number(r, name, 1, TOP_K_MAX, &n))
        return false;
    *ret_n = (unsigned)n;
    return true;
}

bool ask_input_optional_text(struct request *r, const char *name, size_t max_chars,
                             struct str *ret_text)
{
    struct str text = request_member_text(r, name);
    *ret_text = STR("");
    if (request_member(r, name) == NULL)
        return true;
    if (text.at == NULL || text.n > 4 * max_chars || text_length(text) > max_chars)
        return refuse_text(r, name, 0, max_chars);
    *ret_text = text;
    return true;
}

bool ask_input_whole(struct request *r, const char *name, unsigned min, unsigned max,
                     unsigned fallback, unsigned *ret_number)
{
    const struct json_span *span = request_member(r, name);
    uint64_t number = fallback;
    if (span != NULL && (span->kind != JSON_SPAN_NUMBER || !str_parse_u64(span->raw, &number) ||
                         number < min || number > max))
        return refuse(r, name, "a whole number from", min, max);
    *ret_number = (unsigned)number;
    return true;
}

bool ask_input_number(struct request *r, const char *name, double min, double max, double fallback,
                      double *ret_number)
{
    const struct json_span *span = request_member(r, name);
    double number = fallback;
    if (span != NULL && (span->kind != JSON_SPAN_NUMBER || !str_parse_double(span->raw, &number) ||
                         !(number >= min && number <= max)))
        return refuse(r, name, "a number from", min, max);
    *ret_number = number;
    return true;
}

void ask_input_put_address(struct buf *b, struct str address)
{
    struct buf network;
    buf_init(&network, PEER_TEXT_MAX);
    peer_put_network(&network, address);
    buf_put_name(b, buf_str(&network));
    buf_fini(&network);
}

struct str ask_input_limits(struct request *r, struct str owner)
{
    struct buf limits;
    buf_init(&limits, 1024);
    buf_printf(&limits, "ask:%.*s:%d:%d", STR_ARG(owner), ASKS_A_MINUTE, OWNER_LIMIT_S);
    struct str copy = request_copy(r, buf_str(&limits));
    buf_fini(&limits);
    return copy;
}

uint64_t ask_input_elapsed_ms(const struct request *r)
{
    return (clock_mono_us() - r->start_us) / 1000;
}

uint64_t ask_input_left_ms(const struct request *r, uint64_t all_ms)
{
    uint64_t elapsed_ms = ask_input_elapsed_ms(r);
    return all_ms > elapsed_ms ? all_ms - elapsed_ms : 1;
}
