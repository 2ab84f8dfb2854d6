/* SPDX-License-Identifier: MIT
 * error_text.c - see error_text.h. */
#include "shared/http/request/error_text.h"

#include "shared/base/shown.h"
#include "shared/text/text.h"

enum { NESTED_MAX = 5, SHOWN_FACTOR = 3 };

static bool is_blank(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7f;
}

void http_put_one_line(struct buf *b, struct str text)
{
    struct buf line;
    /* Enough for the line, even if much of it is dropped; the rest is not worth the time. */
    size_t most = 4 * ERROR_TEXT_MAX_BYTES;
    text.n = text_floor(text, text.n < most ? text.n : most);
    buf_init(&line, SHOWN_FACTOR * most);
    while (text.n > 0) {
        size_t blanks = 0, n = 0;
        while (blanks < text.n && is_blank(text.at[blanks]))
            blanks++;
        while (blanks + n < text.n && !is_blank(text.at[blanks + n]))
            n++;
        if (blanks > 0 && line.n > 0 && line.at[line.n - 1] != ' ')
            buf_put_char(&line, ' ');
        buf_put_shown(&line, (struct str){text.at + blanks, n});
        text = (struct str){text.at + blanks + n, text.n - blanks - n};
    }
    struct str all = buf_str(&line);
    all.n = text_floor(all, all.n < ERROR_TEXT_MAX_BYTES ? all.n : ERROR_TEXT_MAX_BYTES);
    buf_put(b, str_trim(all));
    buf_fini(&line);
}

static struct str message_of(const json_t *json, unsigned depth)
{
    static const char *const members[] = {"error", "message", "detail", "msg", "errors"};
    struct str found = json_is_array(json) ? (struct str){NULL, 0} : json_str(json);
    if (depth == NESTED_MAX)
        return found;
    if (json_is_array(json))
        return message_of(json_array_get(json, 0), depth + 1);
    for (size_t i = 0; i < sizeof members / sizeof *members && found.n == 0; i++)
        found = message_of(json_object_get(json, members[i]), depth + 1);
    return found;
}

struct str http_error_message(const json_t *json)
{
    return message_of(json, 0);
}

void http_put_error_text(struct buf *b, struct str body)
{
    char reason[160];
    json_t *json;
    body = str_trim(body);
    if (json_parse(body, reason, sizeof reason, &json)) {
        http_put_one_line(b, http_error_message(json));
        json_decref(json);
    } else if (body.n > 0 && *body.at != '<' && *body.at != '{' && *body.at != '[') {
        http_put_one_line(b, body);
    }
}
