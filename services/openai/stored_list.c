/* SPDX-License-Identifier: MIT
 * stored_list.c - GET /v1/chat/completions: a page of the completions that are stored
 * (lua/queue/door_list.lua), from all shards. Each shard looks through so many topics at a time;
 * the next call continues where the first of them has stopped. */
#include "generated/verbs.h"
#include "services/openai/input.h"
#include "services/openai/metadata.h"
#include "services/openai/stored.h"
#include "shared/ask/reply.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/gather.h"
#include "shared/http/request/pages.h"

enum { LIMIT_MAX = 100, LIMIT = 20, PLACE_BYTES = 600, PAGE_BYTES = 1 << 20 };

struct listing {
    struct pages pages; /* `own` is the answer */
    struct on_behalf person;
    struct str model, metadata, after, first_id, last_id;
    uint64_t limit, n;
    bool is_back;
};

/* A shard's page: what comes next there, a completion or the place up to which it has looked. */
struct part {
    struct lines rest;
    struct str next;
    struct completion_id id;
    struct stored stored;
    bool is_there, is_end;
};

static struct completion_id place_of(struct str text)
{
    struct completion_id place = {.asker = STR("")};
    struct str rest = text;
    (void)!str_parse_u64(str_cut(&rest, '.'), &place.seq);
    (void)!str_parse_u64(str_cut(&rest, '.'), &place.place);
    place.topic = rest;
    return place;
}

static void step(struct part *part)
{
    struct str place, topic, seq;
    part->is_there = lines_next_part(&part->rest, &place) && lines_next_part(&part->rest, &topic) &&
                     lines_next_part(&part->rest, &seq) && stored_next(&part->rest, &part->stored);
    if (part->is_there) {
        part->id = (struct completion_id){.asker = part->stored.asker, .topic = topic};
        (void)!str_parse_u64(place, &part->id.place);
        (void)!str_parse_u64(seq, &part->id.seq);
    } else if (part->next.n > 0 && !part->is_end) {
        part->id = place_of(part->next);
        part->is_there = part->is_end = true;
    }
}

static int compare(const struct completion_id *a, const struct completion_id *b)
{
    int by_topic = str_compare(a->topic, b->topic);
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return by_topic != 0 ? by_topic : a->seq < b->seq ? -1 : a->seq > b->seq;
}

static struct part *first_of(struct part *parts, unsigned n, bool is_back)
{
    struct part *first = NULL;
    for (unsigned i = 0; i < n; i++) {
        if (!parts[i].is_there)
            continue;
        int order = first == NULL ? -1 : compare(&parts[i].id, &first->id);
        if (first == NULL || (is_back ? order > 0 : order < 0))
            first = &parts[i];
    }
    return first;
}

static void put(struct request *r, struct listing *listing, const struct part *part)
{
    struct buf *b = &listing->pages.own, id;
    buf_init(&id, PLACE_BYTES);
    completion_id_put(&id, r, COMPLETION_PREFIX, &part->id);
    listing->last_id = request_copy(r, buf_str(&id));
    if (listing->n == 0)
        listing->first_id = listing->last_id;
    buf_put(b, listing->n == 0 ? STR("{\"object\":\"list\",\"data\":[") : STR(","));
    stored_put(b, r, &part->id, &part->stored);
    listing->n++;
    buf_fini(&id);
}

static void answer(struct request *r, struct listing *listing, bool has_more)
{
    struct buf *b = &listing->pages.own;
    if (listing->n == 0)
        buf_lit(b, "{\"object\":\"list\",\"data\":[");
    buf_printf(b, "],\"first_id\":\"%.*s\",\"last_id\":\"%.*s\",\"has_more\":%s}",
               STR_ARG(listing->first_id), STR_ARG(listing->last_id), has_more ? "true" : "false");
    pages_respond(&listing->pages, r, b);
}

static void ask(struct request *r);

/* Continues after that place. */
static void ask_after(struct request *r, struct listing *listing, const struct completion_id *place)
{
    struct buf text;
    size_t more = listing->pages.own.cap - listing->pages.own_bytes;
    buf_init(&text, PLACE_BYTES);
    buf_printf(&text, "%llu.%llu.%.*s", (unsigned long long)place->seq,
               (unsigned long long)place->place, STR_ARG(place->topic));
    listing->after = request_copy(r, buf_str(&text));
    buf_fini(&text);
    listing->pages.own_bytes += more;
    if (pages_hold(&listing->pages, r, more))
        ask(r);
}

static void on_listed(struct request *r, enum err error, const struct gather *all)
{
    struct listing *listing = r->state;
    struct lines none = lines_of(STR(""));
    struct part parts[SHARDS_MAX], *part;
    if (reply_refuse(r, error, STR("ok"), &none))
        return;
    for (unsigned i = 0; i < all->n; i++) {
        parts[i] = (struct part){.rest = lines_of(all->replies[i])};
        (void)lines_next(&parts[i].rest); /* "ok" */
        parts[i].next = lines_next(&parts[i].rest);
        (void)str_cut(&parts[i].rest.rest, '\0');
        step(&parts[i]);
    }
    while ((part = first_of(parts, all->n, listing->is_back)) != NULL) {
        if (part->is_end) {
            ask_after(r, listing, &part->id);
            return;
        }
        if (listing->n == listing->limit || listing->pages.own.n >= PAGE_BYTES) {
            answer(r, listing, true);
            return;
        }
        put(r, listing, part);
        step(part);
    }
    answer(r, listing, false);
}

static void ask(struct request *r)
{
    struct listing *listing = r->state;
    struct gather *all = gather_begin(r, on_listed);
    for (unsigned i = 0; i < all->n; i++)
        call_door_list(gather_call(r, i), .user = listing->person.user_name,
                       .account = r->account->name_token, .after = listing->after,
                       .is_back = listing->is_back, .limit = listing->limit - listing->n + 1,
                       .model = listing->model, .metadata = listing->metadata);
}

static void on_gone(struct request *r)
{
    pages_fini(&((struct listing *)r->state)->pages);
}

static bool read_after(struct request *r, struct str *ret_after)
{
    struct completion_id id;
    struct buf text;
    struct str after = request_param(r, "after");
    *ret_after = STR("");
    if (after.at == NULL)
        return true;
    if (!completion_id_read(r, COMPLETION_PREFIX, after, &id))
        return explain_param(r, "after", "the id of a stored chat completion");
    buf_init(&text, PLACE_BYTES);
    buf_printf(&text, "%llu.%llu.%.*s", (unsigned long long)id.seq, (unsigned long long)id.place,
               STR_ARG(id.topic));
    *ret_after = request_copy(r, buf_str(&text));
    buf_fini(&text);
    return true;
}

static struct str model_name(struct request *r)
{
    struct str model = request_param(r, "model");
    struct buf *b = &r->server->scratch;
    if (model.at == NULL || model.n > OPENAI_MODEL_MAX_BYTES)
        return STR("");
    buf_clear(b);
    buf_lit(b, "chat/");
    buf_put_name(b, model);
    return request_copy(r, buf_str(b));
}

void openai_list_chats(struct request *r)
{
    struct listing *listing = request_alloc(r, sizeof *listing);
    *listing = (struct listing){
        .pages = {.own = {.max = 32 << 20}}, .first_id = STR(""), .last_id = STR("")};
    r->state = listing;
    r->on_gone = on_gone;
    if (!request_param_u64(r, "limit", 1, LIMIT_MAX, LIMIT, &listing->limit) ||
        !stored_order(r, &listing->is_back) || !read_after(r, &listing->after) ||
        !metadata_read_params(r, &listing->metadata) ||
        !input_person(r, (struct str){NULL, 0}, &listing->person))
        return;
    listing->model = model_name(r);
    ask(r);
}
