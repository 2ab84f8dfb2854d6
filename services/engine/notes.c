/* SPDX-License-Identifier: MIT
 * notes.c - see notes.h. A document's id is a byte that no path has, and a number that falls: of
 * equal scores the index takes the lower id, which is the newer note. */
#include "services/engine/notes.h"

#include "shared/base/log.h"
#include "shared/base/mem.h"
#include "shared/text/marks.h"
#include "shared/text/text.h"

#include <openssl/sha.h>
#include <stdio.h>

enum { ID_MAX_BYTES = 48, DOCUMENT_ID_BYTES = 32, FOUND_MAX = 16, TEXT_MAX_BYTES = 1 << 20 };
/* How much of what the question asks for a note has to hold. */
static const double least_coverage = 0.4;

/* Which note a recommendation has become. */
struct holder {
    char id[ID_MAX_BYTES];
    size_t n; /* its bytes */
    uint64_t number;
};

struct notes {
    struct rag_index *index;
    struct note *items;
    struct holder *holders;
    size_t n, holder_n, bytes;
    uint64_t last_number;
};

static const char *const types[NOTE_NR] = {
    [NOTE_PROMOTED] = "Promote Answer",      [NOTE_ADDED] = "Add Missing Info",
    [NOTE_IMPROVED] = "Suggest Improvement", [NOTE_CLARIFIED] = "Clarify Phrasing",
    [NOTE_CORRECTED] = "Make Correction",
};
static const char *const titles[NOTE_NR] = {
    [NOTE_PROMOTED] = "Recommendation: Promote Answer",
    [NOTE_ADDED] = "Recommendation: Add Missing Info",
    [NOTE_IMPROVED] = "Recommendation: Suggest Improvement",
    [NOTE_CLARIFIED] = "Recommendation: Clarify Phrasing",
    [NOTE_CORRECTED] = "Recommendation: Make Correction",
};

bool note_kind_of(struct str type, enum note_kind *ret_kind)
{
    for (enum note_kind kind = 0; kind < NOTE_NR; kind++)
        if (str_eq(type, str_of(types[kind]))) {
            *ret_kind = kind;
            return true;
        }
    return false;
}

const char *note_title(enum note_kind kind)
{
    return titles[kind];
}

void note_put_text(struct buf *b, const struct note *note)
{
    bool has_fragment = note->kind <= NOTE_IMPROVED && note->fragment[0] != 0;
    if (has_fragment)
        buf_put(b, str_of(note->fragment));
    if (has_fragment && note->comment[0] != 0)
        buf_lit(b, "\n\n");
    buf_put(b, str_of(note->comment));
}

struct notes *notes_create(void)
{
    struct notes *notes = mem_zeroed(sizeof *notes);
    notes->index = rag_index_create();
    return notes;
}

static size_t bytes_of(const struct note *note)
{
    return strlen(note->question) + strlen(note->fragment) + strlen(note->comment);
}

/* Frees the one at `i`, and closes the gap. */
static void drop(struct notes *notes, size_t i)
{
    struct note *note = &notes->items[i];
    notes->bytes -= bytes_of(note);
    if (note->document != NULL)
        rag_index_remove(notes->index, note->document->id);
    rag_document_unref(note->document);
    free(note->question);
    free(note->fragment);
    free(note->comment);
    notes->items[i] = notes->items[--notes->n];
}

void notes_clear(struct notes *notes)
{
    while (notes->n > 0)
        drop(notes, notes->n - 1);
    notes->holder_n = 0;
}

void notes_destroy(struct notes *notes)
{
    if (notes == NULL)
        return;
    notes_clear(notes);
    rag_index_destroy(notes->index);
    free(notes->items);
    free(notes->holders);
    free(notes);
}

/* --- coming and going ------------------------------------------------------------------------- */

static size_t find(const struct notes *notes, uint64_t number)
{
    size_t i = 0;
    while (i < notes->n && notes->items[i].number != number)
        i++;
    return i;
}

static void hold(struct notes *notes, struct str id, struct note *note)
{
    note->holders++;
    if (id.n == 0 || id.n >= ID_MAX_BYTES)
        return;
    notes->holders = mem_grow(notes->holders, notes->holder_n, sizeof *notes->holders);
    struct holder *holder = &notes->holders[notes->holder_n++];
    *holder = (struct holder){.n = id.n, .number = note->number};
    memcpy(holder->id, id.at, id.n);
}

static size_t find_holder(const struct notes *notes, struct str id)
{
    size_t i = 0;
    while (i < notes->holder_n &&
           !str_eq(id, (struct str){notes->holders[i].id, notes->holders[i].n}))
        i++;
    return i;
}

void notes_remove(struct notes *notes, struct str id)
{
    size_t i = find_holder(notes, id);
    if (i == notes->holder_n)
        return;
    size_t place = find(notes, notes->holders[i].number);
    notes->holders[i] = notes->holders[--notes->holder_n];
    if (place < notes->n && --notes->items[place].holders == 0)
        drop(notes, place);
}

static char *copy_plain(struct str text)
{
    struct buf plain;
    buf_init(&plain, text.n + 1);
    marks_put_without(&plain, text);
    char *copy = str_copy(buf_str(&plain));
    buf_fini(&plain);
    return copy;
}

/* Computes the digest by which two notes are equal. */
static void digest(struct note *note)
{
    struct buf all;
    const char *const parts[] = {types[note->kind], note->question, note->fragment, note->comment};
    buf_init(&all, SIZE_MAX / 2);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        buf_put(&all, (struct str){parts[i], strlen(parts[i]) + 1});
    SHA256((const unsigned char *)all.at, all.n, note->sha256);
    buf_fini(&all);
}

static struct note *find_equal(const struct notes *notes, const struct note *note)
{
    for (size_t i = 0; i < notes->n; i++)
        if (memcmp(notes->items[i].sha256, note->sha256, sizeof note->sha256) == 0)
            return &notes->items[i];
    return NULL;
}

static bool has_room(const struct notes *notes, const struct note *note)
{
    if (notes->n < NOTES_MAX && bytes_of(note) <= NOTES_MAX_BYTES - notes->bytes)
        return true;
    log_write(LOG_WARN, "too many recommendations: this one is left out");
    return false;
}

static void put_in(struct notes *notes, struct str id, struct note *note)
{
    notes->items = mem_grow(notes->items, notes->n, sizeof *notes->items);
    note->number = ++notes->last_number;
    notes->bytes += bytes_of(note);
    notes->items[notes->n] = *note;
    hold(notes, id, &notes->items[notes->n++]);
}

bool notes_add(struct notes *notes, struct str id, enum note_kind kind, struct str question,
               struct str fragment, struct str comment)
{
    struct note note = {.kind = kind,
                        .question = str_copy(str_trim(question)),
                        .fragment = copy_plain(fragment),
                        .comment = copy_plain(comment)};
    if (kind == NOTE_PROMOTED && note.fragment[0] != 0)
        note.comment[0] = 0; /* praise, which is no part of an answer */
    bool says_something = note.fragment[0] != 0 || note.comment[0] != 0;
    digest(&note);
    bool is_held = find_holder(notes, id) < notes->holder_n; /* a page that was read twice */
    struct note *equal = find_equal(notes, &note);
    if (says_something && !is_held && equal == NULL && has_room(notes, &note)) {
        put_in(notes, id, &note);
        return true;
    }
    if (says_something && !is_held && equal != NULL)
        hold(notes, id, equal);
    free(note.question);
    free(note.fragment);
    free(note.comment);
    return false;
}

/* --- building --------------------------------------------------------------------------------- */

static void put_document_text(struct buf *b, const struct note *note)
{
    struct buf text;
    buf_init(&text, TEXT_MAX_BYTES);
    note_put_text(&text, note);
    if (note->question[0] != 0)
        buf_printf(b, "Question: %s\n\n", note->question);
    buf_put(b, text.n > 0 ? buf_str(&text) : str_of(note->fragment));
    buf_fini(&text);
}

size_t notes_copy_unbuilt(const struct notes *notes, struct make_text **ret_texts)
{
    struct make_text *texts = mem_zeroed_n(notes->n + 1, sizeof *texts);
    size_t n = 0;
    for (size_t i = 0; i < notes->n; i++) {
        const struct note *note = &notes->items[i];
        char id[DOCUMENT_ID_BYTES];
        struct buf text;
        if (note->document != NULL)
            continue;
        buf_init(&text, TEXT_MAX_BYTES);
        put_document_text(&text, note);
        snprintf(id, sizeof id, "\xff%016llx", (unsigned long long)(UINT64_MAX - note->number));
        texts[n++] = (struct make_text){
            .id = {str_copy(str_of(id)), strlen(id)},
            .name = {str_copy(str_of(titles[note->kind])), strlen(titles[note->kind])},
            .text = {str_copy(buf_str(&text)), text.n}};
        buf_fini(&text);
    }
    *ret_texts = texts;
    return n;
}

static const struct note *note_of(const struct notes *notes, struct str document_id)
{
    char hex[DOCUMENT_ID_BYTES] = "";
    if (document_id.n != 17)
        return NULL;
    memcpy(hex, document_id.at + 1, document_id.n - 1);
    size_t i = find(notes, UINT64_MAX - strtoull(hex, NULL, 16));
    return i < notes->n ? &notes->items[i] : NULL;
}

void notes_take(struct notes *notes, struct rag_document *document)
{
    struct note *note = (struct note *)note_of(notes, document->id);
    if (note == NULL || note->document != NULL) {
        rag_document_unref(document);
        return;
    }
    note->document = document;
    rag_index_add(notes->index, document);
}

/* --- searching -------------------------------------------------------------------------------- */

size_t notes_search(const struct notes *notes, const struct rag_query *query,
                    const struct note *ret_notes[NOTE_SHOWN_MAX])
{
    struct rag_hit hits[FOUND_MAX];
    size_t n = 0, found_n = rag_index_search(notes->index, query, FOUND_MAX, hits);
    for (size_t i = 0; i < found_n && n < NOTE_SHOWN_MAX; i++) {
        const struct note *note = note_of(notes, hits[i].document->id);
        bool is_new = note != NULL && (double)hits[i].coverage >= least_coverage;
        for (size_t k = 0; k < n && is_new; k++)
            is_new = ret_notes[k] != note;
        if (is_new)
            ret_notes[n++] = note;
    }
    return n;
}

struct rag_index *notes_index(const struct notes *notes)
{
    return notes->index;
}

void notes_each_document(const struct notes *notes,
                         void (*each)(void *context, const struct rag_document *document),
                         void *context)
{
    for (size_t i = 0; i < notes->n; i++)
        if (notes->items[i].document != NULL)
            each(context, notes->items[i].document);
}
