/* SPDX-License-Identifier: MIT
 * input.c - see input.h. */
#include "services/openai/batches/input.h"

#include "services/openai/batches/batches.h"
#include "shared/redis/blocks.h"

enum { LINE_MORE_BYTES = 64 << 10, MEMBERS_NR = 256 };

/* A line has more than the request in it. */
static size_t line_max(void)
{
    return (size_t)OPENAI_BODY_BYTES + LINE_MORE_BYTES;
}

void input_init(struct input *input, uint64_t at)
{
    *input = (struct input){.base = at, .block = at / BLOCK_BYTES, .skip = at % BLOCK_BYTES};
    buf_init(&input->pending, line_max() + 2 * BLOCK_BYTES);
}

void input_fini(struct input *input)
{
    buf_fini(&input->pending);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Takes what was given off the beginning. */
static void drop_taken(struct input *input)
{
    struct buf *b = &input->pending;
    if (input->at == 0)
        return;
    memmove(b->at, b->at + input->at, b->n - input->at);
    b->n -= input->at;
    input->base += input->at;
    input->at = 0;
}

/* A line without white space, and the first one without the byte order mark of some editors. */
static struct str without_mark(struct str line, bool is_first)
{
    struct str mark = STR("\xef\xbb\xbf");
    if (is_first && str_has_prefix(line, mark))
        line = (struct str){line.at + mark.n, line.n - mark.n};
    return str_trim(line);
}

enum input_found input_next(struct input *input, struct str *ret_line, uint64_t *ret_ends)
{
    struct buf *b = &input->pending;
    struct str rest = {b->at == NULL ? "" : b->at + input->at, b->n - input->at};
    const char *end = rest.n == 0 ? NULL : memchr(rest.at, '\n', rest.n);
    bool was_long = input->is_in_long;
    if (end == NULL && !input->is_last) {
        if (rest.n > line_max()) {
            input->is_in_long = true;
            input->at = b->n;
        }
        drop_taken(input);
        return INPUT_NEEDS_MORE;
    }
    if (end == NULL && rest.n == 0 && !was_long)
        return INPUT_END;
    size_t n = end == NULL ? rest.n : (size_t)(end - rest.at);
    bool is_first = input->base + input->at == 0;
    input->at += end == NULL ? n : n + 1;
    input->is_in_long = false;
    *ret_ends = input->base + input->at;
    *ret_line = without_mark((struct str){rest.at, n}, is_first);
    return was_long || n > line_max() ? INPUT_LONG_LINE : INPUT_LINE;
}

bool input_add(struct input *input, struct lines *head, struct str parts)
{
    struct lines rest = lines_of(parts);
    struct str part;
    uint64_t next = 0;
    drop_taken(input);
    input->is_last = !str_parse_u64(lines_next(head), &next);
    while (lines_next_part(&rest, &part)) {
        if (input->skip > part.n)
            return false;
        buf_put(&input->pending, (struct str){part.at + input->skip, part.n - input->skip});
        input->skip = 0;
    }
    input->block = next;
    return !input->pending.is_over;
}

/* --- what a line says ------------------------------------------------------------------------- */

struct found {
    struct json_member at[MEMBERS_NR];
    size_t n;
    bool is_over; /* it has more */
};

static const struct json_span *find(const struct found *found, const char *name)
{
    const struct json_span *last = NULL;
    for (size_t i = 0; i < found->n; i++)
        if (str_eq(found->at[i].name.raw, str_of(name)))
            last = &found->at[i].value;
    return last == NULL || last->kind == JSON_SPAN_NULL ? NULL : last;
}

static bool scan(struct str text, struct found *found)
{
    const char *reason;
    size_t at, n;
    bool is_object;
    if (!json_scan_object(text, found->at, MEMBERS_NR, &n, &reason, &at, &is_object))
        return false;
    found->is_over = n > MEMBERS_NR;
    found->n = found->is_over ? MEMBERS_NR : n;
    return true;
}

static bool is_text(const struct json_span *span, const char *text)
{
    return span != NULL && span->kind == JSON_SPAN_TEXT && str_eq(span->raw, str_of(text));
}

static void refuse(struct input_line *line, const char *code, const char *param,
                   const char *message)
{
    line->code = code;
    line->param = param;
    line->message = message;
}

/* With or without the folder of some clients. */
static struct str without_folder(struct str path)
{
    struct str folder = STR("/openai");
    return str_has_prefix(path, folder) ? (struct str){path.at + folder.n, path.n - folder.n}
                                        : path;
}

static void read_body(struct input_line *line)
{
    struct found body;
    if (!scan(line->body, &body)) {
        refuse(line, "invalid_type", "body", "`body` must be an object.");
        return;
    }
    const struct json_span *model = find(&body, "model"), *stream = find(&body, "stream");
    if (body.is_over)
        refuse(line, "invalid_value", "body", "`body` has more than 256 members.");
    else if (model == NULL || model->kind != JSON_SPAN_TEXT || model->raw.n == 0)
        refuse(line, "missing_required_parameter", "body.model",
               "`body` must have a `model`, a text.");
    else if (stream != NULL && str_eq(stream->raw, STR("true")))
        refuse(line, "invalid_value", "body.stream", "Lines of a batch cannot be streamed.");
    else
        line->model = model->raw;
}

void input_read_line(struct str text, struct str endpoint, struct input_line *ret_line)
{
    struct found found;
    *ret_line = (struct input_line){.custom_id = STR(""), .model = STR(""), .body = STR("")};
    if (!scan(text, &found)) {
        refuse(ret_line, "invalid_json_line", NULL, "This line is not a JSON object.");
        return;
    }
    const struct json_span *id = find(&found, "custom_id"), *url = find(&found, "url");
    const struct json_span *body = find(&found, "body");
    if (id == NULL || id->kind != JSON_SPAN_TEXT || id->raw.n == 0 ||
        id->raw.n > BATCH_CUSTOM_ID_MAX_BYTES) {
        refuse(ret_line, "missing_required_parameter", "custom_id",
               "`custom_id` must be a text of 1 to 512 bytes.");
        return;
    }
    ret_line->custom_id = (struct str){id->raw.at - 1, id->raw.n + 2};
    if (!is_text(find(&found, "method"), "POST"))
        refuse(ret_line, "invalid_method", "method", "`method` must be POST.");
    else if (url == NULL || url->kind != JSON_SPAN_TEXT ||
             !str_eq(without_folder(url->raw), endpoint))
        refuse(ret_line, "mismatched_url", "url", "`url` must be the endpoint of the batch.");
    else if (body == NULL || body->kind != JSON_SPAN_OBJECT)
        refuse(ret_line, "missing_required_parameter", "body", "`body` must be an object.");
    else if (body->raw.n > openai_body_bytes) /* as the route refuses it */
        refuse(ret_line, "line_too_long", "body", "`body` is longer than a request may be.");
    else {
        ret_line->body = body->raw;
        read_body(ret_line);
    }
}
