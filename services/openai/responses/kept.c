/* SPDX-License-Identifier: MIT
 * kept.c - see kept.h. */
#include "services/openai/responses/kept.h"

#include "services/openai/responses/settings.h"
#include "shared/ask/reply.h"
#include "shared/http/request/explain.h"

#include <zlib.h>

enum {
    DELTAS_MAX_BYTES = 32 << 20,
    BODY_MAX_BYTES = 8 << 20,
    MEMBERS_MOST = 128,
    ITEMS_MAX_BYTES = 16 << 20
};

/* --- packing ---------------------------------------------------------------------------------- */

void kept_pack(struct buf *b, struct str deltas)
{
    uLongf n = compressBound(deltas.n);
    buf_put_u64(b, deltas.n);
    buf_put_char(b, '\n');
    char *room = buf_reserve(b, n);
    if (room == NULL)
        return;
    if (compress2((Bytef *)room, &n, (const Bytef *)deltas.at, deltas.n, Z_BEST_SPEED) != Z_OK)
        abort(); /* compressBound is always enough */
    b->n += n;
}

/* Returns the deltas in the request's pool; none if they are damaged. */
static struct str unpack(struct request *r, struct str packed)
{
    uint64_t bytes;
    struct str rest = packed;
    if (!str_parse_u64(str_cut(&rest, '\n'), &bytes) || bytes > DELTAS_MAX_BYTES || rest.at == NULL)
        return STR("");
    char *at = request_alloc(r, bytes + 1);
    uLongf n = bytes;
    if (uncompress((Bytef *)at, &n, (const Bytef *)rest.at, rest.n) != Z_OK || n != bytes)
        return STR("");
    return (struct str){at, n};
}

/* --- reading ---------------------------------------------------------------------------------- */

void kept_show(struct request *r, const struct on_behalf *person, const struct completion_id *id,
               enum verb_response_show_what what, request_reply_cb *on_reply)
{
    call_response_show(request_call(r, on_reply), .topic = id->topic, .seq = id->seq,
                       .account = r->account->name_token, .user = person->user_name,
                       .asker = id->asker, .what = what);
}

void kept_explain_missing(struct request *r, struct str name)
{
    (void)!explain_missing(r, "response that is kept", name, NULL);
}

/* The text of a JSON string, in the request's pool. */
static struct str text_of(struct request *r, struct str json)
{
    struct buf b;
    buf_init(&b, BODY_MAX_BYTES);
    buf_put_json_text(&b, json);
    struct str text = request_copy(r, buf_str(&b));
    buf_fini(&b);
    return text;
}

static void read_members(struct request *r, struct str body, struct kept *kept)
{
    const char *reason;
    size_t at;
    bool is_object;
    kept->members = request_alloc(r, MEMBERS_MOST * sizeof *kept->members);
    if (!json_scan_object(body, kept->members, MEMBERS_MOST, &kept->member_n, &reason, &at,
                          &is_object))
        kept->member_n = 0;
    if (kept->member_n > MEMBERS_MOST)
        kept->member_n = MEMBERS_MOST;
}

/* The texts of an answer whose engine sends no deltas, as one. */
static struct str delta_of(struct request *r, const struct outcome *o)
{
    struct buf text, think, b;
    buf_init(&text, DELTAS_MAX_BYTES);
    buf_init(&think, DELTAS_MAX_BYTES);
    buf_init(&b, DELTAS_MAX_BYTES);
    buf_put_json_texts(&text, o->answer);
    buf_put_json_texts(&think, o->think);
    buf_lit(&b, "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":");
    buf_put_json(&b, buf_str(&think));
    buf_lit(&b, ",\"content\":");
    buf_put_json(&b, buf_str(&text));
    buf_lit(&b, "}}]}");
    struct str delta = request_copy(r, buf_str(&b));
    buf_fini(&text);
    buf_fini(&think);
    buf_fini(&b);
    return delta;
}

bool kept_read(struct request *r, enum err error, struct str reply, struct str name,
               struct kept *ret_kept)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines), head, kind, bytes, again, facts, text, packed, deltas;
    uint64_t request_bytes = 0;
    if (error == ERR_OK && str_eq(tag, STR("missing"))) {
        kept_explain_missing(r, name);
        return false;
    }
    if (reply_refuse(r, error, tag, &lines))
        return false;
    (void)str_cut(&lines.rest, '\0');
    if (!lines_next_part(&lines, &head) || !lines_next_part(&lines, &kind) ||
        !lines_next_part(&lines, &bytes) || !lines_next_part(&lines, &again) ||
        !lines_next_part(&lines, &facts) || !lines_next_part(&lines, &text) ||
        !lines_next_part(&lines, &packed) || !lines_next_part(&lines, &deltas)) {
        respond_error(r, ERR_INTERNAL, NULL);
        return false;
    }
    struct lines rows = lines_of(head);
    (void)!str_parse_u64(bytes, &request_bytes);
    *ret_kept = (struct kept){.outcome = lines_next_outcome(&rows),
                              .is_background = str_eq(kind, STR("b")),
                              .has_begun_again = again.n > 0,
                              .is_packed = packed.n > 0,
                              .request_bytes = request_bytes,
                              .deltas = packed.n > 0 ? unpack(r, packed) : deltas,
                              .text = STR("")};
    ret_kept->outcome.facts = facts;
    if (str_eq(ret_kept->outcome.status, STR("Done"))) {
        if (ret_kept->outcome.answer.n > 0)
            ret_kept->deltas = delta_of(r, &ret_kept->outcome);
        else
            ret_kept->outcome.answer = STR("[]");
    }
    ret_kept->model = text_of(r, ret_kept->outcome.row.model);
    ret_kept->text = str_has_prefix(text, STR("\"")) ? text_of(r, text) : request_copy(r, text);
    if (!str_has_prefix(text, STR("\"")))
        read_members(r, ret_kept->text, ret_kept);
    return true;
}

const struct json_span *kept_member(const struct kept *kept, const char *name, enum json_kind kind)
{
    for (size_t i = kept->member_n; i-- > 0;)
        if (str_eq(kept->members[i].name.raw, str_of(name)))
            return kept->members[i].value.kind == kind ? &kept->members[i].value : NULL;
    return NULL;
}

void kept_replay(const struct kept *kept, struct events *events)
{
    struct lines lines = lines_of(kept->deltas);
    while (lines_are_left(&lines))
        events_add(events, lines_next(&lines));
    usage_say_facts(events->usage, kept->outcome.facts);
    events_end(events, outcome_cut_by(&kept->outcome));
}

struct str kept_items(struct request *r, const struct kept *kept, struct str id)
{
    struct usage usage;
    struct events events = {
        .id = id, .usage = &usage, .tools = settings_tools(kept->members, kept->member_n)};
    struct buf b;
    usage_init(&usage, 0);
    buf_init(&b, ITEMS_MAX_BYTES);
    kept_replay(kept, &events);
    events_put_output(&events, &b);
    struct str items = request_copy(r, buf_str(&b));
    events_fini(&events);
    usage_fini(&usage);
    buf_fini(&b);
    return items;
}
