/* SPDX-License-Identifier: MIT
 * say.c - see say.h. */
#include "services/bots/rooms/say.h"

#include "services/bots/rooms/annex.h"
#include "services/bots/rooms/rooms.h"
#include "shared/base/mem.h"

struct saying {
    struct list_link link; /* of the node */
    struct rooms *rooms;
    struct posting *posting;
    struct annex *annex;
    struct bots_who who; /* its texts are in `own` */
    char *own, *room;
    char *to_annex;      /* NULL: the main bot does not answer it */
    struct post_end end; /* of what it answers: its texts are in `kept` */
    struct buf kept;
    said_cb *on_said; /* NULL: nobody waits */
    void *context;
};

static void finish(struct saying *saying)
{
    list_remove(&saying->link);
    post_leave(saying->posting);
    annex_cancel(saying->annex);
    buf_fini(&saying->kept);
    free(saying->own);
    free(saying->room);
    free(saying->to_annex);
    free(saying);
}

static void hand_over(struct saying *saying, const struct post_end *end, struct str private)
{
    const struct said said = {end, private};
    if (saying->on_said != NULL)
        saying->on_said(saying->context, &said);
    finish(saying);
}

static void on_carried_out(void *context, struct str private)
{
    struct saying *saying = context;
    saying->annex = NULL;
    hand_over(saying, &saying->end, private);
}

/* The message outlives the reply that it is in. */
static void keep_message(struct saying *saying, const struct post_end *end)
{
    const struct message *m = &end->message;
    const struct str texts[] = {m->id, m->kind, m->from, m->text, m->tagged, m->reply_to};
    struct str kept[sizeof texts / sizeof texts[0]];
    size_t at = 0;
    buf_init(&saying->kept, MESSAGE_JSON_MAX_BYTES);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        buf_put(&saying->kept, texts[i]);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        kept[i] = (struct str){saying->kept.at + at, saying->kept.is_over ? 0 : texts[i].n};
        at += kept[i].n;
    }
    saying->end = (struct post_end){
        .outcome = POSTED,
        .message = {kept[0], kept[1], kept[2], kept[3], kept[4], kept[5], m->hop}};
}

static void on_posted(void *context, const struct post_end *end)
{
    struct saying *saying = context;
    saying->posting = NULL;
    if (end->outcome != POSTED || saying->to_annex == NULL) {
        hand_over(saying, end, STR(""));
        return;
    }
    if (end->is_again) { /* the main bot has answered it, or will */
        hand_over(saying, end,
                  STR("{\"text\":\"I have read this message before: my answer is in "
                      "the room.\"}"));
        return;
    }
    keep_message(saying, end);
    saying->annex = annex_start(saying->rooms->bots, &saying->who, str_of(saying->room),
                                end->message.id, str_of(saying->to_annex), on_carried_out, saying);
}

struct saying *say_start(struct bots *bots, const struct bots_who *who, struct str room,
                         const struct speech *speech, uint64_t max_stored,
                         uint64_t max_stored_per_user, struct str key, said_cb *on_said,
                         void *context)
{
    struct rooms *rooms = bots->rooms;
    enum annex_wish wish = annex_wish_of(speech->text, speech->tagged, speech->tagged_n);
    struct saying *saying = mem_zeroed(sizeof *saying);
    *saying = (struct saying){.rooms = rooms,
                              .room = str_copy(room),
                              .to_annex = wish == ANNEX_NOTHING ? NULL : str_copy(speech->text),
                              .on_said = on_said,
                              .context = context};
    saying->own = bots_who_copy(who, &saying->who);
    list_prepend(&rooms->sayings, &saying->link);
    struct post post = {.kind = POST_PERSON,
                        .room = room,
                        .namespace = who->namespace,
                        .who = who,
                        .text = speech->text,
                        .reply_to = speech->reply_to,
                        .tagged = speech->tagged,
                        .tagged_n = speech->tagged_n,
                        .is_command = wish == ANNEX_COMMAND,
                        .max_stored = max_stored,
                        .max_stored_per_user = max_stored_per_user,
                        .key = key};
    saying->posting = post_start(bots, &post, on_posted, saying);
    return saying;
}

void say_leave(struct saying *saying)
{
    if (saying != NULL)
        saying->on_said = NULL;
}

void say_end_all(struct rooms *rooms)
{
    const struct post_end end = {.outcome = POST_REFUSED, .error = ERR_DRAINING};
    struct saying *saying;
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is freed has left the list */
    while ((saying = list_first(&rooms->sayings, struct saying, link)) != NULL)
        hand_over(saying, &end, STR(""));
}
