/* SPDX-License-Identifier: MIT
 * sse.c - see sse.h. */
#include "shared/http/request/sse.h"

enum { ID_MAX_BYTES = 128 };

void sse_init(struct sse *sse, size_t event_max_bytes)
{
    *sse = (struct sse){0};
    buf_init(&sse->line, event_max_bytes);
    buf_init(&sse->type, event_max_bytes);
    buf_init(&sse->data, event_max_bytes);
    buf_init(&sse->next_id, ID_MAX_BYTES);
    buf_init(&sse->id, ID_MAX_BYTES);
}

void sse_fini(struct sse *sse)
{
    buf_fini(&sse->line);
    buf_fini(&sse->type);
    buf_fini(&sse->data);
    buf_fini(&sse->next_id);
    buf_fini(&sse->id);
}

void sse_begin_again(struct sse *sse)
{
    buf_clear(&sse->line);
    buf_clear(&sse->type);
    buf_clear(&sse->data);
    buf_clear(&sse->next_id);
    sse->has_data = sse->has_id = sse->is_after_cr = false;
}

/* Returns whether `line` is a field of that name; its value without the space before it. */
static bool is_field(struct str line, struct str name, struct str *ret_value)
{
    struct str rest = line, value;
    if (!str_eq(str_cut(&rest, ':'), name))
        return false;
    value = rest.at == NULL ? STR("") : rest;
    *ret_value = str_has_prefix(value, STR(" ")) ? (struct str){value.at + 1, value.n - 1} : value;
    return true;
}

static bool end_event(struct sse *sse, sse_callback callback, void *context)
{
    if (sse->has_id) {
        buf_clear(&sse->id);
        buf_put(&sse->id, buf_str(&sse->next_id));
    }
    bool goes_on = !sse->has_data || callback(context, buf_str(&sse->type), buf_str(&sse->data));
    buf_clear(&sse->type);
    buf_clear(&sse->data);
    sse->has_data = sse->has_id = false;
    return goes_on;
}

static bool end_line(struct sse *sse, sse_callback callback, void *context)
{
    struct str line = buf_str(&sse->line), value;
    bool goes_on = true;
    if (line.n == 0) {
        goes_on = end_event(sse, callback, context);
    } else if (is_field(line, STR("data"), &value)) {
        if (sse->has_data)
            buf_put_char(&sse->data, '\n');
        buf_put(&sse->data, value);
        sse->has_data = true;
    } else if (is_field(line, STR("event"), &value)) {
        buf_clear(&sse->type);
        buf_put(&sse->type, value);
    } else if (is_field(line, STR("id"), &value)) {
        buf_clear(&sse->next_id);
        buf_put(&sse->next_id, value.n > ID_MAX_BYTES ? STR("") : value);
        sse->has_id = true;
    }
    buf_clear(&sse->line);
    return goes_on && !sse->data.is_over;
}

void sse_finish(struct sse *sse, sse_callback callback, void *context)
{
    if (sse->line.n == 0 || end_line(sse, callback, context))
        (void)end_event(sse, callback, context);
}

bool sse_feed(struct sse *sse, struct str bytes, sse_callback callback, void *context)
{
    while (bytes.n > 0) {
        if (sse->is_after_cr && *bytes.at == '\n')
            bytes = (struct str){bytes.at + 1, bytes.n - 1};
        sse->is_after_cr = false;
        size_t n = 0;
        while (n < bytes.n && bytes.at[n] != '\n' && bytes.at[n] != '\r')
            n++;
        buf_put(&sse->line, (struct str){bytes.at, n});
        if (sse->line.is_over)
            return false;
        if (n == bytes.n)
            return true;
        sse->is_after_cr = bytes.at[n] == '\r';
        bytes = (struct str){bytes.at + n + 1, bytes.n - n - 1};
        if (!end_line(sse, callback, context))
            return false;
    }
    return true;
}
