/* SPDX-License-Identifier: MIT
 * ask.c - see ask.h.
 *
 *   web_ask --POST /ask--> on_answer --> the page
 *                |  the client leaves
 *                +--------> on_left: the question is withdrawn */
#include "services/web/ask.h"

#include "services/web/answer_page.h"
#include "shared/ask/refusal.h"
#include "shared/http/request/inner.h"
#include "shared/http/request/peer.h"
#include "shared/http/request/respond.h"
#include "shared/http/request/router.h"

enum { BODY_MAX_BYTES = 64 << 10 };

struct visit {
    struct request *r;
    struct str question;
    struct inner inner;
    struct left_listener left;
    bool is_answered;
};

bool web_can_ask(const struct request *r)
{
    const char *allow;
    return router_find(r->server->router, STR("POST"), STR("/ask"), &allow) != NULL;
}

static void on_answer(struct inner *inner, int status, struct str body)
{
    struct visit *visit = container_of(inner, struct visit, inner);
    struct buf page;
    struct str wait = inner_header(inner, "retry-after");
    visit->is_answered = true;
    request_off_left(visit->r, &visit->left);
    buf_init(&page, ANSWER_PAGE_MAX_BYTES);
    answer_page_put(&page, visit->question, body);
    if (wait.at != NULL)
        respond_header(visit->r, "retry-after", wait);
    respond_page(visit->r, status, &answer_frame, true, &page);
    buf_fini(&page);
}

static void on_left(struct left_listener *listener)
{
    struct visit *visit = container_of(listener, struct visit, left);
    struct refusal refusal;
    inner_end(&visit->inner, false);
    refusal_of_drain(&refusal);
    refusal_respond(visit->r, &refusal);
}

static void on_gone(struct request *r)
{
    struct visit *visit = r->state;
    inner_end(&visit->inner, visit->is_answered);
}

void web_ask(struct request *r, struct str question)
{
    struct visit *visit = request_alloc(r, sizeof *visit);
    struct buf body;
    *visit = (struct visit){.r = r,
                            .question = question,
                            .inner = {.on_answer = on_answer},
                            .left = {.on_left = on_left}};
    r->state = visit;
    r->on_gone = on_gone;
    request_park(r);
    request_on_left(r, &visit->left);
    buf_init(&body, BODY_MAX_BYTES);
    buf_lit(&body, "{\"question\":");
    buf_put_json(&body, question);
    buf_put_char(&body, '}');
    inner_start(&visit->inner, r->server,
                &(struct inner_call){.peer = peer_address(r),
                                     .id = r->id,
                                     .method = "POST",
                                     .target = STR("/ask"),
                                     .body = buf_str(&body)});
    buf_fini(&body);
}
