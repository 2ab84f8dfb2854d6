/* SPDX-License-Identifier: MIT
 *
 * library: the documents of an engine: the --corpus folder and the notes that users recommended
 * (notes.h), without passages that users flagged. Building runs on a separate thread, so the loop
 * keeps serving; searching runs on the loop. One per engine; all functions on the loop's thread.
 */
#ifndef PARLEY_ENGINE_LIBRARY_H
#define PARLEY_ENGINE_LIBRARY_H

#include "services/engine/link/timers.h"
#include "services/engine/notes.h"
#include "shared/embed/embed.h"
#include "shared/search/index.h"

enum { LIBRARY_FLAGS_MAX = 10000 };

struct library;
struct library_lookup;

struct library_settings {
    const char *folder;     /* NULL: no folder */
    const char *index_path; /* NULL: nothing is kept */
    struct embedder *embedder;
    struct http_client *client;
    struct timers *timers;
    /* Runs once, when the folder was read for the first time or could not be. */
    void (*on_ready)(void *context);
    void *context;
};

/* Borrows what `settings` points to. Starts reading the folder. */
struct library *library_create(const struct library_settings *settings) must_check;
/* Stops the builder and waits for it. Accepts NULL. */
void library_destroy(struct library *library);

/* Readable when the builder has something: then call library_turn. */
int library_fd(const struct library *library);
void library_turn(struct library *library);
/* Reads the folder again; what is there is used meanwhile. */
void library_reload(struct library *library);

/* Returns the recommendations: notes_add and the like, then library_build_notes. */
struct notes *library_notes(const struct library *library);
/* New notes are found once this is done. */
void library_build_notes(struct library *library);
/* Leaves out the passages that hold `fragment`, now and after every reload, until the flag of that
 * id is removed; `id` may be empty. */
void library_add_flag(struct library *library, struct str id, struct str fragment);
/* Does nothing for an id that is none of a flag. */
void library_remove_flag(struct library *library, struct str id);
void library_clear_flags(struct library *library);

/* The `n` nearest passages of documents and notes, see rag_index_nearest. */
size_t library_nearest(const struct library *library, const struct rag_query *query, size_t n,
                       double threshold, struct rag_hit *ret_hits) must_check;

bool library_is_empty(const struct library *library);
void library_count(const struct library *library, uint64_t *ret_documents, uint64_t *ret_passages);

/* Puts the name of a document of the library as people know it. */
void library_put_name(struct buf *b, const struct rag_document *document);

/* Runs once, later: `query` is ready to be searched for in `index`, inside the callback only. Its
 * vector is NULL when the question could not be embedded. */
typedef void (*library_callback)(void *context, const struct rag_index *index,
                                 const struct rag_query *query);
struct library_lookup *library_start(struct library *library, struct str question,
                                     library_callback callback, void *context) must_check;
/* Accepts NULL. */
void library_cancel(struct library_lookup *lookup);

#endif
