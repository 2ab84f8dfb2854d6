/* SPDX-License-Identifier: MIT
 *
 * export: GET /api/users/{user}/export, all that is stored for a user as a zip file. What it does
 * step by step is export.c; what the files hold, export_topics.c, export_runs.c, export_rooms.c,
 * export_evaluations.c, export_documents.c and export_files.c. In the request's memory, on the
 * loop's thread.
 */
#ifndef PARLEY_SERVICES_USERS_EXPORT_H
#define PARLEY_SERVICES_USERS_EXPORT_H

#include "services/users/users.h"
#include "services/users/zip.h"
#include "shared/http/request/download.h"
#include "shared/op/deadline.h"
#include "shared/op/fair_slots.h"
#include "shared/queue/lines.h"

/* The next thing to ask for. */
enum export_stage {
    EXPORT_TOPICS,          /* a page of the shard's topics, or the next one of the page */
    EXPORT_THREAD,          /* a page of the topic's queries */
    EXPORT_LOOKUPS,         /* a page of its lookups */
    EXPORT_RECOMMENDATIONS, /* a page of the shard's */
    EXPORT_RUNS,            /* a page of the shard's runs of workflows */
    EXPORT_MESSAGES,        /* a page of the shard's messages in rooms */
    EXPORT_BOTS,            /* a page of the namespace's bots */
    EXPORT_EVALUATIONS,     /* a page of the shard's evaluations, or the next one of the page */
    EXPORT_TURNS,           /* a page of its turns */
    EXPORT_DOCUMENTS,       /* a page of the list */
    EXPORT_FILES,           /* a page of the same list, or the next document of the page */
    EXPORT_CONTENT,         /* a page of its content */
    EXPORT_BATCHES,         /* a page of the shard's batches */
    EXPORT_UPLOADS,         /* a page of the shard's files of /v1/files */
    EXPORT_UPLOAD,          /* a page of the same list, or the next file of the page */
    EXPORT_BYTES,           /* a page of its bytes */
    EXPORT_END,
    EXPORT_NR
};

struct export
{
    struct list_link link; /* of those under way on this node */
    struct request *r;
    struct user_of_path person;
    struct download download;
    struct zip zip;
    struct steps steps;       /* of making and compressing a page */
    struct fair_entry entry;  /* its turn to make a page, or its right to have one in memory */
    struct deadline patience; /* with its client, which reads that page */
    enum export_stage stage;
    bool is_asking; /* a verb is under way */
    bool is_first;  /* of the list that is being written: no comma yet */
    uint64_t now_s;
    unsigned shard;
    struct buf made; /* of the file that is being written, up to `zipped_n` in the zip */
    size_t zipped_n;

    struct buf page; /* a page of topics or documents, which are taken one by one */
    struct lines rest;
    struct buf page_after, after; /* where the next pages begin: of that list, of what is in it */
    bool is_page, is_last_page;

    struct buf topic; /* its name; of a file its account */
    struct buf noted; /* of several shards: which lookups it has; of a file the owner of its id */
    struct buf own;   /* by Seq '1' where the query is the user's */

    struct buf doc, filename; /* id; JSON; of a file, too. Of an evaluation its id and account */
    struct buf what;          /* that is read of it: "" at first; of lookups who needs them */
    uint64_t from;            /* block; room; turn; element */
};

/* export.c: the pool of struct users. */
struct fair_slots *exports_turns(void) must_check;
/* Ends the file before and begins one. */
void export_begin_file(struct export *x, struct str path);
/* The callback for the reply of the current verb. */
struct call_start export_call(struct export *x, request_reply_cb *on_reply);
struct call_start export_call_at(struct export *x, unsigned shard, request_reply_cb *on_reply);
/* In a reply: on a failure answers with an error or cuts the download and returns false. `tag` is
 * the first line; `other`: a further tag that is not a failure, "" for none. */
bool export_takes(struct export *x, enum err error, struct lines *lines, struct str other);
/* At the end of a reply. */
void export_go_on(struct export *x);
/* The export cannot be completed: cuts it so that the client notices. */
void export_fail(struct export *x, const char *why);
/* The comma before each item of a list but the first. */
void export_put_comma(struct export *x);
/* The same of a list that is a file: its bracket, or a comma; and its end. */
void export_begin_item(struct export *x);
void export_end_list(struct export *x);
/* A member whose value is stored as JSON; null where there is none. */
void export_put_member(struct buf *b, const char *key, struct str json);
/* Puts a name from outside (JSON) so that it leads out of no folder and ends no program that
 * unpacks it. */
void export_put_filename(struct buf *b, struct str json);
/* Keeps a page, to be taken line by line. */
void export_on_page(struct request *r, enum err error, struct str reply);
void export_set(struct buf *b, struct str s);

/* Each does the next thing of its stage: begins a verb (is_asking), puts bytes, or goes to another
 * stage. */
void export_topics(struct export *x);
void export_thread(struct export *x);
void export_lookups(struct export *x);
void export_recommendations(struct export *x);
void export_runs(struct export *x);
void export_messages(struct export *x);
void export_bots(struct export *x);
void export_evaluations(struct export *x);
void export_turns(struct export *x);
void export_documents(struct export *x);
void export_files(struct export *x);
void export_content(struct export *x);
void export_batches(struct export *x);
void export_uploads(struct export *x);
void export_upload(struct export *x);
void export_bytes(struct export *x);

#endif
