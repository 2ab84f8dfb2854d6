/* SPDX-License-Identifier: MIT
 * child_main.c - runs in the child (child.h): opens the database, then does one job after the other
 * until its node is gone. It logs nothing; reasons go to the node. It ends without the handlers of
 * exit(). */
#include "services/workflow/sql/child.h"

#include "shared/base/mem.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { REASON_MAX_BYTES = 500, DESCRIPTORS_MAX = 64, MEMORY_MAX_MIB = 512 };

/* Sanitizers reserve far more address space than any limit would leave. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#endif

/* SIGTERM and its like are for the node, which then closes the socket; a transaction under way ends
 * first. A file system that is full is an error to report. */
static void confine(void)
{
    static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGXFSZ, SIGPIPE};
    struct rlimit none = {0, 0}, files = {DESCRIPTORS_MAX, DESCRIPTORS_MAX};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0); /* it knows a password */
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_NOFILE, &files);
#ifndef IS_SANITIZED
    struct rlimit memory = {(rlim_t)MEMORY_MAX_MIB << 20, (rlim_t)MEMORY_MAX_MIB << 20};
    setrlimit(RLIMIT_AS, &memory);
#endif
}

/* ---- frames ---- */

static bool read_all(char *at, size_t n)
{
    while (n > 0) {
        ssize_t got = read(STDIN_FILENO, at, n);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        if (got > 0) {
            at += got;
            n -= (size_t)got;
        }
    }
    return true;
}

/* The next frame; NULL: the node is gone. */
static json_t *next_frame(void)
{
    uint32_t n;
    char reason[128], *bytes;
    json_t *frame = NULL;
    if (!read_all((char *)&n, sizeof n) || n > CHILD_FRAME_MAX_BYTES)
        return NULL;
    bytes = mem_alloc(n + 1);
    if (!read_all(bytes, n) || !json_parse((struct str){bytes, n}, reason, sizeof reason, &frame))
        frame = NULL;
    free(bytes);
    return frame;
}

/* Takes `frame`. */
static void reply(json_t *frame)
{
    if (frame == NULL || !child_put_frame(STDIN_FILENO, frame))
        _exit(1);
    json_decref(frame);
}

/* Messages of a database may have any bytes. */
static json_t *reason_json(struct buf *reason)
{
    struct str text = buf_str(reason);
    while (text.n > 0 && !str_is_utf8(text))
        text.n--;
    return json_stringn(text.n > 0 ? text.at : "", text.n);
}

/* ---- jobs ---- */

static void on_begin(void)
{
    reply(json_pack("{s:b}", "began", 1));
}

static void run_job(const struct database_kind *kind, void *database, const json_t *frame)
{
    struct database_answer answer = {.outcome = SQL_FAILED};
    struct str text = json_member_str(frame, "text");
    struct database_job job = {
        .task = (enum database_task)json_integer_value(json_object_get(frame, "task")),
        .run = json_member_str(frame, "run"),
        .step = (uint64_t)json_integer_value(json_object_get(frame, "step")),
        .text = text.at,
        .text_n = text.n,
        .on_begin = on_begin,
    };
    buf_init(&answer.reason, REASON_MAX_BYTES);
    kind->run(database, &job, &answer);
    bool is_lost = answer.is_lost;
    reply(json_pack("{s:i,s:o*,s:o*,s:o*,s:I,s:b,s:b,s:b,s:o}", "outcome", (int)answer.outcome,
                    "columns", answer.columns, "rows", answer.rows, "tables", answer.tables,
                    "row_n", (json_int_t)answer.row_n, "is_cut", answer.is_cut, "had_happened",
                    answer.had_happened, "is_lost", is_lost, "reason",
                    reason_json(&answer.reason)));
    buf_fini(&answer.reason);
    if (is_lost)
        _exit(0);
}

static void *open_database(const struct database_kind *kind, const json_t *frame)
{
    struct buf reason;
    void *database = NULL;
    struct database_settings settings = {.url = json_string_value(json_object_get(frame, "url")),
                                         .password =
                                             json_string_value(json_object_get(frame, "password")),
                                         .role = json_string_value(json_object_get(frame, "role"))};
    buf_init(&reason, REASON_MAX_BYTES);
    enum database_opened opened = kind->open(&settings, &database, &reason);
    reply(json_pack("{s:i,s:o}", "opened", (int)opened, "reason", reason_json(&reason)));
    buf_fini(&reason);
    return opened == DATABASE_OPEN ? database : NULL;
}

int child_run(void)
{
    confine();
    json_t *frame = next_frame();
    const char *url = json_string_value(json_object_get(frame, "url"));
    const struct database_kind *kind = url == NULL ? NULL : sql_find_kind(url);
    void *database = kind == NULL ? NULL : open_database(kind, frame);
    json_decref(frame);
    while (database != NULL && (frame = next_frame()) != NULL) {
        run_job(kind, database, frame);
        json_decref(frame);
    }
    _exit(0);
}
