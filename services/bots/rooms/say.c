/* SPDX-License-Identifier: MIT
 * say.c - see say.h. */
#include "services/bots/rooms/say.h"

#include "services/bots/rooms/annex.h"
#include "services/bots/rooms/rooms.h"

#include <stdlib.h>

struct saying {
    struct saying *previous, *next; /* of the node */
    struct rooms *rooms;
    struct posting *posting;
    struct annex *annex;
    struct bots_who who; /* its texts, and the next two, are in `own` */
    struct str room, command;
    char *own;
    struct post_end end; /* of a command: its texts are in `kept` */
    struct buf kept;
    said_cb *on_said; /* NULL: nobody waits */
    void *context;
};

static void finish(struct saying *saying)
{
    *(saying->previous == NULL ? &saying->rooms->sayings : &saying->previous->next) = saying->next;
    if (saying->next != NULL)
        saying->next->previous = saying->previous;
    post_leave(saying->posting);
    annex_cancel(saying->annex);
    buf_fini(&saying->kept);
    free(saying->own);
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
    if (end->outcome != POSTED || saying->command.n == 0) {
        hand_over(saying, end, STR(""));
        return;
    }
    keep_message(saying, end);
    saying->annex = annex_start(saying->rooms->bots, &saying->who, saying->room, end->message.id,
                                saying->command, on_carried_out, saying);
}

static struct str keep(char **at, struct str text)
{
    char *copy = *at;
    if (text.n > 0)
        memcpy(copy, text.at, text.n);
    *at += text.n;
    return (struct str){copy, text.n};
}

struct saying *say_start(struct bots *bots, const struct bots_who *who, struct str room,
                         const struct speech *speech, uint64_t max_stored,
                         uint64_t max_stored_per_user, said_cb *on_said, void *context)
{
    struct rooms *rooms = bots->rooms;
    struct str command = annex_is_command(speech->text) ? speech->text : STR("");
    struct saying *saying = calloc(1, sizeof *saying);
    char *own = malloc(1 + who->account.n + who->namespace.n + who->user.n + who->user_name.n +
                       who->role.n + room.n + command.n);
    if (saying == NULL || own == NULL)
        abort();
    char *at = own;
    *saying = (struct saying){
        .rooms = rooms,
        .who = {keep(&at, who->account), keep(&at, who->namespace), keep(&at, who->user),
                keep(&at, who->user_name), keep(&at, who->role)},
        .own = own,
        .on_said = on_said,
        .context = context,
        .next = rooms->sayings,
    };
    saying->room = keep(&at, room);
    saying->command = keep(&at, command);
    if (saying->next != NULL)
        saying->next->previous = saying;
    rooms->sayings = saying;
    struct post post = {.kind = POST_PERSON,
                        .room = room,
                        .namespace = who->namespace,
                        .who = who,
                        .text = speech->text,
                        .reply_to = speech->reply_to,
                        .tagged = speech->tagged,
                        .tagged_n = speech->tagged_n,
                        .is_command = command.n > 0,
                        .max_stored = max_stored,
                        .max_stored_per_user = max_stored_per_user};
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
    while (rooms->sayings != NULL)
        finish(rooms->sayings);
}
