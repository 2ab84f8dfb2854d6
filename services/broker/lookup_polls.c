/* SPDX-License-Identifier: MIT
 * lookup_polls.c - engines that wait for fragments to look up, and what they found (lua/lookup). A
 * poll is one of the queue's, as get_new_queries.c has them. */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/http/request/explain.h"
enum { MATCHES_MAX = 100, MATCHES_MAX_BYTES = 1 << 20 /* as lua/lookup/match.lua takes them */ };

static void answer_none(struct request *r)
{
    respond_error(r, ERR_NOT_FOUND, "No lookup is waiting.");
}

static void on_claim(struct engine_poll *p, struct claim *claim)
{
    struct buf *b = &p->r->server->scratch;
    struct lines lines = claim->queries;
    delivery_note(&p->delivery, p->r, claim);
    buf_clear(b);
    buf_lit(b, "{\"Fragment\":");
    buf_put(b, lines_next(&lines));
    buf_printf(b, ",\"Fingerprint\":\"%.*s\",\"Count\":", STR_ARG(claim->topic));
    buf_put(b, lines_next(&lines));
    buf_put_key(b, "Threshold");
    buf_put(b, lines_next(&lines));
    buf_put_char(b, '}');
    respond_json(p->r, 200, b);
}

static void on_gone(struct request *r)
{
    engine_poll_fini(r->state);
}

void broker_get_new_lookup(struct request *r)
{
    uint64_t wait_s;
    if (!params_wait(r, WAIT_FOR_LOOKUP, &wait_s))
        return;
    struct engine_poll *p = r->state = request_alloc(r, sizeof *p);
    *p = (struct engine_poll){.on_claim = on_claim, .answer_empty = answer_none};
    r->on_gone = on_gone;
    engine_poll_start(p, r, LOOKUPS_OF_ALL, wait_s);
}

static void on_matched(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    if (error == ERR_OK && str_eq(tag, STR("missing")))
        (void)explain_missing(r, "lookup with the Fingerprint",
                              request_member_text(r, "Fingerprint"),
                              "It may have been answered, or its topic deleted.");
    else if (!reply_refuse(r, error, tag, &lines))
        respond_json_fixed(r, 200, STR("{\"status\":\"OK\"}"));
}

void broker_give_new_matches(struct request *r)
{
    struct str print;
    if (!request_body(r) || !request_text(r, "Fingerprint", 1, 40, &print))
        return;
    const struct json_span *matches = request_member(r, "Matches");
    bool is_good = matches != NULL && matches->kind == JSON_SPAN_LIST;
    struct json_span item;
    size_t n = 0;
    for (struct str rest = json_list_inside(matches); json_next_item(&rest, &item); n++)
        is_good = is_good && item.kind == JSON_SPAN_TEXT && n < MATCHES_MAX;
    if (!is_good) {
        (void)explain_member(r, "Matches", "a list of at most 100 strings");
        return;
    }
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_put_span(b, matches);
    if (b->is_over || b->n > MATCHES_MAX_BYTES) {
        explain(r, ERR_TOO_LARGE, "Matches take %llu %s as JSON: at most 1 MiB is stored.",
                COUNTED(b->n, "byte"));
        return;
    }
    struct str name = names_of(r, print);
    call_match(request_call(r, on_matched), .fingerprint = name, .matches = buf_str(b));
}
