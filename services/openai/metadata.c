/* SPDX-License-Identifier: MIT
 * metadata.c - see metadata.h. */
#include "services/openai/metadata.h"

#include "services/openai/members.h"
#include "shared/http/request/explain.h"

enum { NAME_MAX_CHARS = 64, VALUE_MAX_CHARS = 512, LINES_MAX_BYTES = 64 << 10 };

/* Characters of a text; 0 if it is none. */
static size_t chars_of(const struct json_span *span)
{
    struct buf b;
    size_t n = 0;
    if (span->kind != JSON_SPAN_TEXT || span->raw.n > VALUE_MAX_CHARS * 12)
        return SIZE_MAX;
    buf_init(&b, VALUE_MAX_CHARS * 12);
    buf_put_span_text(&b, span);
    for (size_t i = 0; i < b.n; i++)
        n += ((unsigned char)b.at[i] & 0xC0) != 0x80;
    buf_fini(&b);
    return n;
}

/* Is there a later member of that name? The last one counts. */
static bool is_repeated(const struct members *members, size_t at)
{
    for (size_t i = at + 1; i < members->n; i++)
        if (str_eq(members->at[i].name.raw, members->at[at].name.raw))
            return true;
    return false;
}

static bool put_pairs(struct buf *b, const struct members *members)
{
    for (size_t i = 0; i < members->n; i++) {
        const struct json_member *pair = &members->at[i];
        size_t name_n = chars_of(&pair->name);
        if (name_n < 1 || name_n > NAME_MAX_CHARS || chars_of(&pair->value) > VALUE_MAX_CHARS)
            return false;
        if (is_repeated(members, i))
            continue;
        buf_put_span(b, &pair->name);
        buf_put_char(b, ':');
        buf_put_span(b, &pair->value);
        buf_put_char(b, '\n');
    }
    return members->n <= METADATA_PAIRS_MAX;
}

bool metadata_read(struct request *r, struct str *ret_lines)
{
    const struct json_span *given = request_member(r, "metadata");
    struct members members = {.n = 0};
    struct buf b;
    buf_init(&b, LINES_MAX_BYTES);
    buf_put_char(&b, '\n');
    bool is_good = given == NULL || (given->kind == JSON_SPAN_OBJECT &&
                                     members_read(&members, given->raw) && put_pairs(&b, &members));
    if (is_good && !b.is_over)
        *ret_lines = request_copy(r, buf_str(&b));
    buf_fini(&b);
    return is_good || explain_member(r, "metadata",
                                     "an object of at most 16 texts: names of 1 to 64 characters, "
                                     "texts of at most 512");
}

/* Puts the pair of a parameter `metadata[NAME]`; nothing of another one. Returns whether it is one.
 */
static bool put_param(struct buf *b, const struct param *param)
{
    struct str prefix = STR("metadata[");
    struct buf name, value;
    buf_init(&name, LINES_MAX_BYTES);
    buf_init(&value, LINES_MAX_BYTES);
    bool is_pair = buf_put_url_decoded(&name, param->name, true) &&
                   (param->value.at == NULL || buf_put_url_decoded(&value, param->value, true)) &&
                   str_has_prefix(buf_str(&name), prefix) && name.at[name.n - 1] == ']';
    if (is_pair) {
        buf_put_json(b, (struct str){name.at + prefix.n, name.n - prefix.n - 1});
        buf_put_char(b, ':');
        buf_put_json(b, value.n > 0 ? buf_str(&value) : STR(""));
        buf_put_char(b, '\n');
    }
    buf_fini(&name);
    buf_fini(&value);
    return is_pair;
}

bool metadata_read_params(struct request *r, struct str *ret_lines)
{
    struct buf b;
    size_t n = 0;
    (void)request_param(r, "metadata"); /* they are read with the first one */
    buf_init(&b, LINES_MAX_BYTES);
    for (size_t i = 0; i < r->param_n; i++)
        n += put_param(&b, &r->params[i]);
    bool is_good = n <= METADATA_PAIRS_MAX && !b.is_over;
    if (is_good)
        *ret_lines = request_copy(r, buf_str(&b));
    buf_fini(&b);
    if (!is_good)
        explain(r, ERR_BAD_REQUEST, "There may be at most 16 parameters metadata[NAME].");
    return is_good;
}

void metadata_put(struct buf *b, struct str lines)
{
    bool is_first = true;
    buf_put_char(b, '{');
    for (struct str rest = lines; rest.at != NULL;) {
        struct str pair = str_cut(&rest, '\n');
        if (pair.n == 0)
            continue;
        if (!is_first)
            buf_put_char(b, ',');
        buf_put(b, pair);
        is_first = false;
    }
    buf_put_char(b, '}');
}
