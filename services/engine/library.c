/* SPDX-License-Identifier: MIT
 * library.c - see library.h.
 *
 * The builder is a thread per job, at most one at a time. A job owns all that it reads but the set
 * of notes that it improves on; that one is neither changed nor freed before the job is over. When
 * it is, the thread writes to an eventfd and the loop takes the new set over. */
#include "services/engine/library.h"

#include "shared/base/log.h"
#include "shared/rag/corpus.h"

#include <errno.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { RETRY_MS = 30000 };

enum job_kind { JOB_FOLDER, JOB_NOTES, JOB_NR };

struct job {
    enum job_kind kind;
    pthread_t thread;
    struct library *library;
    struct passage_document *notes; /* JOB_NOTES */
    size_t note_n;
    struct passages *set; /* the result; NULL on failure */
};

struct library {
    struct library_settings settings;
    struct passages *sets[JOB_NR]; /* the folder's, the notes' */
    struct passage_document *notes;
    size_t note_n, flag_n;
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

static char *copy(struct str s)
{
    char *twin = malloc(s.n + 1);
    if (twin == NULL)
        abort();
    if (s.n > 0)
        memcpy(twin, s.at, s.n);
    twin[s.n] = 0;
    return twin;
}

/* ---- the builder ---- */

static struct passages *build_notes(struct job *job)
{
    struct library *library = job->library;
    const struct passages *old = library->sets[JOB_NOTES];
    struct passages *set = passages_create();
    /* Notes are only ever added: those that the old set has come first, in the same order. */
    size_t kept_n = old == NULL ? 0 : old->document_n;
    bool is_good = true;
    for (size_t i = 0; i < kept_n && is_good; i++)
        is_good = passages_add_copy(set, old, (uint32_t)i);
    uint32_t first = set->n;
    for (size_t i = kept_n; i < job->note_n && is_good; i++)
        is_good = passages_add(set, &job->notes[i]);
    if (is_good && passages_finish(set, first, library->settings.embedder, &library->is_stopping))
        return set;
    passages_destroy(set);
    return NULL;
}

static void *run_job(void *context)
{
    struct job *job = context;
    struct library *library = job->library;
    struct corpus_settings corpus = {.folder = library->settings.folder,
                                     .index_path = library->settings.index_path,
                                     .embedder = library->settings.embedder,
                                     .is_stopping = &library->is_stopping};
    job->set = job->kind == JOB_FOLDER ? corpus_build(&corpus) : build_notes(job);
    uint64_t one = 1;
    while (write(library->fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
    return NULL;
}

static void free_notes(struct passage_document *notes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(notes[i].name);
        free(notes[i].text);
    }
    free(notes);
}

static struct passage_document *copy_notes(const struct library *library)
{
    struct passage_document *notes = calloc(library->note_n + 1, sizeof *notes);
    if (notes == NULL)
        abort();
    for (size_t i = 0; i < library->note_n; i++) {
        notes[i] = library->notes[i];
        notes[i].name = copy(str_of(library->notes[i].name));
        notes[i].text = copy((struct str){library->notes[i].text, library->notes[i].text_bytes});
    }
    return notes;
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
    if (kind == JOB_NOTES) {
        job->notes = copy_notes(library);
        job->note_n = library->note_n;
    }
    library->job = job;
    if (pthread_create(&job->thread, NULL, run_job, job) != 0)
        abort();
}

static void apply_flags(struct library *library, struct passages *set)
{
    for (size_t i = 0; set != NULL && i < library->flag_n; i++)
        (void)passages_leave_out(set, library->flags[i]);
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
    if (job->set != NULL) {
        passages_destroy(library->sets[job->kind]);
        library->sets[job->kind] = job->set;
        apply_flags(library, job->set);
    } else if (!atomic_load(&library->is_stopping)) {
        /* Logged where it failed. What is there stays in use. */
        library->is_wanted[job->kind] = true;
    }
    bool is_folder = job->kind == JOB_FOLDER, has_failed = job->set == NULL;
    free_notes(job->notes, job->note_n);
    free(job);
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
        passages_destroy(library->job->set);
        free_notes(library->job->notes, library->job->note_n);
        free(library->job);
    }
    for (int i = 0; i < JOB_NR; i++)
        passages_destroy(library->sets[i]);
    free_notes(library->notes, library->note_n);
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
    struct passage_document note = {.text_bytes = text.n};
    SHA256((const unsigned char *)text.at, text.n, note.sha256);
    for (size_t i = 0; i < library->note_n; i++)
        if (memcmp(library->notes[i].sha256, note.sha256, sizeof note.sha256) == 0)
            return false;
    if (library->note_n == LIBRARY_NOTES_MAX) {
        log_write(LOG_WARN, "too many recommendations: this one is left out");
        return false;
    }
    if ((library->note_n & (library->note_n - 1)) == 0) {
        size_t cap = library->note_n == 0 ? 1 : library->note_n * 2;
        library->notes = reallocarray(library->notes, cap, sizeof *library->notes);
        if (library->notes == NULL)
            abort();
    }
    note.name = copy(name);
    note.text = copy(text);
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
    library->flags[library->flag_n++] = (struct str){copy(fragment), fragment.n};
    uint32_t n = 0;
    for (int i = 0; i < JOB_NR; i++)
        if (library->sets[i] != NULL)
            n += passages_leave_out(library->sets[i], fragment);
    log_write(LOG_INFO, "flagged passages are left out", LOG_U("passages", n));
}

/* ---- searching ---- */

bool library_is_empty(const struct library *library)
{
    uint64_t documents, passages;
    library_count(library, &documents, &passages);
    return passages == 0;
}

void library_count(const struct library *library, uint64_t *ret_documents, uint64_t *ret_passages)
{
    *ret_documents = *ret_passages = 0;
    for (int i = 0; i < JOB_NR; i++)
        if (library->sets[i] != NULL) {
            *ret_documents += library->sets[i]->document_n;
            *ret_passages += library->sets[i]->n;
        }
}

static void finish(struct library_lookup *lookup, const float *vector, uint32_t dimension)
{
    const struct passages *sets[JOB_NR];
    for (int i = 0; i < JOB_NR; i++)
        sets[i] = lookup->library->sets[i];
    struct search search = {.sets = sets,
                            .set_n = JOB_NR,
                            .question = str_of(lookup->question),
                            .vector = vector,
                            .dimension = dimension};
    lookup->callback(lookup->context, &search);
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
                                      .question = copy(question),
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
