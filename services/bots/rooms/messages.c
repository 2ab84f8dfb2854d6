/* SPDX-License-Identifier: MIT
 * messages.c - POST and GET /api/rooms/{id}/messages. */
#include "generated/verbs.h"
#include "services/bots/bots.h"
#include "services/bots/pull/pull.h"
#include "services/bots/rooms/handlers.h"
#include "services/bots/rooms/say.h"
#include "shared/ask/reply.h"
#include "shared/ask/storage_limit.h"
#include "shared/http/request/once.h"
#include "shared/http/request/pages.h"

enum { LIMIT_USUAL = 100, LIMIT_MAX = 1000, STORED_RETRY_S = 60, LIST_MAX_BYTES = 16 << 20 };

/* --- POST ------------------------------------------------------------------------------------- */

/* The message, with what is only for its sender inside. */
static void put_said(struct buf *b, const struct said *said)
{
    message_put(b, &said->end->message);
    if (said->private.n == 0 || b->is_over || b->n == 0)
        return;
    b->n--; /* the brace */
    buf_put_key(b, "private");
    buf_put(b, said->private);
    buf_put_char(b, '}');
}

static void on_said(void *context, const struct said *said)
{
    struct request *r = context;
    const struct post_end *end = said->end;
    struct lines refusal = lines_of(end->refusal);
    struct buf b;
    r->state = NULL;
    if (end->outcome == POST_STORED) {
        struct str tag = lines_next(&refusal);
        if (!reply_refuse(r, ERR_OK, tag, &refusal))
            respond_error(r, end->error, NULL);
        return;
    }
    if (end->error == ERR_NOT_FOUND) {
        rooms_refuse_missing(r);
        return;
    }
    if (end->outcome != POSTED) {
        bool is_full = end->error == ERR_TOO_MUCH_STORED || end->error == ERR_NAMESPACE_FULL;
        respond_error_more(r, end->error, end->detail, NULL, is_full ? STORED_RETRY_S : 0);
        return;
    }
    buf_init(&b, 2 * MESSAGE_JSON_MAX_BYTES);
    put_said(&b, said);
    respond_json(r, 201, &b);
    buf_fini(&b);
}

static void on_gone(struct request *r)
{
    say_leave(r->state);
}

void rooms_post(struct request *r)
{
    struct speech speech;
    struct bots_who who;
    char detail[POST_DETAIL_BYTES];
    struct str room = request_path_param(r, "id");
    if (r->account == NULL) { /* a bot (caller_key_is_open) */
        pull_late_answer(r);
        return;
    }
    if (r->nonce.is_set) { /* the message may have to be begun twice, its nonce cannot */
        request_handle_after_nonce(r);
        return;
    }
    if (!bots_speaker_of(r, &who) || !request_body(r))
        return;
    bool is_good = speech_read(r->members, r->member_n, &speech, detail);
    if (!is_good) {
        respond_error(r, ERR_BAD_REQUEST, detail);
    } else if (!message_is_room(room)) {
        rooms_refuse_missing(r);
    } else {
        r->state = say_start(bots_of(r), &who, room, &speech, storage_limit_of_account(r),
                             storage_limit_of_user(r), once_key(r), on_said, r);
        r->on_gone = on_gone;
    }
    speech_fini(&speech);
}

/* --- GET -------------------------------------------------------------------------------------- */

static bool is_cursor(struct str after)
{
    return after.n == 0 || message_is_id(after);
}

struct listing {
    struct bots_who who;
    struct pages pages;
    struct str last; /* of the newest message in the answer */
};

static void read_page(struct request *r);

static void on_page(struct request *r, enum err error, struct str reply)
{
    struct listing *listing = r->state;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines), last = STR("");
    uint64_t n = 0;
    if (error == ERR_OK && str_eq(tag, STR("missing"))) {
        rooms_refuse_missing(r);
        return;
    }
    if (reply_refuse(r, error, tag, &lines))
        return;
    bool is_more = lines_next_u64(&lines) == 1;
    struct buf *b = pages_buf(&listing->pages, r);
    if (b->n == 0)
        buf_lit(b, "{\"messages\":[");
    while (lines_are_left(&lines)) {
        struct message message = message_next(&lines);
        if (b->at[b->n - 1] != '[')
            buf_put_char(b, ',');
        message_put(b, &message);
        last = message.id;
        n++;
    }
    if (pages_go_on(&listing->pages, r, is_more ? last : STR(""), n, read_page))
        return;
    buf_lit(b, "]}");
    pages_respond(&listing->pages, r, b);
}

static void read_page(struct request *r)
{
    struct listing *listing = r->state;
    uint64_t limit = pages_limit(&listing->pages);
    call_message_list(request_call(r, on_page), .room = request_path_param(r, "id"),
                      .namespace = listing->who.namespace, .after = listing->pages.after,
                      .limit = limit > LIMIT_MAX ? LIMIT_MAX : limit);
}

static void on_list_gone(struct request *r)
{
    struct listing *listing = r->state;
    pages_fini(&listing->pages);
}

void rooms_messages(struct request *r)
{
    struct listing *listing = request_alloc(r, sizeof *listing);
    uint64_t limit;
    if (!bots_who_of(r, &listing->who) ||
        !request_param_u64(r, "limit", 1, LIMIT_MAX, LIMIT_USUAL, &limit) ||
        !pages_init(&listing->pages, r, STR(""), is_cursor))
        return;
    listing->pages.left = limit;
    r->state = listing;
    r->on_gone = on_list_gone;
    if (message_is_room(request_path_param(r, "id")))
        read_page(r);
    else
        rooms_refuse_missing(r);
}
