/* SPDX-License-Identifier: MIT
 * vacancy.c - see vacancy.h.
 *
 * Those that wait at a shard are a list, by age. A check asks for the groups of equal account, user
 * and model in it, GROUPS_MAX at a time; those that got nothing go to the end. The verb
 * divides the room between the accounts that it was asked for, and has a later verb that makes room
 * notify this node. A message may be lost, so there is a check every other second, too. */
#include "shared/queue/vacancy.h"

#include "generated/verbs.h"
#include "shared/queue/core.h"
#include "shared/queue/engines_check.h"

enum {
    GROUPS_MAX = 100,
    /* Between two checks. So one that is refused although a check found room does not spin. */
    CHECK_MS = 100,
    RESCAN_MS = 2000,
    ENGINE_MS = 500, /* between two checks for an engine */
};

struct vacancy_shard {
    struct queue *queue;
    struct list waits; /* struct vacancy_wait */
    struct call call;
    struct deadline timer;
    uint64_t checked_ms;
    bool has_news; /* since the check that is under way began */
};

struct vacancies {
    struct queue *queue;
    struct vacancy_shard *shards;
    struct list engineless; /* struct vacancy_wait, of all shards */
    struct engines_check check;
    struct deadline timer;
};

static bool is_same(const struct vacancy_wait *a, const struct vacancy_wait *b)
{
    return str_eq(a->account, b->account) && str_eq(a->user, b->user) && str_eq(a->model, b->model);
}

/* After the last check. */
static void check_by(struct vacancy_shard *shard, uint64_t after_ms)
{
    uint64_t now_ms = clock_mono_ms(), at_ms = shard->checked_ms + after_ms;
    after_ms = at_ms > now_ms ? at_ms - now_ms : 0;
    if (!list_is_empty(&shard->waits) && !call_is_under_way(&shard->call) &&
        (!deadline_is_set(&shard->timer) || shard->timer.at_ms > at_ms))
        loop_set_deadline(shard->queue->loop, &shard->timer, after_ms);
}

/* --- checks ----------------------------------------------------------------------------------- */

/* The oldest of its group, if it is. */
static struct vacancy_wait *find(const struct list *waits, const struct vacancy_wait *like)
{
    list_for_each (struct vacancy_wait, wait, waits, link)
        if (is_same(wait, like))
            return wait;
    return NULL;
}

static void grant(struct vacancy_shard *shard, struct lines *lines)
{
    struct vacancy_wait like = {.account = lines_next(lines)};
    like.user = lines_next(lines);
    like.model = lines_next(lines);
    struct vacancy_wait *wait;
    for (uint64_t n = lines_next_u64(lines); n > 0; n--) {
        if ((wait = find(&shard->waits, &like)) == NULL)
            return;
        list_remove(&wait->link);
        wait->on_vacancy(wait);
    }
}

/* In the order that they have. */
static void put_asked_last(struct list *waits)
{
    struct list others = {0};
    list_for_each (struct vacancy_wait, wait, waits, link)
        if (!wait->was_asked_for) {
            list_remove(&wait->link);
            list_append(&others, &wait->link);
        }
    list_for_each (struct vacancy_wait, wait, waits, link) {
        wait->was_asked_for = false;
        list_remove(&wait->link);
        list_append(&others, &wait->link);
    }
    list_move(waits, &others);
}

static void on_checked(struct call *call, enum err error, struct str reply)
{
    struct vacancy_shard *shard = container_of(call, struct vacancy_shard, call);
    struct lines lines = lines_of(reply);
    bool has_granted = error == ERR_OK && lines_are_left(&lines);
    while (error == ERR_OK && lines_are_left(&lines))
        grant(shard, &lines);
    put_asked_last(&shard->waits);
    bool is_soon = has_granted || shard->has_news;
    check_by(shard, is_soon ? CHECK_MS : RESCAN_MS);
}

static void put_group(struct verb_writer *verb, const struct vacancy_wait *group, unsigned n)
{
    put_vacancies_wait(verb, .account = group->account, .user = group->user, .model = group->model,
                       .wanted = n,
                       .max_waiting = group->max_waiting > 0 ? group->max_waiting : NO_NUMBER);
}

static void ask(struct vacancy_shard *shard, struct turn *turn)
{
    struct vacancy_wait *groups[GROUPS_MAX];
    unsigned counts[GROUPS_MAX], n = 0;
    list_for_each (struct vacancy_wait, wait, &shard->waits, link) {
        unsigned i = 0;
        while (i < n && !is_same(groups[i], wait))
            i++;
        if (i == GROUPS_MAX)
            continue;
        if (i == n) {
            groups[n] = wait;
            counts[n++] = 0;
        }
        counts[i]++;
        wait->was_asked_for = true;
    }
    struct verb_writer verb = begin_vacancies(turn_call(turn, &shard->call, on_checked));
    for (unsigned i = 0; i < n; i++)
        put_group(&verb, groups[i], counts[i]);
    end_verb(&verb);
}

static void on_timer(struct deadline *deadline)
{
    struct vacancy_shard *shard = container_of(deadline, struct vacancy_shard, timer);
    struct vacancies *all = shard->queue->vacancies;
    struct turn *turn = queue_shards(shard->queue)->turns[shard - all->shards];
    shard->has_news = false;
    shard->checked_ms = clock_mono_ms();
    if (!list_is_empty(&shard->waits) && turn_is_up(turn))
        ask(shard, turn);
    else
        check_by(shard, RESCAN_MS);
}

void vacancies_on_event(struct vacancies *vacancies, unsigned shard)
{
    vacancies->shards[shard].has_news = true;
    check_by(&vacancies->shards[shard], CHECK_MS);
}

/* --- engines ---------------------------------------------------------------------------------- */

/* All ask again: the queue takes what it has room for. */
static void on_engines(struct engines_check *check)
{
    struct vacancies *all = container_of(check, struct vacancies, check);
    struct list waits = {0};
    struct vacancy_wait *wait;
    if (check->is_there)
        list_move(&waits, &all->engineless);
    while ((wait = list_first(&waits, struct vacancy_wait, link)) != NULL) {
        list_remove(&wait->link);
        wait->on_vacancy(wait);
    }
    if (!list_is_empty(&all->engineless))
        loop_set_deadline(all->queue->loop, &all->timer, ENGINE_MS);
}

static void on_engine_timer(struct deadline *deadline)
{
    struct vacancies *all = container_of(deadline, struct vacancies, timer);
    if (!list_is_empty(&all->engineless) && all->check.left_n == 0)
        engines_check_start(&all->check, all->queue, STR(""), 0);
}

/* --- the interface ---------------------------------------------------------------------------- */

void vacancy_wait_start(struct queue *queue, struct vacancy_wait *wait)
{
    struct vacancies *all = queue->vacancies;
    wait->was_asked_for = false;
    if (!wait->needs_engine) {
        struct vacancy_shard *shard = &all->shards[wait->shard];
        /* Room that was made since it was refused is found by a check, and no sooner than that. */
        if (clock_mono_ms() > shard->checked_ms + CHECK_MS)
            shard->checked_ms = clock_mono_ms();
        list_append(&shard->waits, &wait->link);
        check_by(shard, CHECK_MS);
        return;
    }
    list_append(&all->engineless, &wait->link);
    if (!deadline_is_set(&all->timer) && all->check.left_n == 0)
        loop_set_deadline(queue->loop, &all->timer, ENGINE_MS);
}

void vacancy_wait_cancel(struct vacancy_wait *wait)
{
    list_remove(&wait->link);
}

struct vacancies *vacancies_create(struct queue *queue)
{
    struct vacancies *all = mem_zeroed(sizeof *all);
    unsigned n = queue->shards.n;
    all->shards = mem_zeroed_n(n, sizeof *all->shards);
    all->queue = queue;
    all->check.on_known = on_engines;
    all->timer.on_expire = on_engine_timer;
    for (unsigned i = 0; i < n; i++)
        all->shards[i] = (struct vacancy_shard){.queue = queue, .timer.on_expire = on_timer};
    return all;
}

void vacancies_destroy(struct vacancies *vacancies)
{
    if (vacancies == NULL)
        return;
    struct queue *queue = vacancies->queue;
    engines_check_cancel(&vacancies->check);
    loop_cancel_deadline(queue->loop, &vacancies->timer);
    for (unsigned i = 0; i < queue->shards.n; i++) {
        call_detach(&vacancies->shards[i].call);
        loop_cancel_deadline(queue->loop, &vacancies->shards[i].timer);
    }
    free(vacancies->shards);
    free(vacancies);
}
