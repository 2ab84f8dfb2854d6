/* SPDX-License-Identifier: MIT
 * pages.c - see pages.h. */
#include "shared/http/request/pages.h"

#include "shared/http/request/explain.h"
#include "shared/http/request/respond.h"
#include "shared/http/wire/connection.h"
#include "shared/redis/verb.h"

#include <stdio.h>

bool pages_init(struct pages *pages, struct request *r, struct str first,
                bool (*is_cursor)(struct str))
{
    uint64_t limit;
    struct str after = request_param(r, "after");
    *pages = (struct pages){.after = first, .left = UINT64_MAX, .own = {.max = 32 << 20}};
    if (!request_param_u64(r, "limit", 1, PAGES_LIMIT_MAX, UINT64_MAX, &limit))
        return false;
    pages->left = limit;
    if (after.n == 0)
        return true;
    if (after.n > PAGES_AFTER_MAX_BYTES || !is_cursor(after))
        return explain_param(r, "after", PAGES_CURSOR);
    pages->after = after;
    return true;
}

void pages_fini(struct pages *pages)
{
    buf_fini(&pages->own);
}

uint64_t pages_limit(const struct pages *pages)
{
    return pages->left == UINT64_MAX ? NO_NUMBER : pages->left;
}

struct buf *pages_buf(struct pages *pages, struct request *r)
{
    if (pages->is_going_on)
        return &pages->own;
    buf_clear(&r->server->scratch);
    return &r->server->scratch;
}

/* Is that parameter a proof, good for one request, or the place that is to be named again? */
static bool is_left_out(const struct request *r, struct str name)
{
    return str_eq(name, STR("after")) || str_eq(name, STR("Nonce")) || str_eq(name, STR("Hash")) ||
           str_eq(name, STR("token")) || (r->is_signed && str_eq(name, STR("User")));
}

void pages_link(struct request *r, struct str next)
{
    struct buf link;
    buf_init(&link, SIZE_MAX / 2);
    buf_put_char(&link, '<');
    buf_put(&link, r->path);
    buf_put_char(&link, '?');
    for (size_t i = 0; i < r->param_n; i++) {
        if (is_left_out(r, r->params[i].name))
            continue;
        buf_put(&link, r->params[i].name);
        if (r->params[i].value.at != NULL)
            buf_put_char(&link, '=');
        buf_put(&link, r->params[i].value);
        buf_put_char(&link, '&');
    }
    buf_lit(&link, "after=");
    buf_put_url_encoded(&link, next);
    buf_lit(&link, ">; rel=\"next\"");
    respond_header(r, "link", buf_str(&link));
    buf_fini(&link);
}

bool pages_hold(struct pages *pages, struct request *r, size_t more)
{
    if (connection_gather(&r->exchange, more))
        return true;
    pages_fini(pages);
    respond_error(r, ERR_BUSY,
                  "This node is putting together too many long answers: ask for fewer items at a "
                  "time (limit), or retry shortly.");
    return false;
}

/* Keeps what there is for the next page. False: it does not fit, and the request is answered. */
static bool keep(struct pages *pages, struct request *r, const struct buf *so_far)
{
    if (!pages->is_going_on)
        buf_put(&pages->own, buf_str(so_far));
    pages->is_going_on = true;
    size_t had = pages->own_bytes;
    pages->own_bytes = pages->own.cap;
    return pages_hold(pages, r, pages->own_bytes - had);
}

bool pages_go_on(struct pages *pages, struct request *r, struct str next, uint64_t n,
                 void (*ask)(struct request *r))
{
    struct buf *so_far = pages->is_going_on ? &pages->own : &r->server->scratch;
    if (next.n == 0)
        return false;
    if (pages->left != UINT64_MAX)
        pages->left -= n < pages->left ? n : pages->left;
    if (pages->left == 0 || so_far->n >= PAGES_MAX_BYTES) {
        pages_link(r, next);
        return false;
    }
    pages->after = request_copy(r, next);
    if (keep(pages, r, so_far))
        ask(r);
    return true;
}

void pages_respond(struct pages *pages, struct request *r, struct buf *b)
{
    struct buf own = pages->own;
    pages->own = (struct buf){0};
    respond_json(r, 200, b == &pages->own ? &own : b);
    buf_fini(&own);
}
