/* SPDX-License-Identifier: MIT
 *
 * child: a process that holds a connection to a database, for one node. SQLite has no other way to
 * stop a function that runs for minutes; PostgreSQL's library resolves names while its caller
 * waits, and takes as much memory as one row or one message of the server has. So both run where a
 * kill, a limit of memory and a crash concern one statement.
 *
 * Node and child exchange frames over a socket pair: the number of bytes (32 bits, of the host),
 * then a JSON object. The first frame has the settings, passwords among them; each frame after its
 * reply is a job. On the loop's thread only.
 *
 *   node: {"url","password","role"}                child: {"opened":0..2,"reason"}
 *   node: {"task","run","step","text"}             child: {"began":true}
 *                                                  child: {"outcome",...}   (child_main.c)
 */
#ifndef PARLEY_SERVICES_WORKFLOW_SQL_CHILD_H
#define PARLEY_SERVICES_WORKFLOW_SQL_CHILD_H

#include "services/workflow/sql/settings.h"
#include "shared/op/loop.h"

enum { CHILD_FRAME_MAX_BYTES = 1 << 20 };
/* The argument with which this program is such a child (services/main.c). */
#define CHILD_ARGUMENT "sql-child"

struct child;

struct child_events {
    /* `frame` is borrowed. May kill the child. */
    void (*on_frame)(void *context, const json_t *frame);
    /* The child has ended, or sent what is no frame. Only child_kill may follow. */
    void (*on_gone)(void *context);
    void *context;
};

/* The program to run: this one, unless child_set_program has named another. Before any child. */
void child_set_program(const char *path);

/* Starts one and sends it the settings. NULL: no process or descriptor is available. */
struct child *child_spawn(struct loop *loop, const struct sql_settings *settings,
                          const struct child_events *events) must_check;
/* Sends one frame; the one before has been replied to. */
void child_send(struct child *child, const json_t *frame);
/* Kills it. No event comes any more; it frees itself once it is gone. Accepts NULL. */
void child_kill(struct child *child);
/* Waits for the end of all that were killed on this thread: the loop ends. */
void child_reap_all(void);

/* Runs one to its first reply on the calling thread, for wait_ms at most. Returns the reply, which
 * the caller decrefs; NULL: none came. */
json_t *child_try(const struct sql_settings *settings, unsigned wait_ms) must_check;

/* Runs the child, until its node is gone. */
int child_run(void);

/* For both sides; blocking on a blocking descriptor. */
bool child_put_frame(int fd, const json_t *frame) must_check;

#endif
