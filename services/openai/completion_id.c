/* SPDX-License-Identifier: MIT
 * completion_id.c - see completion_id.h. */
#include "services/openai/completion_id.h"

#include "shared/ask/on_behalf.h"
#include "shared/ask/topic_name.h"
#include "shared/base/base64url.h"
#include "shared/queue/lines.h"

enum { TOPIC_CHARS = (TOPIC_MAX_BYTES * 4 + 2) / 3 };

/* The topic that a request without one is kept in. */
static struct str own_topic(struct request *r, const char *prefix, struct str asker)
{
    char bytes[64];
    struct buf b = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    buf_put(&b, str_of(prefix));
    buf_put(&b, asker);
    return on_behalf_name(r, r->account->namespace, buf_str(&b));
}

void completion_id_put(struct buf *b, struct request *r, const char *prefix,
                       const struct completion_id *id)
{
    char plain_bytes[TOPIC_MAX_BYTES], encoded[TOPIC_CHARS + 1];
    struct buf plain = {.at = plain_bytes, .cap = sizeof plain_bytes, .max = sizeof plain_bytes};
    buf_put(b, str_of(prefix));
    buf_put(b, id->asker);
    buf_put_char(b, '-');
    buf_put_u64(b, id->place);
    if (id->seq == 1 && str_eq(id->topic, own_topic(r, prefix, id->asker)))
        return;
    (void)!buf_put_unnamed(&plain, lines_name_within(id->topic));
    size_t n = base64url_encode((const unsigned char *)plain.at, plain.n, encoded);
    buf_put_char(b, '-');
    buf_put_u64(b, id->seq);
    buf_put_char(b, '-');
    buf_put(b, (struct str){encoded, n});
}

static bool is_hex(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (strchr("0123456789abcdef", text.at[i]) == NULL || text.at[i] == '\0')
            return false;
    return true;
}

static bool read_topic(struct request *r, struct str text, struct completion_id *id)
{
    unsigned char bytes[TOPIC_MAX_BYTES];
    size_t n;
    if (text.n < 1 || text.n > TOPIC_CHARS || !base64url_decode(text, bytes, &n))
        return false;
    id->topic = on_behalf_name(r, r->account->namespace, (struct str){(const char *)bytes, n});
    return true;
}

bool completion_id_read(struct request *r, const char *prefix, struct str text,
                        struct completion_id *ret_id)
{
    struct str rest = text;
    if (!str_has_prefix(text, str_of(prefix)))
        return false;
    rest.at += strlen(prefix);
    rest.n -= strlen(prefix);
    struct completion_id id = {.asker = str_cut(&rest, '-'), .seq = 1};
    if (id.asker.n != COMPLETION_ASKER_CHARS || !is_hex(id.asker) || rest.at == NULL ||
        !str_parse_u64(str_cut(&rest, '-'), &id.place) || id.place > INT64_MAX)
        return false;
    id.topic = own_topic(r, prefix, id.asker);
    if (rest.at != NULL && (!str_parse_u64(str_cut(&rest, '-'), &id.seq) || id.seq < 1 ||
                            id.seq > INT32_MAX || rest.at == NULL || !read_topic(r, rest, &id)))
        return false;
    *ret_id = id;
    return true;
}
