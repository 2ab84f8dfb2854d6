/* SPDX-License-Identifier: MIT
 * post.c - see post.h.
 *
 *   STORING --names that the room's shard does not know--> FINDING --> CLAIMING --> STORING
 *           --stored, or refused--> OVER
 *
 * If the names are on a shard other than the room, a message that mentions somebody begins with
 * FINDING. CLAIMING is for a user who has not been heard of on the room's shard. */
#include "services/bots/rooms/handlers.h"
#include "services/bots/rooms/rooms.h"
#include "services/bots/rooms/tags.h"

#include "generated/verbs.h"
#include "shared/base/mem.h"
#include "shared/base/shown.h"
#include "shared/base/sm.h"

#include <stdio.h>

enum { ROUNDS_MAX = 4 }; /* names change hands meanwhile, but not forever */

enum posting_state { POSTING_STORING, POSTING_FINDING, POSTING_CLAIMING, POSTING_OVER };

struct posting {
    struct list_link link; /* of the node */
    struct rooms *rooms;
    enum posting_state state;
    uint64_t number;
    struct call call;
    post_cb *on_end; /* NULL: nobody waits */
    void *context;
    struct post post; /* its texts are in `own` */
    struct str name, skeleton, from, text;
    struct str account, whose;
    struct tags tags;
    struct str reply_kind;      /* of the author of reply_to */
    uint64_t to_claim, claimed; /* numbers of claims of its author's name; 0: none */
    char *missing;              /* names that are looked up, a line each */
    unsigned rounds;
    struct buf own;
};

static const struct sm_state states[] = {
    [POSTING_STORING] = {"STORING", SM(POSTING_FINDING) | SM(POSTING_CLAIMING) | SM(POSTING_OVER)},
    [POSTING_FINDING] = {"FINDING", SM(POSTING_STORING) | SM(POSTING_CLAIMING) | SM(POSTING_OVER)},
    [POSTING_CLAIMING] = {"CLAIMING", SM(POSTING_STORING) | SM(POSTING_OVER)},
    [POSTING_OVER] = {"OVER", 0},
};
static const struct sm sm = SM_OF("posting", states);

static void move(struct posting *posting, enum posting_state to)
{
    posting->state = sm_move(&sm, posting->number, posting->state, to);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void drop(struct posting *posting)
{
    call_detach(&posting->call);
    list_remove(&posting->link);
    buf_fini(&posting->own);
    free(posting->missing);
    free(posting);
}

static void finish(struct posting *posting, const struct post_end *end)
{
    move(posting, POSTING_OVER);
    if (posting->on_end != NULL)
        posting->on_end(posting->context, end);
    drop(posting);
}

static void refuse(struct posting *posting, enum err error, const char *detail)
{
    finish(posting, &(struct post_end){.outcome = POST_REFUSED, .error = error, .detail = detail});
}

/* A mention that must exist is nobody's. */
static void refuse_unknown(struct posting *posting, uint64_t n)
{
    struct buf detail;
    struct str name = n >= 1 && n <= posting->tags.n ? posting->tags.list[n - 1].plain : STR("");
    buf_init(&detail, POST_DETAIL_BYTES);
    buf_lit(&detail, "tagged: nobody has the name ");
    buf_put_quoted(&detail, name);
    buf_lit(&detail, ". Users have a name once they have posted.");
    buf_terminate(&detail);
    refuse(posting, ERR_BAD_REQUEST, detail.at);
    buf_fini(&detail);
}

static void refuse_reply(struct posting *posting)
{
    struct buf detail;
    buf_init(&detail, POST_DETAIL_BYTES);
    buf_lit(&detail, "reply_to: there is no message ");
    buf_put_quoted(&detail, posting->post.reply_to);
    buf_lit(&detail, " in this room.");
    buf_terminate(&detail);
    refuse(posting, ERR_BAD_REQUEST, detail.at);
    buf_fini(&detail);
}

/* --- stored ----------------------------------------------------------------------------------- */

static void pass_on(struct bots *bots, struct lines *lines)
{
    for (uint64_t n = lines_next_u64(lines); n > 0 && lines_are_left(lines); n--) {
        struct bots_delivery delivery = {.id = lines_next(lines), .bot = lines_next(lines)};
        delivery.fence = lines_next_u64(lines);
        delivery.account = lines_next(lines);
        delivery.user = lines_next(lines);
        for (const struct bots_component *const *component = bots->components; *component != NULL;
             component++)
            if ((*component)->on_delivery != NULL)
                (*component)->on_delivery(bots, &delivery);
    }
}

static unsigned count_capacity(struct bots *bots)
{
    unsigned n = 0;
    for (const struct bots_component *const *component = bots->components; *component != NULL;
         component++)
        if ((*component)->count_capacity != NULL && !bots->server->is_draining)
            n += (*component)->count_capacity(bots);
    return n;
}

static void on_kept(struct posting *posting, struct lines *lines, bool is_again)
{
    static const char *const kinds[] = {
        [POST_PERSON] = "u", [POST_ANNEX] = "a", [POST_REPLY] = "b"};
    struct post_end end = {.outcome = POSTED, .is_again = is_again};
    struct message *m = &end.message;
    m->id = lines_next(lines);
    m->kind = str_of(kinds[posting->post.kind]);
    m->from = posting->from;
    m->text = posting->text;
    m->tagged = lines_next(lines);
    pass_on(posting->rooms->bots, lines);
    m->reply_to = posting->post.kind == POST_REPLY ? lines_next(lines) : posting->post.reply_to;
    finish(posting, &end);
}

/* --- names ------------------------------------------------------------------------------------ */

#define BOT_HAS_NAME "A bot has this user's name, or one that looks like it."

static void store(struct posting *posting);

/* Whose share is used up: `account` or `namespace` follows. */
static void refuse_names(struct posting *posting, struct lines *rest)
{
    if (str_eq(lines_next(rest), STR("account")))
        refuse(posting, ERR_TOO_MUCH_STORED,
               "As many users of this account have posted in rooms as may: half of the namespace's "
               "100,000. DELETE /api/users/{user} makes room.");
    else
        refuse(posting, ERR_NAMESPACE_FULL,
               "As many users have posted in the rooms of this namespace as may: 100,000.");
}

static void on_claimed(struct call *call, enum err error, struct str reply)
{
    struct posting *posting = container_of(call, struct posting, call);
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    if (error != ERR_OK) {
        refuse(posting, error, NULL);
    } else if (str_eq(tag, STR("taken"))) {
        refuse(posting, ERR_NAME_TAKEN, BOT_HAS_NAME);
    } else if (!str_eq(tag, STR("ok"))) {
        refuse_names(posting, &lines);
    } else {
        posting->claimed = posting->to_claim;
        posting->to_claim = 0;
        store(posting);
    }
}

static void claim(struct posting *posting)
{
    move(posting, POSTING_CLAIMING);
    call_name_claim(shards_call(posting->rooms->bots->server->shards, &posting->call, on_claimed),
                    .name = posting->name, .skeleton = posting->skeleton,
                    .namespace = posting->post.namespace, .account = posting->account,
                    .number = posting->to_claim);
}

static void on_found(struct call *call, enum err error, struct str reply)
{
    struct posting *posting = container_of(call, struct posting, call);
    struct lines kinds = lines_of(reply), names = lines_of(str_of(posting->missing));
    if (error != ERR_OK || !str_eq(lines_next(&kinds), STR("ok"))) {
        refuse(posting, error != ERR_OK ? error : ERR_INTERNAL, NULL);
        return;
    }
    while (lines_are_left(&names)) {
        struct str name = lines_next(&names);
        struct str kind = tags_take_kind(&posting->tags, &posting->own, name, lines_next(&kinds));
        /* The author of reply_to, if it was asked for, is the last one. */
        posting->reply_kind = str_eq(kind, STR("u")) ? TAG_NOBODY : kind;
    }
    if (posting->to_claim != 0)
        claim(posting);
    else
        store(posting);
}

/* Looks up the names of `missing`. */
static void find_names(struct posting *posting, struct str missing)
{
    struct lines names = lines_of(missing);
    free(posting->missing);
    posting->missing = str_copy(missing);
    move(posting, POSTING_FINDING);
    struct verb_writer verb = begin_names_find(
        shards_call(posting->rooms->bots->server->shards, &posting->call, on_found));
    while (lines_are_left(&names)) {
        struct str name = lines_next(&names);
        put_names_find_wanted(&verb, .wanted_name = name,
                              .wanted_skeleton = tags_skeleton_of(&posting->tags, name));
    }
    end_verb(&verb);
}

/* The script does not know whose some names are. */
static void resolve(struct posting *posting, struct lines *lines)
{
    posting->to_claim = lines_next_u64(lines);
    if (++posting->rounds == ROUNDS_MAX)
        refuse(posting, ERR_BUSY, NULL);
    else if (lines->rest.n > 0)
        find_names(posting, lines->rest);
    else
        claim(posting);
}

/* --- storing ---------------------------------------------------------------------------------- */

static void on_stored(struct call *call, enum err error, struct str reply)
{
    struct posting *posting = container_of(call, struct posting, call);
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    if (error != ERR_OK)
        refuse(posting, error, NULL);
    else if (str_eq(tag, STR("ok")))
        on_kept(posting, &lines, false);
    else if (str_eq(tag, STR("again")))
        on_kept(posting, &lines, true);
    else if (str_eq(tag, STR("reused")))
        refuse(posting, ERR_IDEMPOTENCY, NULL);
    else if (str_eq(tag, STR("resolve")))
        resolve(posting, &lines);
    else if (str_eq(tag, STR("missing")))
        refuse(posting, ERR_NOT_FOUND, "This room was deleted.");
    else if (str_eq(tag, STR("reply")))
        refuse_reply(posting);
    else if (str_eq(tag, STR("unknown")))
        refuse_unknown(posting, lines_next_u64(&lines));
    else if (str_eq(tag, STR("calls")))
        refuse(posting, ERR_BAD_REQUEST, "A message may call 10 bots at most.");
    else if (str_eq(tag, STR("taken")))
        refuse(posting, ERR_NAME_TAKEN, BOT_HAS_NAME);
    else if (str_eq(tag, STR("full")))
        refuse_names(posting, &lines);
    else if (str_eq(tag, STR("stored")))
        finish(posting, &(struct post_end){.outcome = POST_STORED,
                                           .error = ERR_TOO_MUCH_STORED,
                                           .refusal = reply});
    else if (str_eq(tag, STR("answered")))
        finish(posting,
               &(struct post_end){.outcome = POST_ANSWERED, .error = ERR_DELIVERY_ANSWERED});
    else
        finish(posting, &(struct post_end){.outcome = POST_LOST, .error = ERR_DELIVERY_ANSWERED});
}

static bool is_here(const struct posting *posting)
{
    const struct shards *shards = posting->rooms->bots->server->shards;
    return shards_turn(shards, posting->post.room) == shards_cluster(shards);
}

static enum verb_delivery_reply_tag_kind reply_tag_kind(struct str kind)
{
    switch (kind.at[0]) {
    case 'u': return DELIVERY_REPLY_U;
    case 'b': return DELIVERY_REPLY_B;
    case 'p': return DELIVERY_REPLY_P;
    case 'a': return DELIVERY_REPLY_A;
    case 'n': return DELIVERY_REPLY_N;
    default: return DELIVERY_REPLY_X;
    }
}

static void store_reply(struct posting *posting, struct call_start start)
{
    const struct post *post = &posting->post;
    struct verb_writer verb = begin_delivery_reply(
        start, .room = post->room, .delivery = post->delivery,
        .fence = post->fence == 0 ? NO_NUMBER : post->fence, .bot = posting->name,
        .from = posting->from, .text = posting->text, .is_here = is_here(posting),
        .lease_n = count_capacity(posting->rooms->bots));
    for (size_t i = 0; i < posting->tags.n; i++)
        put_delivery_reply_mention(&verb, .tag_name = posting->tags.list[i].name,
                                   .tag_skeleton = posting->tags.list[i].skeleton,
                                   .tag_json = posting->tags.list[i].json,
                                   .tag_kind = reply_tag_kind(posting->tags.list[i].kind));
    end_verb(&verb);
}

static void store_message(struct posting *posting, struct call_start start)
{
    const struct post *post = &posting->post;
    bool is_person = post->kind == POST_PERSON;
    struct verb_writer verb = begin_message_add(
        start, .room = post->room, .namespace = post->namespace,
        .kind = is_person ? MESSAGE_ADD_USER : MESSAGE_ADD_ANNEX, .name = posting->name,
        .skeleton = posting->skeleton, .from = posting->from, .text = posting->text,
        .reply_to = post->reply_to, .account = posting->account, .whose = posting->whose,
        .calls_bots = is_person && !post->is_command, .is_here = is_here(posting),
        .claim = posting->claimed != 0 ? posting->claimed : NO_NUMBER,
        .reply_kind = posting->reply_kind, .lease_n = count_capacity(posting->rooms->bots),
        .max_stored = post->max_stored, .max_stored_per_user = post->max_stored_per_user,
        .key = post->key);
    for (size_t i = 0; i < posting->tags.n; i++)
        put_message_add_mention(
            &verb, .tag_name = posting->tags.list[i].name,
            .tag_skeleton = posting->tags.list[i].skeleton, .tag_json = posting->tags.list[i].json,
            .must = posting->tags.list[i].must, .tag_kind = posting->tags.list[i].kind);
    end_verb(&verb);
}

static void store(struct posting *posting)
{
    struct call_start start =
        shards_call(posting->rooms->bots->server->shards, &posting->call, on_stored);
    if (posting->state != POSTING_STORING)
        move(posting, POSTING_STORING);
    if (posting->post.kind == POST_REPLY)
        store_reply(posting, start);
    else
        store_message(posting, start);
}

/* --- begin ------------------------------------------------------------------------------------ */

static void keep_post(struct posting *posting, const struct post *post)
{
    struct buf *own = &posting->own;
    struct str author = post->kind == POST_PERSON  ? post->who->user
                        : post->kind == POST_REPLY ? post->bot
                                                   : BOTS_ANNEX;
    posting->post = *post;
    posting->post.who = NULL;
    posting->post.tagged = NULL;
    posting->post.room = tags_keep(own, post->room);
    posting->post.namespace = tags_keep(own, post->namespace);
    posting->post.reply_to = tags_keep(own, post->reply_to);
    posting->post.delivery = tags_keep(own, post->delivery);
    posting->post.key = tags_keep(own, post->key);
    posting->name = tags_keep_name(own, post->namespace, author);
    posting->skeleton =
        post->kind == POST_PERSON ? tags_keep_skeleton(own, post->namespace, author) : STR("");
    posting->from = tags_keep_json(own, author);
    posting->text = tags_keep_json(own, post->text);
    posting->account = tags_keep(own, post->who == NULL ? STR("-") : post->who->account);
    posting->whose = tags_keep(own, post->who == NULL ? STR("-") : post->who->user_name);
    tags_add(&posting->tags, own, post);
}

static size_t bytes_of(const struct post *post)
{
    return 6 * post->text.n + 2 + tags_bytes() + post->room.n + post->namespace.n +
           post->reply_to.n + post->delivery.n + post->key.n;
}

static void begin(struct posting *posting)
{
    struct buf missing;
    if (is_here(posting) || posting->tags.n == 0) {
        store(posting);
        return;
    }
    buf_init(&missing, tags_bytes());
    for (size_t i = 0; i < posting->tags.n; i++)
        if (str_eq(posting->tags.list[i].kind, TAG_UNKNOWN)) {
            if (missing.n > 0)
                buf_put_char(&missing, '\n');
            buf_put(&missing, posting->tags.list[i].name);
        }
    if (missing.n > 0)
        find_names(posting, buf_str(&missing));
    else
        store(posting);
    buf_fini(&missing);
}

struct posting *post_start(struct bots *bots, const struct post *post, post_cb *on_end,
                           void *context)
{
    struct posting *posting = mem_zeroed(sizeof *posting);
    size_t bytes = bytes_of(post);
    *posting = (struct posting){.rooms = bots->rooms,
                                .state = POSTING_STORING,
                                .number = sm_number(),
                                .on_end = on_end,
                                .context = context,
                                .reply_kind = TAG_UNKNOWN};
    list_prepend(&bots->rooms->postings, &posting->link);
    buf_init(&posting->own, bytes);
    (void)buf_reserve(&posting->own, bytes);
    keep_post(posting, post);
    begin(posting);
    return posting;
}

void post_leave(struct posting *posting)
{
    if (posting != NULL)
        posting->on_end = NULL;
}

void post_end_all(struct rooms *rooms)
{
    list_for_each (struct posting, posting, &rooms->postings, link)
        drop(posting);
}
