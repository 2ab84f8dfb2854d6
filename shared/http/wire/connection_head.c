/* SPDX-License-Identifier: MIT
 * connection_head.c - the heads of requests of HTTP/1 (connection_internal.h).
 *
 * libh2o is shown a head once it is whole. A request that is refused by its head is shown without
 * its body, so that it is answered the ordinary way, with everything that answers carry. */
#include "shared/http/wire/connection_internal.h"
#include "shared/http/wire/head.h"

enum {
    SCANS_MAX = 64, /* of an unfinished head; then only its end is looked for */
    HEAD_SLACK_BYTES = 4 << 10
};

/* There is no head to answer: a stand-in takes the place of what came. */
static void refuse_unread(struct connection *c, enum err error, const char *detail)
{
    static const char stand_in[] = "GET / HTTP/1.0\r\n\r\n";
    h2o_buffer_t **input = &c->socket->input;
    c->head_n = sizeof stand_in - 1;
    (*input)->size = 0;
    h2o_iovec_t room = h2o_buffer_reserve(input, c->head_n);
    memcpy(room.base, stand_in, c->head_n);
    (*input)->size = c->head_n;
    connection_pass_refused(c, (struct refusal){true, true, error, detail, 0});
}

struct refusal connection_refusal(enum err error, const char *detail)
{
    return (struct refusal){.is_set = true, .error = error, .detail = detail};
}

/* Returns what the head alone is refused for; sets how much of the body is taken. */
static struct refusal judge(struct connection *c, const struct head *head)
{
    if (head->length_n > 1)
        return connection_refusal(ERR_BAD_REQUEST,
                                  "The body length is specified more than once: send it once.");
    if (head->host_n > 1)
        return connection_refusal(ERR_BAD_REQUEST,
                                  "The request has more than one Host header: send one.");
    if (head->host_n == 0 && head->minor > 0)
        return connection_refusal(ERR_BAD_REQUEST,
                                  "The Host header is missing: HTTP/1.1 requires one.");
    bool is_known = head->has_length && head->length != UINT64_MAX;
    if (!head->is_chunked && (!is_known || (head->length <= ADMIT_UNASKED_BYTES && !head->expects)))
        return (struct refusal){.is_set = false};
    struct admit_ask ask = {.method = head->method,
                            .target = head->target,
                            .authorization = head->authorization,
                            .caller_key = head->caller_key,
                            .api_key = head->api_key,
                            .length = is_known ? head->length : UINT64_MAX};
    struct admission admission = c->all->wire->rules->admit(c->all->wire->arg, &ask);
    if (admission.is_refused)
        return (struct refusal){
            .is_set = true, .error = admission.error, .length = is_known ? head->length : 0};
    c->most_n = head->n + admission.most;
    bool is_large = is_known && head->length > ADMIT_UNASKED_BYTES;
    if (!connection_charge(c, is_large ? head->length : 0, admission.is_authenticated))
        return connection_refusal(ERR_BUSY, NULL);
    c->is_body_authenticated = admission.is_authenticated;
    if (admission.is_authenticated)
        connection_set_idle(c, false);
    return (struct refusal){.is_set = false};
}

/* libh2o would send it by itself and lose our callback. The socket has nothing else to write. */
static void send_continue(struct connection *c)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    connection_send_now(c, text, sizeof text - 1);
}

static void take_good_head(struct connection *c, const struct head *head)
{
    h2o_buffer_t **input = &c->socket->input;
    struct refusal refusal = judge(c, head);
    bool has_body = head->is_chunked || (head->has_length && head->length != UINT64_MAX);
    size_t end_n = head->n + (head->is_chunked || !has_body ? 0 : head->length);
    unsigned hidden = (head->expects ? HEAD_EXPECT : 0) | (head->wants_h2c ? HEAD_H2C : 0) |
                      (refusal.is_set ? HEAD_BODY | HEAD_EXPECT : 0);
    c->head_n = head->n;
    if (hidden != 0)
        head_hide((*input)->bytes, head->n, hidden);
    if (refusal.is_set) {
        (*input)->size = head->n;
        connection_pass_refused(c, refusal);
        return;
    }
    if (head->expects && has_body && head->minor > 0 && (*input)->size == head->n)
        send_continue(c);
    if (has_body) {
        connection_move(c, head->is_chunked ? CONNECTION_CHUNKS : CONNECTION_BODY);
        if (c->state == CONNECTION_BODY)
            c->most_n = end_n;
        if (end_n > (*input)->size && c->charged > 0)
            connection_make_room(input, end_n);
    }
    (void)!connection_pass(c, NULL);
}

/* Did the end of a head come with what was read last? */
static bool has_end(const h2o_socket_t *socket)
{
    const h2o_buffer_t *input = socket->input;
    size_t n = socket->bytes_read + 3 < input->size ? socket->bytes_read + 3 : input->size;
    const char *at = input->bytes + input->size - n;
    return memmem(at, n, "\n\r\n", 3) != NULL || memmem(at, n, "\n\n", 2) != NULL;
}

/* libh2o gets the preface alone: what follows it is frames. */
void connection_take_preface(struct connection *c)
{
    if (c->socket->input->size < HEAD_PREFACE_BYTES)
        return;
    connection_move(c, CONNECTION_HTTP2);
    connection_push_back(c, HEAD_PREFACE_BYTES);
    if (connection_pass(c, NULL) && c->rest != NULL)
        connection_recheck(c);
}

void connection_take_head(struct connection *c)
{
    const h2o_buffer_t *input = c->socket->input;
    size_t most = c->all->wire->config->header_max_bytes + HEAD_SLACK_BYTES;
    enum head_state state = HEAD_UNFINISHED;
    struct head head;
    if (c->scan_n++ < SCANS_MAX || has_end(c->socket))
        state = head_read(input->bytes, input->size, &head);
    switch (state) {
    case HEAD_UNFINISHED:
        if (input->size > most)
            refuse_unread(c,
                          memchr(input->bytes, '\n', input->size) == NULL ? ERR_URI_TOO_LONG
                                                                          : ERR_HEADERS_TOO_LARGE,
                          NULL);
        break;
    case HEAD_GOOD: take_good_head(c, &head); break;
    case HEAD_BROKEN: refuse_unread(c, ERR_BAD_REQUEST, "This is not a valid HTTP request."); break;
    case HEAD_TOO_MANY: refuse_unread(c, ERR_HEADERS_TOO_LARGE, NULL); break;
    case HEAD_HTTP2: connection_take_preface(c); break;
    }
}
