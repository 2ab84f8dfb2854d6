/* SPDX-License-Identifier: MIT
 * export.c - `parley user export`: the zip of a user's data, as it comes, into a file that appears
 * when it is whole, or to standard output.
 *
 * An answer that is cut off may look whole after a proxy, so the end of the zip is looked at, too:
 * a node writes its directory last. A file begins again with the next attempt; what standard output
 * has been given cannot be taken back. */
#include "services/users/cli/cli.h"

#include "shared/op/whole_file.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum { ZIP_END_BYTES = 22 }; /* the end of a zip's directory, without a comment */

struct sink {
    struct cli *cli;
    struct whole_file whole;
    int fd;
    bool is_pipe; /* standard output: what reads it may be slow */
    uint64_t bytes;
    char tail[ZIP_END_BYTES];
    size_t tail_n;
};

static bool fail(struct sink *sink, const char *doing)
{
    const char *path = sink->is_pipe ? "standard output" : sink->cli->output;
    return node_calls_complain(&sink->cli->calls, "%s: %s%s", path, doing, strerror(errno));
}

/* A pipe takes PIPE_BUF bytes without waiting once it takes any, so signals are noticed there. */
static bool write_all(struct sink *sink, struct str bytes)
{
    struct pollfd fd = {.fd = sink->fd, .events = POLLOUT};
    while (bytes.n > 0) {
        if (sink->is_pipe && !node_calls_wait(&sink->cli->calls, &fd, -1))
            return false;
        size_t n = sink->is_pipe && bytes.n > PIPE_BUF ? PIPE_BUF : bytes.n;
        ssize_t written = write(sink->fd, bytes.at, n);
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return fail(sink, "");
        if (written > 0)
            bytes = (struct str){bytes.at + written, bytes.n - (size_t)written};
    }
    return true;
}

static void keep_tail(struct sink *sink, struct str bytes)
{
    size_t n = bytes.n < ZIP_END_BYTES ? bytes.n : ZIP_END_BYTES, kept = ZIP_END_BYTES - n;
    if (kept > sink->tail_n)
        kept = sink->tail_n;
    memmove(sink->tail, sink->tail + sink->tail_n - kept, kept);
    memcpy(sink->tail + kept, bytes.at + bytes.n - n, n);
    sink->tail_n = kept + n;
}

static bool on_body(void *context, struct str bytes)
{
    struct sink *sink = context;
    if (!write_all(sink, bytes))
        return false;
    keep_tail(sink, bytes);
    sink->bytes += bytes.n;
    status_line_show(&sink->cli->calls.progress, "%.1f MiB", (double)sink->bytes / (1 << 20));
    return true;
}

static bool is_whole(void *context)
{
    const struct sink *sink = context;
    struct str tail = {sink->tail, sink->tail_n};
    return tail.n == ZIP_END_BYTES && str_has_prefix(tail, STR("PK\5\6"));
}

static bool begin(void *context)
{
    struct sink *sink = context;
    if (sink->is_pipe && sink->bytes > 0)
        return node_calls_complain(
            &sink->cli->calls,
            "the export was cut off after %llu %s: discard the incomplete data "
            "on standard output",
            COUNTED(sink->bytes, "byte"));
    if (!sink->is_pipe && (ftruncate(sink->fd, 0) != 0 || lseek(sink->fd, 0, SEEK_SET) != 0))
        return fail(sink, "");
    sink->bytes = 0;
    sink->tail_n = 0;
    return true;
}

static bool open_sink(struct sink *sink)
{
    struct cli *cli = sink->cli;
    sink->is_pipe = strcmp(cli->output, "-") == 0;
    if (sink->is_pipe) {
        sink->fd = STDOUT_FILENO;
        return !isatty(STDOUT_FILENO) ||
               node_calls_complain(
                   &cli->calls, "standard output is a terminal: give a file name, or use a pipe");
    }
    if (whole_file_open(&sink->whole, cli->output, config_number(cli->config, "force"))) {
        sink->fd = sink->whole.fd;
        return true;
    }
    if (errno == EEXIST)
        return node_calls_complain(&cli->calls, "%s exists: choose another name, or add --force",
                                   cli->output);
    if (errno == ENOTSUP)
        return node_calls_complain(&cli->calls, "%s exists and is not a regular file", cli->output);
    return fail(sink, "");
}

static void sum_up(const struct sink *sink)
{
    struct buf path;
    FILE *out = sink->is_pipe ? stderr : stdout;
    buf_init(&path, SIZE_MAX / 2);
    buf_put_json(&path, str_of(sink->cli->output));
    if (sink->cli->is_json)
        fprintf(out, "{\"File\":%.*s,\"Bytes\":%llu}\n", STR_ARG(buf_str(&path)),
                (unsigned long long)sink->bytes);
    else if (!sink->is_pipe)
        fprintf(out, "%s: %llu %s\n", sink->cli->output, COUNTED(sink->bytes, "byte"));
    buf_fini(&path);
}

int cli_export(struct cli *cli)
{
    struct sink sink = {.cli = cli};
    const struct node_stream stream = {.file_type = "application/zip",
                                       .cut_off =
                                           "the response ended before the end of the zip file",
                                       .begin = begin,
                                       .on_body = on_body,
                                       .is_whole = is_whole,
                                       .context = &sink};
    const struct node_call call = {.method = "GET", .stream = &stream, .max_bytes = SIZE_MAX / 2};
    bool is_good = open_sink(&sink) && cli_ask_for_user(cli, call, "/export", NULL);
    if (is_good && !sink.is_pipe && !whole_file_commit(&sink.whole))
        is_good = fail(&sink, "");
    whole_file_leave(&sink.whole);
    if (is_good)
        sum_up(&sink);
    return is_good ? 0 : 1;
}
