/* SPDX-License-Identifier: MIT
 * agent_http.c - agents of kind http (agent.h): a POST to the agent's url, whose answer is the same
 * JSON object as a model's. The supervisor owns retries and the time of an attempt; an attempt that
 * another node repeats has the same Idempotency-Key.
 *
 * The client follows no redirects, and checks each address after DNS (http_client_settings), so a
 * name that resolves to something else the next time is checked again. */
#include "services/workflow/agents/model_prompt.h"
#include "services/workflow/trees/trees.h"
#include "services/workflow/workflow.h"
#include "shared/base/mem.h"
#include "shared/http/client/client.h"
#include "shared/http/client/webhook.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ANSWER_MAX_BYTES = 64 << 10,
    REQUEST_MAX_BYTES = 2 << 20, /* more than a messageBody, each byte of it escaped */
    REASON_BYTES = 256,
    SECRET_MAX_BYTES = 256,
    ID_BYTES = 96, /* of session, run, step and attempt */
    HEADER_BYTES = 160,
    /* Past the supervisor's deadline: that one says what happened. */
    GRACE_MS = 1000,
};

struct http_agent {
    agent_end_cb *on_end;
    void *context;
    struct http_call *call; /* NULL: not sent */
    struct loop *loop;
    struct deadline refusal; /* of one that could not be sent */
    char reason[REASON_BYTES];
};

static void end(struct http_agent *a, const struct agent_result *result)
{
    a->on_end(a->context, result);
    free(a);
}

static void end_without(struct http_agent *a, enum agent_outcome outcome, const char *reason)
{
    end(a, &(struct agent_result){.outcome = outcome, .reason = str_of(reason)});
}

/* --- the answer ------------------------------------------------------------------------------- */

static void take_answer(struct http_agent *a, const struct http_response *response)
{
    struct model_reply reply;
    const char *fault = model_reply_read(response->body, &reply);
    if (fault != NULL) {
        end_without(a, AGENT_BAD_ANSWER, fault);
        return;
    }
    struct agent_result result = {.outcome = AGENT_DECIDED,
                                  .is_yes = reply.is_yes,
                                  .confidence = reply.confidence,
                                  .reason = reply.reason,
                                  .output = reply.output};
    end(a, &result);
    json_decref(reply.json);
}

/* A status that is no success. 4xx is for good, except for those that say "later". */
static void take_status(struct http_agent *a, int status)
{
    bool is_redirect = status >= 300 && status < 400;
    bool is_later = status == 408 || status == 425 || status == 429 || status >= 500;
    char reason[REASON_BYTES];
    snprintf(reason, sizeof reason,
             is_redirect ? "its server answered %d, and redirects are not followed"
                         : "its server answered %d",
             status);
    end_without(a, is_later ? AGENT_NO_ANSWER : AGENT_REFUSED, reason);
}

static void on_done(void *context, const struct http_response *response)
{
    struct http_agent *a = context;
    char reason[REASON_BYTES];
    switch (response->outcome) {
    case HTTP_ANSWERED:
        if (response->status >= 200 && response->status < 300)
            take_answer(a, response);
        else
            take_status(a, response->status);
        return;
    case HTTP_TOO_LARGE: end_without(a, AGENT_BAD_ANSWER, "it is larger than 64 KiB"); return;
    case HTTP_REFUSED_PEER:
        end_without(a, AGENT_REFUSED,
                    "its url leads to a private address, which needs "
                    "PARLEY_ALLOW_PRIVATE_ENDPOINTS=on");
        return;
    case HTTP_BAD_URL: end_without(a, AGENT_REFUSED, "its url cannot be called"); return;
    default: break;
    }
    snprintf(reason, sizeof reason, "its server is %s: %s", http_outcome_name(response->outcome),
             response->reason);
    end_without(a, AGENT_NO_ANSWER, reason);
}

/* --- the request ------------------------------------------------------------------------------ */

static void put_request(struct buf *b, const struct agent_task *task)
{
    buf_lit(b, "{\"run\":\"");
    buf_put(b, task->session);
    buf_printf(b, ".%llu\",\"step\":%llu,\"agent\":", (unsigned long long)task->run,
               (unsigned long long)task->step);
    buf_put_json(b, task->agent->name);
    buf_put_key(b, "verb");
    buf_put_json(b, task->verb);
    buf_printf(b, ",\"attempt\":%u,\"messageBody\":", task->attempt);
    buf_put_json_value(b, task->body);
    buf_put_char(b, '}');
}

/* Read for each request, so that a new secret counts at once. Not through a pipe or device, on
 * which the node would wait. */
static bool read_key(struct str path, struct webhook_key *ret_key)
{
    char bytes[SECRET_MAX_BYTES], *name = str_copy(path);
    struct stat info;
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    free(name);
    if (fd < 0)
        return false;
    ssize_t n = -1;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
        n = read(fd, bytes, sizeof bytes);
    close(fd);
    bool is_good = n > 0 && webhook_read_secret((struct str){bytes, (size_t)n}, ret_key);
    OPENSSL_cleanse(bytes, sizeof bytes);
    return is_good;
}

static void on_refused(struct deadline *deadline)
{
    struct http_agent *a = container_of(deadline, struct http_agent, refusal);
    end_without(a, AGENT_REFUSED, a->reason);
}

static void refuse(struct http_agent *a, const char *reason)
{
    snprintf(a->reason, sizeof a->reason, "%s", reason);
    a->refusal.on_expire = on_refused;
    loop_set_deadline(a->loop, &a->refusal, 0);
}

/* Puts the header lines that Standard Webhooks asks for. */
static bool sign(const struct agent_task *task, struct str id, struct str body,
                 char headers[3][HEADER_BYTES])
{
    struct webhook_key key;
    char signature[WEBHOOK_SIGNATURE_BYTES + 1];
    uint64_t now_s = clock_wall_ms() / 1000;
    if (!read_key(task->agent->secret_file, &key))
        return false;
    webhook_sign(&key, id, now_s, body, signature);
    OPENSSL_cleanse(&key, sizeof key);
    snprintf(headers[0], HEADER_BYTES, "webhook-id: %.*s", STR_ARG(id));
    snprintf(headers[1], HEADER_BYTES, "webhook-timestamp: %llu", (unsigned long long)now_s);
    snprintf(headers[2], HEADER_BYTES, "webhook-signature: %s", signature);
    return true;
}

static void send_request(struct http_agent *a, struct http_client *client,
                         const struct agent_task *task, struct str body)
{
    static const struct http_events events = {.on_done = on_done};
    char id[ID_BYTES], key[HEADER_BYTES], trace[HEADER_BYTES], signing[3][HEADER_BYTES];
    const char *headers[8] = {"Content-Type: application/json", "Accept: application/json"};
    size_t n = 2;
    snprintf(id, sizeof id, "%.*s-%llu-%llu-%u", STR_ARG(task->session),
             (unsigned long long)task->run, (unsigned long long)task->step, task->attempt);
    snprintf(key, sizeof key, "Idempotency-Key: %s", id);
    headers[n++] = key;
    if (task->traceparent.n > 0) {
        snprintf(trace, sizeof trace, "traceparent: %.*s", STR_ARG(task->traceparent));
        headers[n++] = trace;
    }
    if (task->agent->secret_file.n > 0) {
        if (!sign(task, str_of(id), body, signing)) {
            refuse(a, "its secret_file has no secret of the form whsec_ and 24 to 64 bytes in "
                      "base64, or cannot be read");
            return;
        }
        for (size_t i = 0; i < 3; i++)
            headers[n++] = signing[i];
    }
    char *url = str_copy(task->agent->url);
    struct http_request request = {.method = "POST",
                                   .url = url,
                                   .headers = headers,
                                   .body = body,
                                   .timeout_ms = task->timeout_ms + GRACE_MS,
                                   .body_max_bytes = ANSWER_MAX_BYTES};
    a->call = http_call_start(client, &request, &events, a);
    free(url);
}

static void *start(struct workflow *workflow, const struct agent_task *task, agent_end_cb *on_end,
                   void *context)
{
    struct http_agent *a = mem_zeroed(sizeof *a);
    struct buf body;
    *a = (struct http_agent){.on_end = on_end, .context = context, .loop = workflow->server->loop};
    buf_init(&body, REQUEST_MAX_BYTES);
    put_request(&body, task);
    if (body.is_over)
        refuse(a, "messageBody is too large to be sent");
    else
        send_request(a, workflow->client, task, buf_str(&body));
    buf_fini(&body);
    return a;
}

static void cancel(void *running, bool is_final)
{
    struct http_agent *a = running;
    http_call_cancel(a->call);
    loop_cancel_deadline(a->loop, &a->refusal);
    free(a);
}

const struct agent_kind agent_http = {.name = "http", .start = start, .cancel = cancel};
