/* SPDX-License-Identifier: MIT
 * ask_documents.c - questions over documents: of the account, after the files of --file were
 * uploaded and indexed, or of the public collection. Such a question ends with its connection. */
#include "services/client/ask.h"

#include "shared/base/shown.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

enum {
    FILE_MAX_BYTES = 64 << 20, /* nodes take less, and say so */
    PATH_MAX_BYTES = 512,
    QUESTION_MAX_BYTES = 2 << 20,
    BOUNDARY_BYTES = 16,
    HEADER_BYTES = 128,
    ID_MAX_BYTES = 64,
    NAME_SHOWN_BYTES = 512,
    UPLOAD_MS = 600000,
    POLL_MS = 300
};

/* --- a file ----------------------------------------------------------------------------------- */

/* False after a line. */
static bool read_file(struct ask *x, const char *path, struct buf *body)
{
    FILE *file = fopen(path, "re");
    struct stat info = {0};
    const char *wrong = NULL;
    if (file == NULL || fstat(fileno(file), &info) != 0)
        wrong = strerror(errno);
    else if (!S_ISREG(info.st_mode))
        wrong = "it is not a regular file";
    else if (info.st_size > FILE_MAX_BYTES)
        wrong = "it is larger than 64 MiB";
    char *room = wrong == NULL ? buf_reserve(body, (size_t)info.st_size) : NULL;
    if (wrong == NULL && info.st_size > 0) {
        size_t n = fread(room, 1, (size_t)info.st_size, file);
        body->n += n;
        wrong = ferror(file) ? strerror(errno) : NULL;
    }
    if (file != NULL)
        fclose(file);
    return wrong == NULL || node_calls_complain(&x->calls, "--file %s: %s", path, wrong);
}

/* The last part of its path, as a quoted parameter of a part's head (RFC 7578). */
static void put_name(struct buf *b, const char *path)
{
    const char *slash = strrchr(path, '/');
    for (const char *c = slash == NULL ? path : slash + 1; *c != 0; c++) {
        if (*c == '"' || *c == '\r' || *c == '\n')
            buf_printf(b, "%%%02X", (unsigned)*c);
        else
            buf_put_char(b, *c);
    }
}

static bool put_form(struct ask *x, struct buf *body, const char *boundary, const char *path)
{
    buf_printf(body, "--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"",
               boundary);
    put_name(body, path);
    buf_lit(body, "\"\r\nContent-Type: application/octet-stream\r\n\r\n");
    if (!read_file(x, path, body))
        return false;
    buf_printf(body, "\r\n--%s--\r\n", boundary);
    return true;
}

/* --- uploading and waiting -------------------------------------------------------------------- */

/* Returns an exit code. The document's id goes to `id`. */
static int upload(struct ask *x, const char *path, struct buf *id)
{
    char boundary[2 * BOUNDARY_BYTES + 1], type[HEADER_BYTES];
    struct buf body;
    json_t *uploaded = NULL;
    int code = 0;
    str_random_hex(BOUNDARY_BYTES, boundary);
    snprintf(type, sizeof type, "Content-Type: multipart/form-data; boundary=%s", boundary);
    buf_init(&body, FILE_MAX_BYTES + PATH_MAX_BYTES * 16);
    if (!put_form(x, &body, boundary, path))
        code = ASK_BROKEN;
    const struct node_call call = {.method = "POST",
                                   .path = "/api/docs/upload",
                                   .body = buf_str(&body),
                                   .body_type = type,
                                   .attempt_ms = UPLOAD_MS};
    status_line_show(&x->calls.progress, "%s: uploading", path);
    if (code == 0 && !node_calls_ask(&x->calls, &call, &uploaded))
        code = ask_code_of_fault(x);
    struct str document = json_member_str(uploaded, "documentId");
    if (code == 0 && (document.n == 0 || document.n > ID_MAX_BYTES)) {
        node_calls_complain(&x->calls, "--url: this is not the answer of a Parley node");
        code = ASK_REFUSED;
    }
    if (code == 0)
        buf_put(id, document);
    json_decref(uploaded);
    buf_fini(&body);
    return code;
}

static void show_progress(struct ask *x, const char *path, const json_t *document)
{
    const json_t *job = json_object_get(document, "latestJob");
    const json_t *progress = json_object_get(job, "progress");
    struct str stage = json_member_str(job, "stage");
    struct buf shown;
    buf_init(&shown, NAME_SHOWN_BYTES);
    buf_put_shown(&shown, stage.at == NULL ? STR("QUEUED") : stage);
    status_line_show(&x->calls.progress, "%s: %.*s %lld %%", path, STR_ARG(buf_str(&shown)),
                     (long long)json_integer_value(progress));
    buf_fini(&shown);
}

enum indexing { INDEXING_GOES_ON, INDEXING_DONE, INDEXING_FAILED };

static enum indexing judge(struct ask *x, const char *path, const json_t *document)
{
    struct str status = json_member_str(document, "status");
    const json_t *job = json_object_get(document, "latestJob");
    struct str error = json_member_str(job, "errorMessage");
    if (str_eq(status, STR("INDEXED"))) {
        if (!x->is_json)
            node_calls_complain(
                &x->calls, "%s: indexed, %llu %s", path,
                COUNTED(json_integer_value(json_object_get(document, "chunkCount")), "passage"));
        return INDEXING_DONE;
    }
    if (str_eq(status, STR("UPLOADED")) || str_eq(status, STR("QUEUED")) ||
        str_eq(status, STR("INDEXING"))) {
        show_progress(x, path, document);
        return INDEXING_GOES_ON;
    }
    ask_complain(x, path, error.at == NULL ? STR("it could not be indexed") : error);
    return INDEXING_FAILED;
}

/* Until the document can be found. Returns an exit code. */
static int wait_for(struct ask *x, const char *path, struct str id)
{
    enum indexing indexing = INDEXING_GOES_ON;
    struct buf route;
    buf_init(&route, PATH_MAX_BYTES);
    buf_lit(&route, "/api/docs/");
    buf_put_url_encoded(&route, id);
    buf_terminate(&route);
    const struct node_call call = {.method = "GET", .path = route.at};
    while (indexing == INDEXING_GOES_ON) {
        json_t *document = NULL;
        if (!node_calls_ask(&x->calls, &call, &document))
            break;
        indexing = judge(x, path, document);
        json_decref(document);
        if (indexing == INDEXING_GOES_ON && !node_calls_wait(&x->calls, NULL, POLL_MS))
            break;
    }
    buf_fini(&route);
    if (indexing == INDEXING_GOES_ON)
        return x->calls.is_late          ? ASK_TIMEOUT
               : x->calls.is_interrupted ? ASK_CANCELLED
                                         : ask_code_of_fault(x);
    return indexing == INDEXING_DONE ? 0 : ASK_FAILED;
}

/* Each of --file, all uploaded before the first is waited for. */
static int put_files(struct ask *x)
{
    const char *files = config_text(x->calls.config, "file");
    struct str rest = {NULL, 0};
    struct buf ids;
    int code = 0;
    buf_init(&ids, SIZE_MAX / 2);
    for (rest = str_of(files == NULL ? "" : files); rest.n > 0 && code == 0;) {
        char *path = str_copy(str_cut(&rest, '\n'));
        code = upload(x, path, &ids);
        buf_put_char(&ids, '\n');
        free(path);
    }
    struct str left = buf_str(&ids);
    for (rest = str_of(files == NULL ? "" : files); rest.n > 0 && code == 0;) {
        char *path = str_copy(str_cut(&rest, '\n'));
        code = wait_for(x, path, str_cut(&left, '\n'));
        free(path);
    }
    buf_fini(&ids);
    status_line_clear(&x->calls.progress);
    return code;
}

/* --- asking ----------------------------------------------------------------------------------- */

static void say_why(struct ask *x, int code)
{
    if (code == ASK_TIMEOUT)
        ask_complain(x, "no answer in time (--timeout-seconds)", STR(""));
    if (code == ASK_CANCELLED && x->end == NULL)
        ask_complain(x, "interrupted", STR(""));
}

static int ask_stream(struct ask *x, const char *path)
{
    struct buf body;
    buf_init(&body, QUESTION_MAX_BYTES);
    buf_lit(&body, "{\"question\":");
    buf_put_json(&body, buf_str(&x->question));
    buf_put_char(&body, '}');
    struct node_call call = {.method = "POST", .path = path, .body = buf_str(&body)};
    int code = ask_stream_follow(x, &call) ? ask_stream_end(x) : ask_code_of_fault(x);
    buf_fini(&body);
    return code;
}

int ask_documents(struct ask *x)
{
    int code = put_files(x);
    if (code == 0)
        code = ask_stream(x, "/api/rag/ask");
    say_why(x, code);
    return code;
}

int ask_public(struct ask *x)
{
    int code = ask_stream(x, "/ask");
    say_why(x, code);
    return code;
}
