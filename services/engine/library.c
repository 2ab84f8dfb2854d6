/* SPDX-License-Identifier: MIT
 * library.c - see library.h.
 *
 * One index holds all documents: the files' ids are their paths, those of notes start with a byte
 * that no path has. The builder is a thread per job, at most one at a time. A job owns all that it
 * reads and makes; when it is done, the thread writes to an eventfd and the loop puts the documents
 * into the index, which the loop alone touches. */
#include "services/engine/library.h"

#include "shared/base/json.h"
#include "shared/base/log.h"
#include "shared/corpus/corpus.h"
#include "shared/corpus/make.h"

#include <errno.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { RETRY_MS = 30000, NOTE_ID_BYTES = 32 };

enum job_kind { JOB_FOLDER, JOB_NOTES, JOB_NR };

struct note {
    char *name, *text; /* NULL once it is in the index */
    size_t text_bytes;
    unsigned char sha256[SHA256_DIGEST_LENGTH];
};

struct job {
    enum job_kind kind;
    pthread_t thread;
    struct library *library;
    bool is_good;
    struct corpus *corpus;   /* JOB_FOLDER: the result */
    struct make_text *notes; /* JOB_NOTES: with texts of their own */
    size_t note_n;
    uint32_t dimension;
    struct rag_document **documents; /* JOB_NOTES: the result */
};

struct library {
    struct library_settings settings;
    struct rag_index *index;
    struct corpus *corpus; /* what of the index is the folder's; NULL before it was read */
    struct note *notes;
    size_t note_n, note_bytes, flag_n;
    size_t indexed_n; /* so many of the notes are in the index */
    uint32_t note_dimension;
    struct str *flags;
    struct job *job;
    bool is_wanted[JOB_NR], is_ready;
    atomic_bool is_stopping;
    int fd;
    struct timer retry;
};

struct library_lookup {
    struct library *library;
    struct embedding *embedding;
    struct timer timer; /* for quick embedders */
    char *question;
    library_callback callback;
    void *context;
};

/* ---- the builder ---- */

static void *run_job(void *context)
{
    struct job *job = context;
    struct library *library = job->library;
    struct corpus_settings corpus = {.folder = library->settings.folder,
                                     .index_path = library->settings.index_path,
                                     .embedder = library->settings.embedder,
                                     .is_stopping = &library->is_stopping};
    if (job->kind == JOB_FOLDER) {
        job->corpus = corpus_build(&corpus);
        job->is_good = job->corpus != NULL;
    } else {
        job->is_good = make_documents(job->notes, job->note_n, library->settings.embedder,
                                      &library->is_stopping, &job->dimension, job->documents);
    }
    uint64_t one = 1;
    while (write(library->fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
    return NULL;
}

/* Copies what is not in the index yet. */
static void copy_notes(struct job *job)
{
    struct library *library = job->library;
    job->note_n = library->note_n - library->indexed_n;
    job->dimension = library->note_dimension;
    job->notes = calloc(job->note_n + 1, sizeof *job->notes);
    job->documents = calloc(job->note_n + 1, sizeof *job->documents);
    if (job->notes == NULL || job->documents == NULL)
        abort();
    for (size_t i = 0; i < job->note_n; i++) {
        const struct note *note = &library->notes[library->indexed_n + i];
        char id[NOTE_ID_BYTES];
        snprintf(id, sizeof id, "\xff%06zu", library->indexed_n + i);
        job->notes[i] = (struct make_text){
            .id = {str_copy(str_of(id)), strlen(id)},
            .name = {str_copy(str_of(note->name)), strlen(note->name)},
            .text = {str_copy((struct str){note->text, note->text_bytes}), note->text_bytes}};
    }
}

/* Frees a job that is over; what it made is freed where nobody took it. */
static void destroy_job(struct job *job)
{
    for (size_t i = 0; i < job->note_n; i++) {
        free((char *)job->notes[i].id.at);
        free((char *)job->notes[i].name.at);
        free((char *)job->notes[i].text.at);
        rag_document_unref(job->is_good ? job->documents[i] : NULL);
    }
    free(job->notes);
    free(job->documents);
    corpus_destroy(job->corpus);
    free(job);
}

static void start_job(struct library *library)
{
    if (library->job != NULL || atomic_load(&library->is_stopping))
        return;
    enum job_kind kind = library->is_wanted[JOB_FOLDER] ? JOB_FOLDER : JOB_NOTES;
    if (!library->is_wanted[kind])
        return;
    library->is_wanted[kind] = false;
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL)
        abort();
    *job = (struct job){.kind = kind, .library = library};
    if (kind == JOB_NOTES)
        copy_notes(job);
    library->job = job;
    if (pthread_create(&job->thread, NULL, run_job, job) != 0)
        abort();
}

/* Puts a new document in, without what is flagged in it. */
static void put_document(struct library *library, const struct rag_document *document)
{
    rag_index_add(library->index, document);
    for (size_t i = 0; i < library->flag_n; i++)
        (void)rag_index_leave_out(library->index, document->id, library->flags[i]);
}

static void take_corpus(struct library *library, struct job *job)
{
    struct corpus *old = library->corpus, *fresh = job->corpus;
    for (uint32_t i = 0; old != NULL && i < old->n; i++)
        if (corpus_find(fresh, old->documents[i].document->id) == NULL)
            rag_index_remove(library->index, old->documents[i].document->id);
    for (uint32_t i = 0; i < fresh->n; i++)
        put_document(library, fresh->documents[i].document);
    library->corpus = fresh;
    job->corpus = NULL;
    corpus_destroy(old);
}

static void take_notes(struct library *library, const struct job *job)
{
    for (size_t i = 0; i < job->note_n; i++) {
        struct note *note = &library->notes[library->indexed_n++];
        put_document(library, job->documents[i]);
        free(note->name);
        free(note->text);
        note->name = note->text = NULL;
    }
    library->note_dimension = job->dimension;
}

static void become_ready(struct library *library)
{
    if (library->is_ready)
        return;
    library->is_ready = true;
    library->settings.on_ready(library->settings.context);
}

void library_turn(struct library *library)
{
    uint64_t count;
    struct job *job = library->job;
    if (read(library->fd, &count, sizeof count) < 0 || job == NULL)
        return;
    pthread_join(job->thread, NULL);
    library->job = NULL;
    if (job->is_good && job->kind == JOB_FOLDER)
        take_corpus(library, job);
    else if (job->is_good)
        take_notes(library, job);
    else if (!atomic_load(&library->is_stopping)) /* logged where it failed */
        library->is_wanted[job->kind] = true;
    if (job->is_good)
        log_write(LOG_INFO, "the library changed",
                  LOG_U("documents", rag_index_documents(library->index)),
                  LOG_U("passages", rag_index_chunks(library->index)));
    bool is_folder = job->kind == JOB_FOLDER, has_failed = !job->is_good;
    destroy_job(job);
    if (has_failed)
        timer_set(library->settings.timers, &library->retry, RETRY_MS);
    else
        start_job(library);
    if (is_folder)
        become_ready(library);
}

/* The first turn of a library without a folder, or another try of a job that failed. */
static void on_retry(void *context)
{
    struct library *library = context;
    if (library->settings.folder == NULL)
        become_ready(library);
    start_job(library);
}

struct library *library_create(const struct library_settings *settings)
{
    struct library *library = calloc(1, sizeof *library);
    if (library == NULL)
        abort();
    library->settings = *settings;
    library->index = rag_index_create();
    library->retry = (struct timer){.fire = on_retry, .context = library};
    library->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (library->fd < 0)
        abort();
    if (settings->folder == NULL) {
        timer_set(settings->timers, &library->retry, 0);
        return library;
    }
    library->is_wanted[JOB_FOLDER] = true;
    start_job(library);
    return library;
}

void library_destroy(struct library *library)
{
    if (library == NULL)
        return;
    atomic_store(&library->is_stopping, true);
    timer_stop(&library->retry);
    if (library->job != NULL) {
        pthread_join(library->job->thread, NULL);
        destroy_job(library->job);
    }
    rag_index_destroy(library->index);
    corpus_destroy(library->corpus);
    for (size_t i = 0; i < library->note_n; i++) {
        free(library->notes[i].name);
        free(library->notes[i].text);
    }
    free(library->notes);
    for (size_t i = 0; i < library->flag_n; i++)
        free((char *)library->flags[i].at);
    free(library->flags);
    close(library->fd);
    free(library);
}

int library_fd(const struct library *library)
{
    return library->fd;
}

void library_reload(struct library *library)
{
    library->is_wanted[JOB_FOLDER] = library->settings.folder != NULL;
    start_job(library);
}

/* ---- recommendations ---- */

bool library_add_note(struct library *library, struct str name, struct str text)
{
    struct note note = {.text_bytes = text.n};
    SHA256((const unsigned char *)text.at, text.n, note.sha256);
    for (size_t i = 0; i < library->note_n; i++)
        if (memcmp(library->notes[i].sha256, note.sha256, sizeof note.sha256) == 0)
            return false;
    if (library->note_n == LIBRARY_NOTES_MAX ||
        text.n > LIBRARY_NOTES_MAX_BYTES - library->note_bytes) {
        log_write(LOG_WARN, "too many recommendations: this one is left out");
        return false;
    }
    if ((library->note_n & (library->note_n - 1)) == 0) {
        size_t cap = library->note_n == 0 ? 1 : library->note_n * 2;
        library->notes = reallocarray(library->notes, cap, sizeof *library->notes);
        if (library->notes == NULL)
            abort();
    }
    note.name = str_copy(name);
    note.text = str_copy(text);
    library->note_bytes += text.n;
    library->notes[library->note_n++] = note;
    return true;
}

void library_build_notes(struct library *library)
{
    library->is_wanted[JOB_NOTES] = true;
    start_job(library);
}

void library_add_flag(struct library *library, struct str fragment)
{
    for (size_t i = 0; i < library->flag_n; i++)
        if (str_eq(library->flags[i], fragment))
            return;
    if (library->flag_n == LIBRARY_FLAGS_MAX) {
        log_write(LOG_WARN, "too many flags: this one is left out");
        return;
    }
    if ((library->flag_n & (library->flag_n - 1)) == 0) {
        size_t cap = library->flag_n == 0 ? 1 : library->flag_n * 2;
        library->flags = reallocarray(library->flags, cap, sizeof *library->flags);
        if (library->flags == NULL)
            abort();
    }
    library->flags[library->flag_n++] = (struct str){str_copy(fragment), fragment.n};
    uint32_t n = rag_index_leave_out(library->index, (struct str){NULL, 0}, fragment);
    log_write(LOG_INFO, "flagged passages are left out", LOG_U("passages", n));
}

/* ---- searching ---- */

bool library_is_empty(const struct library *library)
{
    return rag_index_chunks(library->index) == 0;
}

void library_count(const struct library *library, uint64_t *ret_documents, uint64_t *ret_passages)
{
    *ret_documents = rag_index_documents(library->index);
    *ret_passages = rag_index_chunks(library->index);
}

void library_put_name(struct buf *b, const struct rag_document *document)
{
    json_t *name = json_loadb(document->title_json.at, document->title_json.n,
                              JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    buf_put(b, (struct str){json_string_value(name), json_string_length(name)});
    json_decref(name);
}

static void finish(struct library_lookup *lookup, const float *vector, uint32_t dimension)
{
    struct rag_query query = {
        .text = str_of(lookup->question), .vector = vector, .dimension = dimension};
    lookup->callback(lookup->context, lookup->library->index, &query);
    free(lookup->question);
    free(lookup);
}

static void on_turn(void *context)
{
    struct library_lookup *lookup = context;
    struct embedder *embedder = lookup->library->settings.embedder;
    struct str text = str_of(lookup->question);
    float *vector;
    uint32_t dimension;
    if (!embed_texts(embedder, &text, 1, NULL, &vector, &dimension)) {
        finish(lookup, NULL, 0);
        return;
    }
    finish(lookup, vector, dimension);
    free(vector);
}

static void on_embedded(void *context, const float *vector, uint32_t dimension, const char *reason)
{
    struct library_lookup *lookup = context;
    lookup->embedding = NULL;
    if (vector == NULL)
        log_write(LOG_WARN, "a question is searched by words alone", LOG_S("reason", reason));
    finish(lookup, vector, dimension);
}

struct library_lookup *library_start(struct library *library, struct str question,
                                     library_callback callback, void *context)
{
    struct library_lookup *lookup = calloc(1, sizeof *lookup);
    if (lookup == NULL)
        abort();
    *lookup = (struct library_lookup){.library = library,
                                      .timer = {.fire = on_turn, .context = lookup},
                                      .question = str_copy(question),
                                      .callback = callback,
                                      .context = context};
    if (library->settings.embedder->is_quick)
        timer_set(library->settings.timers, &lookup->timer, 0);
    else
        lookup->embedding = embed_start(library->settings.embedder, library->settings.client,
                                        str_of(lookup->question), on_embedded, lookup);
    return lookup;
}

void library_cancel(struct library_lookup *lookup)
{
    if (lookup == NULL)
        return;
    timer_stop(&lookup->timer);
    embed_cancel(lookup->library->settings.embedder, lookup->embedding);
    free(lookup->question);
    free(lookup);
}
