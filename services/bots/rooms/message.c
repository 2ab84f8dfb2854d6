/* SPDX-License-Identifier: MIT
 * message.c - see message.h. */
#include "services/bots/rooms/message.h"

/* No clock shows more, and Redis counts on from such a number without running over. */
enum { ID_DIGITS_MAX = 18 };

struct message message_next(struct lines *lines)
{
    struct message m = {.id = lines_next(lines)};
    m.kind = lines_next(lines);
    m.from = lines_next(lines);
    m.text = lines_next(lines);
    m.tagged = lines_next(lines);
    m.reply_to = lines_next(lines);
    m.hop = lines_next_u64(lines);
    return m;
}

void message_put_time(struct buf *b, struct str id)
{
    uint64_t ms = 0;
    if (!str_parse_u64(str_cut(&id, '-'), &ms))
        ms = 0;
    buf_put_char(b, '"');
    buf_put_timestamp(b, ms / 1000);
    buf_printf(b, ".%03uZ\"", (unsigned)(ms % 1000));
}

/* The texts are JSON already. */
static void put_member(struct buf *b, const char *key, struct str json)
{
    buf_put_key(b, key);
    buf_put(b, json);
}

void message_put(struct buf *b, const struct message *m)
{
    buf_lit(b, "{\"id\":\"");
    buf_put(b, m->id);
    buf_put_char(b, '"');
    put_member(b, "from", m->from);
    put_member(b, "text", m->text);
    put_member(b, "tagged", m->tagged);
    buf_put_key(b, "reply_to");
    if (m->reply_to.n == 0) {
        buf_lit(b, "null");
    } else {
        buf_put_char(b, '"');
        buf_put(b, m->reply_to);
        buf_put_char(b, '"');
    }
    buf_put_key(b, "timestamp");
    message_put_time(b, m->id);
    buf_put_char(b, '}');
}

/* A number without leading zeros, which Redis would write differently. */
static bool is_number(struct str digits)
{
    uint64_t value;
    return digits.n > 0 && digits.n <= ID_DIGITS_MAX && (digits.n == 1 || digits.at[0] != '0') &&
           digits.at[0] >= '0' && digits.at[0] <= '9' && str_parse_u64(digits, &value);
}

bool message_is_id(struct str text)
{
    struct str rest = text, ms = str_cut(&rest, '-');
    return text.n <= MESSAGE_ID_MAX_BYTES && rest.at != NULL && is_number(ms) && is_number(rest);
}

bool message_is_room(struct str text)
{
    if (text.n != ROOM_ID_BYTES)
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (!(text.at[i] >= '0' && text.at[i] <= '9') && !(text.at[i] >= 'a' && text.at[i] <= 'f'))
            return false;
    return true;
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

int message_compare(struct str a, struct str b)
{
    uint64_t ms[2] = {0, 0}, n[2] = {0, 0};
    if (a.n == 0 || b.n == 0)
        return compare(a.n, b.n);
    for (int i = 0; i < 2; i++) {
        struct str rest = i == 0 ? a : b;
        bool is_read = str_parse_u64(str_cut(&rest, '-'), &ms[i]) && str_parse_u64(rest, &n[i]);
        (void)is_read; /* what is no number counts as 0 */
    }
    return ms[0] != ms[1] ? compare(ms[0], ms[1]) : compare(n[0], n[1]);
}
