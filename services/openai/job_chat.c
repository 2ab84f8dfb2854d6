/* SPDX-License-Identifier: MIT
 * job_chat.c - answers as OpenAI's chat completions, completions and embeddings (job_form.h). */
#include "services/openai/job_answer.h"
#include "services/openai/vectors.h"

/* Names each chunk. */
static void open_chunks(struct job *job)
{
    struct buf head;
    buf_init(&head, 4096);
    job_put_head(&head, job, job_apis[job->settings.api].chunk);
    job->chunks = (struct chunks){.api = job->settings.api,
                                  .head = request_copy(job->r, buf_str(&head)),
                                  .has_usage = job->settings.has_usage,
                                  .usage = &job->usage};
    buf_fini(&head);
}

static void give(struct job *job, struct str delta)
{
    struct buf b;
    buf_init(&b, JOB_ANSWER_MAX_BYTES);
    chunks_put(&job->chunks, &b, delta);
    if (b.n > 0)
        job_put_event(job, NULL, &b);
    buf_fini(&b);
}

static void put_done(struct job *job)
{
    stream_put(&job->stream, NULL, STR(""), STR("[DONE]"));
}

static void give_error(struct job *job, const struct buf *error)
{
    job_put_event(job, NULL, error);
    put_done(job);
}

static void end(struct job *job)
{
    struct buf b;
    size_t n;
    buf_init(&b, 64 << 10);
    do {
        buf_clear(&b);
        chunks_put_end(&job->chunks, &b, job->finish);
        n = b.n;
        if (n > 0)
            job_put_event(job, NULL, &b);
    } while (n > 0);
    chunks_put_usage(&job->chunks, &b);
    if (b.n > 0)
        job_put_event(job, NULL, &b);
    put_done(job);
    buf_fini(&b);
}

/* Returns false if the engine has sent no vector. */
static bool put_embeddings(struct buf *b, const struct job *job)
{
    buf_lit(b, "{\"object\":\"list\",\"data\":[");
    size_t n = vectors_put(b, buf_str(&job->merged.data), job->settings.wants_base64);
    buf_lit(b, "],\"model\":");
    buf_put_json(b, job->settings.model);
    buf_lit(b, ",\"usage\":");
    usage_put(&job->usage, b, false);
    buf_put_char(b, '}');
    return n > 0;
}

static bool put_whole(struct buf *b, const struct job *job)
{
    if (job->settings.api == OPENAI_EMBEDDINGS)
        return put_embeddings(b, job);
    job_put_head(b, job, job_apis[job->settings.api].object);
    job_put_rest(b, job);
    buf_put_char(b, '}');
    return true;
}

static void put_member(struct buf *b, const struct members *fault, const char *name,
                       const char *fallback)
{
    const struct json_span *value = members_get_kind(fault, name, JSON_SPAN_TEXT);
    buf_printf(b, ",\"%s\":", name);
    if (value != NULL)
        members_put_span(b, value);
    else
        buf_put(b, str_of(fallback));
}

static void put_fault(struct buf *b, const struct job *job, const struct members *fault,
                      uint64_t status)
{
    (void)job;
    buf_lit(b, "{\"error\":{\"message\":");
    job_put_fault_message(b, fault);
    put_member(b, fault, "type", status < 500 ? "\"invalid_request_error\"" : "\"server_error\"");
    put_member(b, fault, "param", "null");
    put_member(b, fault, "code", "null");
    buf_lit(b, "}}");
}

const struct job_form job_chat_form = {.name = "",
                                       .problem = openai_put_problem,
                                       .first = ": ping\n",
                                       .comment = ": ping\n",
                                       .open = open_chunks,
                                       .give = give,
                                       .end = end,
                                       .give_error = give_error,
                                       .put_whole = put_whole,
                                       .put_fault = put_fault};
