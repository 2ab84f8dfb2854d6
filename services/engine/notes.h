/* SPDX-License-Identifier: MIT
 *
 * notes: users' recommendations as the engine uses them: texts that belong to a question. They have
 * an index of their own, so that no recommendation displaces a document from the passages that
 * ground an answer. Equal recommendations of several users are one note, which is deleted with the
 * last of them. One per library; the loop's thread.
 */
#ifndef PARLEY_SERVICES_ENGINE_NOTES_H
#define PARLEY_SERVICES_ENGINE_NOTES_H

#include "shared/corpus/make.h"

enum {
    NOTES_MAX = 10000,
    NOTES_MAX_BYTES = 64 << 20,
    NOTE_SHOWN_MAX = 3, /* per question */
    NOTE_TEXT_SHOWN_BYTES = 4000,
};

enum note_kind {
    NOTE_PROMOTED,  /* "Promote Answer": the fragment answers the question well; the comment is
                       praise */
    NOTE_ADDED,     /* "Add Missing Info": fragment and comment belong to the answer */
    NOTE_IMPROVED,  /* "Suggest Improvement": the same; without a comment, the fragment needs
                       improvement */
    NOTE_CLARIFIED, /* "Clarify Phrasing": the comment says it better than the fragment */
    NOTE_CORRECTED, /* "Make Correction": the comment corrects the fragment */
    NOTE_NR
};

struct note {
    enum note_kind kind;
    char *question, *fragment, *comment; /* without marks and lists of sources; may be "" */
    uint64_t number;                     /* increasing */
    unsigned holders;
    unsigned char sha256[32];
    const struct rag_document *document; /* NULL until it is built */
};

struct notes;

struct notes *notes_create(void) must_check;
/* Accepts NULL. */
void notes_destroy(struct notes *notes);

/* Returns false for a type that makes no note. */
bool note_kind_of(struct str type, enum note_kind *ret_kind) must_check;
/* "Recommendation: Make Correction". */
const char *note_title(enum note_kind kind);
/* Puts the text that the note adds to an answer. */
void note_put_text(struct buf *b, const struct note *note);

/* Copies its arguments. `id` names the recommendation; it is empty if the node does not send ids.
 * Returns true if there is something to build. A note beyond the maximum is dropped and logged. */
bool notes_add(struct notes *notes, struct str id, enum note_kind kind, struct str question,
               struct str fragment, struct str comment);
/* Does nothing if no note has this id. */
void notes_remove(struct notes *notes, struct str id);
void notes_clear(struct notes *notes);

/* Returns the texts of notes that are not built yet. The caller owns them and their contents. */
size_t notes_copy_unbuilt(const struct notes *notes, struct make_text **ret_texts) must_check;
/* Takes over the document that was built from such a text; frees it if the note is gone. */
void notes_take(struct notes *notes, struct rag_document *document);

/* Finds the notes that fit the question best; of equal ones, the newest first. */
size_t notes_search(const struct notes *notes, const struct rag_query *query,
                    const struct note *ret_notes[NOTE_SHOWN_MAX]) must_check;
/* Returns the index of all notes, for code that searches documents. */
struct rag_index *notes_index(const struct notes *notes);
/* Calls `each` with the document of every note that is built. */
void notes_each_document(const struct notes *notes,
                         void (*each)(void *context, const struct rag_document *document),
                         void *context);

#endif
