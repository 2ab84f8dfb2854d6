/* SPDX-License-Identifier: MIT
 * poll_report.c - see poll_report.h. */
#include "shared/queue/poll_report.h"

#include "generated/verbs.h"
#include "shared/queue/poll_credits.h"

/* Classes that one sync states; what is left is the next one's. As lua/queue/sync.lua declares it:
 * with the engines these are no more arguments than TURN_ARGS_MAX. */
enum { SYNC_CLASSES_MAX = 150 };

unsigned report_count_classes(const struct queue_shard *part)
{
    const struct queue *queue = part->queue;
    unsigned n = 0;
    for (struct poll_class *class = NULL; (class = classes_next(queue, class)) != NULL;)
        n += credits_are_stated(class, part->number);
    return n < SYNC_CLASSES_MAX ? n : SYNC_CLASSES_MAX;
}

static unsigned claiming_at(const struct poll_class *class, unsigned shard)
{
    unsigned n = class->left_n;
    list_for_each (const struct poll, poll, &class->claiming.list, link)
        n += poll->shard == shard;
    return n;
}

static void put_class(struct poll_class *class, unsigned shard, struct verb_writer *verb)
{
    struct str name = class_name(class);
    unsigned idle_n = class_idle_n(class), parked = credits_at(class, shard),
             claiming = claiming_at(class, shard),
             elsewhere = idle_n > parked ? idle_n - parked : 0;
    if (class->is_drained)
        parked = claiming = elsewhere = 0;
    uint64_t lease = class_take_notes(class, shard);
    put_sync_class(verb, .name = name, .parked = parked, .claiming = claiming,
                   .elsewhere = elsewhere, .lease = lease == 0 ? NO_NUMBER : lease);
    if (parked + claiming + elsewhere > 0)
        class_note_hint(class, shard);
}

/* From where the last sync ended: each class has its turn, however many there are. */
void report_put_classes(struct queue_shard *part, struct verb_writer *verb, unsigned n)
{
    unsigned shard = part->number;
    struct queue *queue = part->queue;
    for (unsigned i = 0; i < CLASS_BUCKET_N && n > 0; i++) {
        struct poll_class *class = classes_at(queue, part->sync_bucket);
        for (; class != NULL && n > 0; class = class->next) {
            if (!credits_are_stated(class, shard))
                continue;
            credits_grant_missing(class);
            put_class(class, shard, verb);
            credits_note_stated(class, shard);
            n--;
        }
        if (class == NULL)
            part->sync_bucket = (part->sync_bucket + 1) % CLASS_BUCKET_N;
    }
}
