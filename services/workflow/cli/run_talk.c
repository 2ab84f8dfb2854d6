/* SPDX-License-Identifier: MIT
 * run_talk.c - the envelopes of `parley workflow run` (/openapi.yaml, /ws).
 *
 *   connected --request--> frames ... --stop--> a person --answer--> frames ... --> the last one
 *       '-- after a lost connection: resume since the last seq --^
 *
 * A connection that is lost before the first frame leaves open whether the run has begun: it is
 * resumed first, and begun only if the node has no such run. An answer that was not followed by a
 * frame is sent again; of two equal ones the second changes nothing. */
#include "services/workflow/cli/run.h"

#include "shared/base/clock.h"
#include "shared/base/shown.h"

#include <stdio.h>
#include <stdlib.h>

/* A stop that is replayed may have been answered: what followed it comes within this time. */
enum { ENVELOPE_BYTES = 256 << 10, REASON_BYTES = 200, REPLAY_MS = 1000 };

/* --- sending ---------------------------------------------------------------------------------- */

static void put_head(struct buf *b, const struct run_cli *run, const char *type)
{
    buf_printf(b, "{\"type\":\"%s\",\"version\":\"1.1\",\"timestamp\":%llu", type,
               (unsigned long long)clock_wall_ms());
    buf_put_key(b, "session_id");
    buf_put_json(b, str_of(run->session));
    buf_put_key(b, "request_id");
    buf_put_json(b, str_of(run->request));
}

static void send_resume(struct run_cli *run)
{
    struct buf b;
    buf_init(&b, ENVELOPE_BYTES);
    put_head(&b, run, "resume");
    buf_printf(&b, ",\"since\":%llu}", (unsigned long long)run->seq);
    websocket_client_send(run->socket, buf_str(&b));
    buf_fini(&b);
    run->is_resuming = run->is_replaying = true;
}

/* Only GENERIC, which is routed to a verb, begins at an agent other than its tree's root. */
static void send_request(struct run_cli *run)
{
    struct buf b;
    buf_init(&b, ENVELOPE_BYTES);
    put_head(&b, run, "request");
    buf_put_key(&b, "verb");
    buf_put_json(&b, str_of(run->verb));
    if (strcmp(run->verb, "GENERIC") == 0)
        buf_lit(&b, ",\"nextAgent\":\"model.LanguageCapo\"");
    buf_lit(&b, ",\"messageBody\":{\"raw_text\":");
    buf_put_json(&b, str_of(run->raw));
    buf_lit(&b, "}}");
    websocket_client_send(run->socket, buf_str(&b));
    buf_fini(&b);
    run->is_begun = true;
    run->is_resuming = run->is_replaying = false;
}

void run_greet(struct run_cli *run)
{
    if (!run->is_begun && run->verb != NULL)
        send_request(run);
    else
        send_resume(run);
    if (run->answer != NULL)
        websocket_client_send(run->socket, str_of(run->answer));
}

static void send_answer(struct run_cli *run, bool is_approved, const json_t *corrections)
{
    struct buf b;
    buf_init(&b, ENVELOPE_BYTES);
    put_head(&b, run, "response");
    buf_printf(&b, ",\"hitl_response\":{\"approved\":%s", is_approved ? "true" : "false");
    if (corrections != NULL) {
        buf_put_key(&b, "corrections");
        buf_put_json_value(&b, corrections);
    }
    buf_put_key(&b, "approved_by");
    buf_put_json(&b, str_of(run->user));
    buf_lit(&b, "}}");
    if (b.is_over) {
        run_complain("the correction is larger than %d bytes", ENVELOPE_BYTES);
        run_show_prompt();
    } else {
        run->is_replaying = false;
        free(run->answer);
        run->answer = str_copy(buf_str(&b));
        websocket_client_send(run->socket, buf_str(&b));
    }
    buf_fini(&b);
}

/* --- what is typed ---------------------------------------------------------------------------- */

/* The field that NAME=VALUE corrects; NULL: the line has another form. */
static const json_t *find_field(const struct run_cli *run, struct str name, bool *ret_is_known)
{
    const json_t *form = json_object_get(json_object_get(run->stop, "hitl"), "form");
    const json_t *body = json_object_get(run->stop, "messageBody");
    char key[128];
    *ret_is_known = false;
    if (name.n == 0 || name.n >= sizeof key)
        return NULL;
    snprintf(key, sizeof key, "%.*s", STR_ARG(name));
    const json_t *field = json_object_get(json_object_get(form, "properties"), key);
    *ret_is_known = field != NULL || json_object_get(body, key) != NULL;
    return field;
}

/* A text, unless the form wants something else and the value is that. */
static json_t *read_value(const json_t *field, struct str value)
{
    char reason[REASON_BYTES];
    json_t *json = NULL;
    struct str type = json_member_str(field, "type");
    if (type.at != NULL && !str_eq(type, STR("string")) &&
        json_parse(value, reason, sizeof reason, &json))
        return json;
    return json_stringn(value.at, value.n);
}

/* An object, NAME=VALUE, or the request in other words. NULL after a line: it is none. */
static json_t *read_corrections(const struct run_cli *run, struct str line)
{
    char reason[REASON_BYTES];
    json_t *corrections = NULL;
    bool is_known;
    if (line.at[0] == '{') {
        if (json_parse(line, reason, sizeof reason, &corrections) && json_is_object(corrections))
            return corrections;
        json_decref(corrections);
        run_complain("the correction is not a JSON object");
        return NULL;
    }
    struct str value = line, name = str_trim(str_cut(&value, '='));
    const json_t *field = find_field(run, name, &is_known);
    corrections = json_object();
    if (value.at != NULL && is_known)
        json_object_setn_new(corrections, name.at, name.n, read_value(field, str_trim(value)));
    else
        json_object_set_new(corrections, "raw_text", json_stringn(line.at, line.n));
    return corrections;
}

static bool is_word(struct str line, const char *letter, const char *word)
{
    return str_eq_nocase(line, str_of(letter)) || str_eq_nocase(line, str_of(word));
}

void run_take_line(struct run_cli *run, struct str line)
{
    line = str_trim(line);
    if (run->stop == NULL || run->answer != NULL || run->socket == NULL)
        return;
    if (is_word(line, "y", "yes") || is_word(line, "n", "no")) {
        send_answer(run, line.at[0] == 'y' || line.at[0] == 'Y', NULL);
        return;
    }
    json_t *corrections = line.n == 0 || !str_is_utf8(line) ? NULL : read_corrections(run, line);
    if (corrections == NULL)
        run_show_prompt();
    else
        send_answer(run, true, corrections);
    json_decref(corrections);
}

/* --- what comes ------------------------------------------------------------------------------- */

static void end_with(struct run_cli *run, int code)
{
    run->is_over = true;
    run->code = code;
}

/* Lines for those who read no terminal, or are no approvers. */
static void say_what_next(const struct run_cli *run)
{
    struct buf who, next;
    buf_init(&who, ENVELOPE_BYTES);
    buf_init(&next, ENVELOPE_BYTES);
    run_put_who(&who, run);
    run_put_next(&next, run);
    if (!run->is_terminal)
        run_complain("the run waits for a person: %.*s", STR_ARG(buf_str(&who)));
    run_complain("%.*s", STR_ARG(buf_str(&next)));
    buf_fini(&who);
    buf_fini(&next);
}

void run_take_stop(struct run_cli *run)
{
    run->stop_ms = 0;
    if (run->reply != RUN_ASK) {
        run_take_line(run, run->reply == RUN_APPROVE ? STR("y") : STR("n"));
        return;
    }
    if (!run->is_json)
        run_show_stop(run);
    if (run->is_terminal && run_may_answer(run)) {
        run_show_prompt();
        return;
    }
    fflush(stdout);
    say_what_next(run);
    if (!run->is_terminal)
        end_with(run, RUN_EXIT_WAITS);
    else
        puts("This command continues once they have answered; Ctrl-C leaves the run as it is.");
}

static void take_step(struct run_cli *run, json_t *frame, struct str text)
{
    const json_t *seq = json_object_get(frame, "seq");
    long long code = (long long)json_integer_value(json_object_get(frame, "returnCode"));
    if (!json_is_integer(seq) || (uint64_t)json_integer_value(seq) <= run->seq)
        return; /* it was seen before the connection was lost */
    if (run->stop != NULL && run->answer == NULL && run->is_terminal)
        putchar('\n'); /* somebody else has answered, and the prompt is still there */
    run->seq = (uint64_t)json_integer_value(seq);
    json_decref(run->stop);
    run->stop = NULL;
    free(run->answer);
    run->answer = NULL;
    if (run->is_json)
        printf("%.*s\n", STR_ARG(text));
    else
        run_show_step(frame);
    run->stop_ms = 0;
    if (json_object_get(frame, "hitl") != NULL) {
        run->stop = json_incref(frame);
        run->stop_ms = clock_mono_ms() + (run->is_replaying ? REPLAY_MS : 0);
    } else if (code != 0) {
        if (!run->is_json)
            run_show_end(frame);
        end_with(run, code == 1 ? 0 : RUN_EXIT_REJECTED);
    }
    fflush(stdout);
}

static void take_error(struct run_cli *run, const json_t *frame)
{
    struct str reason = json_member_str(frame, "reason");
    struct buf shown;
    if (run->is_resuming && run->seq == 0 && run->verb != NULL) {
        send_request(run); /* the one that was lost with its connection */
        return;
    }
    buf_init(&shown, ENVELOPE_BYTES);
    buf_put_shown(&shown, reason.at == NULL ? STR("an error without a reason") : reason);
    run_complain("%.*s", STR_ARG(buf_str(&shown)));
    buf_fini(&shown);
    bool is_refused_answer = run->answer != NULL;
    free(run->answer);
    run->answer = NULL;
    if (is_refused_answer && run->is_terminal && run->reply == RUN_ASK)
        run_show_prompt();
    else
        end_with(run, 1);
}

void run_take_frame(struct run_cli *run, struct str text)
{
    char reason[REASON_BYTES];
    json_t *frame = NULL;
    if (run->is_over)
        return;
    if (!json_parse(text, reason, sizeof reason, &frame) || !json_is_object(frame)) {
        run_complain("a frame that is not a JSON object: %s", reason);
        end_with(run, 1);
    } else if (str_eq(json_member_str(frame, "type"), STR("error"))) {
        take_error(run, frame);
    } else {
        run->is_resuming = false;
        take_step(run, frame, text);
    }
    json_decref(frame);
}
