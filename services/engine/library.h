/* SPDX-License-Identifier: MIT
 *
 * library: the documents that an engine knows: the folder given by --corpus, and the notes that
 * users recommended; and what users flagged, which is left out. Building runs on a thread of its
 * own, so the loop goes on serving; searching is the loop's. One per engine; all functions on the
 * loop's thread.
 */
#ifndef PARLEY_ENGINE_LIBRARY_H
#define PARLEY_ENGINE_LIBRARY_H

#include "services/engine/link/timers.h"
#include "shared/embed/embed.h"
#include "shared/search/index.h"

enum { LIBRARY_NOTES_MAX = 10000, LIBRARY_NOTES_MAX_BYTES = 64 << 20, LIBRARY_FLAGS_MAX = 10000 };

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

/* Adds a recommended text as a document, once; false when it is known already or there are too
 * many. It is found after the next library_build_notes. */
bool library_add_note(struct library *library, struct str name, struct str text);
void library_build_notes(struct library *library);
/* Leaves out the passages that hold `fragment`, now and after every reload. */
void library_add_flag(struct library *library, struct str fragment);

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
