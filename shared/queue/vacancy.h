/* SPDX-License-Identifier: MIT
 *
 * vacancy: waits until the queue would take a question that it refused (shared/queue/question.h):
 * until there is room for its account, user and model, or an engine that serves anything. What
 * waits is a name, not the question: the shard is asked by a small call for all who wait on this
 * node, when a script reports that room was made, and every few seconds. Room goes to the accounts
 * in turn, then to their users.
 *
 * One that waited asks again and may be refused again: somebody else may have been quicker. On the
 * thread of the queue's loop.
 */
#ifndef PARLEY_QUEUE_VACANCY_H
#define PARLEY_QUEUE_VACANCY_H

#include "shared/queue/queue.h"

/* In its owner; zeroed initially. Names, borrowed while it waits. */
struct vacancy_wait {
    struct str account, user, model;
    unsigned max_waiting; /* of the user; 0: only the queue's own limits */
    unsigned shard;       /* that has refused the question */
    bool needs_engine;    /* there was none */
    /* Runs once, never inside vacancy_wait_start, when it waits no longer. */
    void (*on_vacancy)(struct vacancy_wait *wait);
    /* vacancy.c: */
    struct list_link link; /* linked: it waits */
    bool was_asked_for;
};

struct vacancies;

void vacancy_wait_start(struct queue *queue, struct vacancy_wait *wait);
/* Does nothing if it does not wait. */
void vacancy_wait_cancel(struct vacancy_wait *wait);

/* --- for events.c --- */

struct vacancies *vacancies_create(struct queue *queue) must_check;
/* Those that wait get no callback. Accepts NULL. */
void vacancies_destroy(struct vacancies *vacancies);
/* That shard has room again, or may have. */
void vacancies_on_event(struct vacancies *vacancies, unsigned shard);

#endif
