/* SPDX-License-Identifier: MIT
 * library.c - see library.h.
 *
 * The builder is a thread per job, at most one at a time. A job owns all that it
 * reads and makes; when it is done, the thread writes to an eventfd and the loop puts the documents
 * into the index, which the loop alone touches. */
#include "services/engine/library.h"

#include "shared/base/json.h"
#include "shared/base/log.h"
#include "shared/base/mem.h"
#include "shared/corpus/corpus.h"
#include "shared/corpus/make.h"
#include "shared/text/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { RETRY_MS = 30000, FLAG_ID_BYTES = 48 };

enum job_kind { JOB_FOLDER, JOB_NOTES, JOB_NR };

/* A fragment that somebody flagged; the same may be flagged by several. */
struct flag {
    char id[FLAG_ID_BYTES];
    struct str fragment;
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
    struct notes *notes;
    uint32_t note_dimension;
    struct flag *flags;
    size_t flag_n;
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

/* Copies what is not built yet. */
static void copy_notes(struct job *job)
{
    job->note_n = notes_copy_unbuilt(job->library->notes, &job->notes);
    job->dimension = job->library->note_dimension;
    job->documents = mem_zeroed_n(job->note_n + 1, sizeof *job->documents);
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
    struct job *job = mem_zeroed(sizeof *job);
    *job = (struct job){.kind = kind, .library = library};
    if (kind == JOB_NOTES)
        copy_notes(job);
    library->job = job;
    if (pthread_create(&job->thread, NULL, run_job, job) != 0)
        abort();
}

static void leave_out_flagged(struct library *library, struct rag_index *index, struct str id)
{
    for (size_t i = 0; i < library->flag_n; i++)
        (void)rag_index_leave_out(index, id, library->flags[i].fragment);
}

/* Puts a document in, without what is flagged in it. */
static void put_document(struct library *library, const struct rag_document *document)
{
    rag_index_add(library->index, document);
    leave_out_flagged(library, library->index, document->id);
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
        struct rag_document *document = job->documents[i];
        job->documents[i] = NULL;
        notes_take(library->notes, document);
        leave_out_flagged(library, notes_index(library->notes), job->notes[i].id);
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

static uint64_t documents_of(const struct library *library)
{
    return (uint64_t)rag_index_documents(library->index) +
           rag_index_documents(notes_index(library->notes));
}

static uint64_t chunks_of(const struct library *library)
{
    return (uint64_t)rag_index_chunks(library->index) +
           rag_index_chunks(notes_index(library->notes));
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
        log_write(LOG_INFO, "corpus changed", LOG_U("documents", documents_of(library)),
                  LOG_U("passages", chunks_of(library)));
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
    struct library *library = mem_zeroed(sizeof *library);
    library->settings = *settings;
    library->index = rag_index_create();
    library->notes = notes_create();
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
    notes_destroy(library->notes);
    for (size_t i = 0; i < library->flag_n; i++)
        free((char *)library->flags[i].fragment.at);
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

struct notes *library_notes(const struct library *library)
{
    return library->notes;
}

void library_build_notes(struct library *library)
{
    library->is_wanted[JOB_NOTES] = true;
    start_job(library);
}

static bool has_flag(const struct library *library, struct str id)
{
    for (size_t i = 0; i < library->flag_n && id.n > 0; i++)
        if (str_eq(id, str_of(library->flags[i].id)))
            return true;
    return false;
}

void library_add_flag(struct library *library, struct str id, struct str fragment)
{
    static const struct str all = {NULL, 0};
    if (id.n >= FLAG_ID_BYTES || fragment.n == 0 || has_flag(library, id))
        return;
    if (library->flag_n == LIBRARY_FLAGS_MAX) {
        log_write(LOG_WARN, "too many flags: skipping this one");
        return;
    }
    library->flags = mem_grow(library->flags, library->flag_n, sizeof *library->flags);
    struct flag *flag = &library->flags[library->flag_n++];
    *flag = (struct flag){.fragment = {str_copy(fragment), fragment.n}};
    memcpy(flag->id, id.at == NULL ? "" : id.at, id.n);
    uint32_t n = rag_index_leave_out(library->index, all, fragment) +
                 rag_index_leave_out(notes_index(library->notes), all, fragment);
    log_write(LOG_INFO, "skipping flagged passages", LOG_U("passages", n));
}

struct showing {
    struct library *library;
    struct rag_index *index;
    struct str fragment;
};

/* A document with a passage that the flag hid is put in again, without what other flags hide. */
static void show_again(void *context, const struct rag_document *document)
{
    const struct showing *showing = context;
    struct buf text, fragment;
    buf_init(&text, SIZE_MAX / 2);
    buf_init(&fragment, SIZE_MAX / 2);
    text_put_normal(&text, document->text);
    text_put_normal(&fragment, showing->fragment);
    if (fragment.n > 0 && str_holds(buf_str(&text), buf_str(&fragment))) {
        rag_index_add(showing->index, document);
        leave_out_flagged(showing->library, showing->index, document->id);
    }
    buf_fini(&text);
    buf_fini(&fragment);
}

static void remove_flag(struct library *library, size_t i)
{
    struct showing showing = {.library = library, .fragment = library->flags[i].fragment};
    library->flags[i] = library->flags[--library->flag_n];
    showing.index = library->index;
    for (uint32_t k = 0; library->corpus != NULL && k < library->corpus->n; k++)
        show_again(&showing, library->corpus->documents[k].document);
    showing.index = notes_index(library->notes);
    notes_each_document(library->notes, show_again, &showing);
    free((char *)showing.fragment.at);
    log_write(LOG_INFO, "flag removed: its passages are found again");
}

void library_remove_flag(struct library *library, struct str id)
{
    for (size_t i = 0; i < library->flag_n && id.n > 0; i++)
        if (str_eq(id, str_of(library->flags[i].id))) {
            remove_flag(library, i);
            return;
        }
}

static void put_again(void *context, const struct rag_document *document)
{
    rag_index_add(context, document);
}

void library_clear_flags(struct library *library)
{
    while (library->flag_n > 0)
        free((char *)library->flags[--library->flag_n].fragment.at);
    for (uint32_t i = 0; library->corpus != NULL && i < library->corpus->n; i++)
        put_again(library->index, library->corpus->documents[i].document);
    notes_each_document(library->notes, put_again, notes_index(library->notes));
}

/* ---- searching ---- */

bool library_is_empty(const struct library *library)
{
    return chunks_of(library) == 0;
}

void library_count(const struct library *library, uint64_t *ret_documents, uint64_t *ret_passages)
{
    *ret_documents = documents_of(library);
    *ret_passages = chunks_of(library);
}

static bool is_nearer(const struct rag_hit *x, const struct rag_hit *y)
{
    return x->cosine > y->cosine;
}

size_t library_nearest(const struct library *library, const struct rag_query *query, size_t n,
                       double threshold, struct rag_hit *ret_hits)
{
    struct rag_hit documents[RAG_HITS_MAX], notes[RAG_HITS_MAX];
    size_t document_n = rag_index_nearest(library->index, query, n, threshold, documents);
    size_t note_n = rag_index_nearest(notes_index(library->notes), query, n, threshold, notes);
    size_t d = 0, k = 0, found = 0;
    while (found < n && (d < document_n || k < note_n)) {
        bool is_note = d == document_n || (k < note_n && is_nearer(&notes[k], &documents[d]));
        ret_hits[found++] = is_note ? notes[k++] : documents[d++];
    }
    return found;
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

static void on_pass(void *context)
{
    struct library_lookup *lookup = context;
    struct embedder *embedder = lookup->library->settings.embedder;
    struct str text = str_of(lookup->question);
    float *vector;
    uint32_t dimension;
    if (!embed_texts(embedder, &text, 1, NULL, &vector, &dimension, NULL)) {
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
        log_write(LOG_WARN, "searching by words only", LOG_S("reason", reason));
    finish(lookup, vector, dimension);
}

struct library_lookup *library_start(struct library *library, struct str question,
                                     library_callback callback, void *context)
{
    struct library_lookup *lookup = mem_zeroed(sizeof *lookup);
    *lookup = (struct library_lookup){.library = library,
                                      .timer = {.fire = on_pass, .context = lookup},
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
