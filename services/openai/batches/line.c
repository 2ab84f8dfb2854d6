/* SPDX-License-Identifier: MIT
 * line.c - see line.h. */
#include "services/openai/batches/line.h"

#include "services/openai/members.h"
#include "shared/base/clock.h"
#include "shared/base/mem.h"
#include "shared/base/sm.h"

#include <stdlib.h>

enum {
    RESULT_MAX_BYTES = 36 << 20, /* as lua/batches/batch_put.lua takes it */
    AGAIN_MIN_MS = 1000,
    AGAIN_MAX_MS = 60000,
    LOST_MAX = 3, /* times that engines may fail at it */
    ID_BYTES = 12,
};

static const struct sm_state states[] = {
    [LINE_WAITING] = {"WAITING", SM(LINE_RUNNING) | SM(LINE_ANSWERED)},
    [LINE_RUNNING] = {"RUNNING", SM(LINE_WAITING) | SM(LINE_ANSWERED)},
    [LINE_ANSWERED] = {"ANSWERED", SM(LINE_STORING)},
    [LINE_STORING] = {"STORING", SM(LINE_ANSWERED)},
};
static const struct sm sm = SM_OF("line", states);

void line_move(struct line *line, enum line_state to)
{
    line->state = sm_move(&sm, line->sm_id, line->state, to);
}

/* --- results ---------------------------------------------------------------------------------- */

static void begin_result(struct line *line)
{
    char id[2 * ID_BYTES + 1];
    buf_fini(&line->result);
    buf_init(&line->result, RESULT_MAX_BYTES);
    str_random_hex(ID_BYTES, id);
    buf_printf(&line->result, "{\"id\":\"batch_req_%s\",\"custom_id\":", id);
    buf_put(&line->result, str_of(line->custom_id));
}

void line_fail(struct line *line, enum line_kind kind, const char *code, const char *message)
{
    struct buf *b = &line->result;
    inner_withdraw(&line->inner);
    begin_result(line);
    buf_printf(b, ",\"response\":null,\"error\":{\"code\":\"%s\",\"message\":", code);
    buf_put_json(b, str_of(message));
    buf_lit(b, "}}\n");
    line->kind = kind;
    line_move(line, LINE_ANSWERED);
}

/* JSON on one line. */
static void put_body(struct buf *b, struct str body)
{
    for (struct str rest = body; rest.at != NULL;) {
        buf_put(b, str_cut(&rest, '\n'));
        if (rest.at != NULL)
            buf_put_char(b, ' ');
    }
}

static void take_answer(struct line *line, int status, struct str body)
{
    struct buf *b = &line->result;
    begin_result(line);
    buf_printf(b, ",\"response\":{\"status_code\":%d,\"request_id\":", status);
    buf_put_json(b, line->inner.request->id);
    buf_lit(b, ",\"body\":");
    put_body(b, body);
    buf_lit(b, "},\"error\":null}\n");
    line->kind = status == 200 ? LINE_OUTPUT : LINE_ERROR;
    line_move(line, LINE_ANSWERED);
}

/* --- requests --------------------------------------------------------------------------------- */

/* The word of an error; "" if it has none. Borrows from `body`. */
static struct str code_of(struct str body)
{
    struct members members, error;
    const struct json_span *at = NULL;
    if (members_read(&members, body))
        at = members_get_kind(&members, "error", JSON_SPAN_OBJECT);
    if (at == NULL || !members_read(&error, at->raw))
        return STR("");
    at = members_get_kind(&error, "code", JSON_SPAN_TEXT);
    return at == NULL ? STR("") : at->raw;
}

/* Is it sent again? What passes by itself is, until the batch expires; an engine that fails at it,
 * a few times. */
static bool is_again(struct line *line, int status, struct str body)
{
    struct str code = code_of(body);
    if (status == 429)
        return true;
    if (status == 404)
        return str_eq(code, STR("model_not_found"));
    if (status != 503)
        return false;
    if (str_eq(code, STR("engine_failed")) || str_eq(code, STR("engine_lost")))
        return ++line->lost_n < LOST_MAX;
    return true;
}

static void wait_again(struct line *line)
{
    uint64_t ms = (uint64_t)AGAIN_MIN_MS << (line->tries < 6 ? line->tries : 6);
    line->tries++;
    line_move(line, LINE_WAITING);
    line->again_ms = clock_mono_ms() + (ms < AGAIN_MAX_MS ? ms : AGAIN_MAX_MS);
}

static void on_answer(struct inner *inner, int status, struct str body)
{
    struct line *line = container_of(inner, struct line, inner);
    if (is_again(line, status, body))
        wait_again(line);
    else
        take_answer(line, status, body);
    feeder_wake(line->feeder, 0);
}

static void on_event(struct inner *inner, const char *event, struct str data)
{
    (void)inner;
    (void)event;
    (void)data;
}

static void on_end(struct inner *inner)
{
    struct line *line = container_of(inner, struct line, inner);
    wait_again(line);
    feeder_wake(line->feeder, 0);
}

void line_send(struct line *line, const struct account *account, struct str user)
{
    line_move(line, LINE_RUNNING);
    inner_start(&line->inner, line->feeder->all->openai->server,
                &(struct inner_call){.account = account,
                                     .peer = STR("127.0.0.1"),
                                     .user = account->role == ROLE_FRONTEND ? user : STR(""),
                                     .method = "POST",
                                     .target = str_of(line->feeder->endpoint),
                                     .body = {line->body, line->body_n},
                                     .is_behind = true});
}

/* --- life ------------------------------------------------------------------------------------- */

void line_add(struct feeder *feeder, const struct input_line *said, uint64_t number, uint64_t ends)
{
    struct line *line = mem_zeroed(sizeof *line);
    *line = (struct line){.feeder = feeder,
                          .inner = {.on_answer = on_answer, .on_event = on_event, .on_end = on_end},
                          .sm_id = sm_number(),
                          .number = number,
                          .ends = ends,
                          .custom_id = str_copy(said->custom_id),
                          .body = str_copy(said->body),
                          .body_n = said->body.n};
    list_append(&feeder->lines, &line->link);
    feeder->line_n++;
    feeder->line_bytes += line->body_n;
}

void line_free(struct line *line)
{
    inner_end(&line->inner, false);
    list_remove(&line->link);
    line->feeder->line_n--;
    line->feeder->line_bytes -= line->body_n;
    buf_fini(&line->result);
    free(line->custom_id);
    free(line->body);
    free(line);
}
