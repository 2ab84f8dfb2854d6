/* SPDX-License-Identifier: MIT
 * front.c - GET /: what this is, and how it is doing: a page for browsers, JSON for programs.
 *
 * It needs no account, so it shows numbers of the whole cluster and nothing else: no name, no
 * address, no text, no version. It has no rate limit either, so each loop reads them from Redis at
 * most once in FRESH_MS. Requests that arrive during the read get the previous numbers, or none. */
#include "services/web/front.h"

#include "generated/verbs.h"
#include "services/node/service.h"
#include "services/web/answer_page.h"
#include "services/web/ask.h"
#include "services/web/web.h"
#include "shared/base/clock.h"
#include "shared/http/access/gate.h"
#include "shared/http/access/oidc.h"
#include "shared/http/request/accept.h"
#include "shared/http/request/gather.h"
#include "shared/http/request/respond.h"

enum { FRESH_MS = 2000, SHOWN_MS = 10000 };

#define SUMMARY "The public, load-balanced front end for inference engines that you keep private."

static struct web *web_of(struct request *r)
{
    return service_state(r, "web");
}

static bool wants_page(struct request *r)
{
    return accept_prefers_page(request_header(r, "accept"));
}

static bool is_accepting(struct request *r)
{
    return !r->server->is_draining && queue_is_usable(r->server->services->queue);
}

/* NULL: there are none, or old ones. */
static const struct front_numbers *numbers_of(struct request *r)
{
    const struct front_numbers *numbers = &web_of(r)->numbers;
    bool is_known = numbers->read_ms != 0 && clock_mono_ms() - numbers->read_ms < SHOWN_MS;
    return is_known && is_accepting(r) ? numbers : NULL;
}

/* --- for programs ----------------------------------------------------------------------------- */

static void put_json(struct buf *b, struct request *r)
{
    const struct front_numbers *numbers = numbers_of(r);
    const struct oidc *oidc = r->server->gate->oidc;
    buf_printf(b, "{\"name\":\"Parley\",\"description\":\"" SUMMARY "\",\"accepting\":%s,",
               is_accepting(r) ? "true" : "false");
    buf_lit(b, "\"provider\":");
    if (oidc != NULL && oidc_has_client(oidc))
        buf_put_json(b, oidc_name(oidc));
    else
        buf_lit(b, "null");
    buf_put_char(b, ',');
    if (numbers == NULL)
        buf_lit(b, "\"depth\":null,\"parked_polls\":null,\"in_flight\":null,");
    else
        buf_printf(b, "\"depth\":%llu,\"parked_polls\":%llu,\"in_flight\":%llu,",
                   (unsigned long long)numbers->depth, (unsigned long long)numbers->parked,
                   (unsigned long long)numbers->in_flight);
    buf_lit(b,
            "\"links\":{\"app\":\"/app/\",\"handbook\":\"/handbook\",\"openapi\":\"/openapi.yaml\","
            "\"health\":\"/health\"}}");
}

/* --- for people ------------------------------------------------------------------------------- */

static const char *state_text(struct request *r, const struct front_numbers *numbers)
{
    if (r->server->is_draining)
        return "This node is shutting down. Other nodes continue serving.";
    if (!is_accepting(r))
        return "The store cannot be used. No question can be queued until it is back.";
    if (numbers == NULL)
        return "Questions are accepted.";
    if (numbers->is_partial)
        return "A part of the store is away. The numbers below leave it out.";
    if (numbers->parked + numbers->in_flight == 0)
        return "No engine is connected. Questions are accepted and wait for one.";
    return "Questions are accepted, and engines are there to answer them.";
}

static void put_entry(struct buf *b, const char *what, const uint64_t *number)
{
    buf_printf(b, "<div><dt>%s</dt><dd>", what);
    if (number == NULL)
        buf_lit(b, "unknown");
    else
        buf_put_u64(b, *number);
    buf_lit(b, "</dd></div>\n");
}

static void put_html(struct buf *b, struct request *r)
{
    const struct front_numbers *numbers = numbers_of(r);
    bool is_good =
        numbers != NULL && !numbers->is_partial && (numbers->parked > 0 || numbers->in_flight > 0);
    buf_put(b, front_frame.head);
    if (web_can_ask(r))
        answer_page_put_box(b, STR(""));
    buf_lit(b, "<section aria-labelledby=\"now\">\n<h2 id=\"now\">Now</h2>\n");
    buf_printf(b, "<p class=\"state%s\">%s</p>\n<dl>\n", is_good ? " is-good" : "",
               state_text(r, numbers));
    put_entry(b, "Questions waiting", numbers == NULL ? NULL : &numbers->depth);
    put_entry(b, "Free engine slots", numbers == NULL ? NULL : &numbers->parked);
    put_entry(b, "Topics being answered", numbers == NULL ? NULL : &numbers->in_flight);
    buf_lit(b, "</dl>\n</section>\n");
    buf_put(b, front_frame.foot);
}

/* --- the answer ------------------------------------------------------------------------------- */

static void answer(struct request *r)
{
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    respond_header(r, "vary", STR("Accept"));
    if (wants_page(r)) {
        put_html(b, r);
        respond_page(r, 200, &front_frame, true, b);
    } else {
        put_json(b, r);
        respond_json(r, 200, b);
    }
}

static void on_numbers(struct request *r, enum err error, const struct gather *all)
{
    struct front_numbers *numbers = &web_of(r)->numbers;
    uint64_t asked_ms = numbers->asked_ms;
    if (error == ERR_OK) {
        *numbers = (struct front_numbers){.asked_ms = asked_ms, .read_ms = clock_mono_ms()};
        numbers->is_partial = all->missing != 0;
        for (unsigned i = 0; i < all->n; i++) {
            struct lines lines = lines_of(all->replies[i]);
            if (gather_is_missing(all, i))
                continue;
            (void)lines_next(&lines); /* "ok" */
            numbers->depth += lines_next_u64(&lines);
            numbers->parked += lines_next_u64(&lines);
            numbers->in_flight += lines_next_u64(&lines);
        }
    }
    answer(r);
}

void web_show_front(struct request *r)
{
    struct front_numbers *numbers = &web_of(r)->numbers;
    struct str question = str_trim(request_param(r, "q"));
    uint64_t now_ms = clock_mono_ms();
    if (question.n > 0 && wants_page(r) && web_can_ask(r) && !request_is_head(r)) {
        web_ask(r, question);
        return;
    }
    bool is_fresh = numbers->asked_ms != 0 && now_ms - numbers->asked_ms < FRESH_MS;
    if (is_fresh || !is_accepting(r)) {
        answer(r);
        return;
    }
    numbers->asked_ms = now_ms;
    struct gather *all = gather_begin_partial(r, on_numbers);
    for (unsigned i = 0; i < all->n; i++)
        call_front(gather_call(r, i));
}
