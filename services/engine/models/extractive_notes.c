/* SPDX-License-Identifier: MIT
 * extractive_notes.c - see extractive_internal.h. Notes are what users recommended
 * (services/engine/notes.h). Each sentence is taken at most once, and one that a document has too
 * is cited from there. */
#include "services/engine/models/extractive_internal.h"

enum { NOTES_TRIED_MAX = 16 };

/* The words, each between spaces, so that one text is found within another by its words alone. */
static void fold(struct buf *b, struct str text)
{
    struct text_word word;
    buf_clear(b);
    buf_put_char(b, ' ');
    while (text_next_word(&text, &word)) {
        buf_put(b, (struct str){word.at, word.n});
        buf_put_char(b, ' ');
    }
}

static bool says(struct str text, struct str other)
{
    struct buf whole, part;
    buf_init(&whole, SIZE_MAX / 2);
    buf_init(&part, SIZE_MAX / 2);
    fold(&whole, text);
    fold(&part, other);
    bool is_held = part.n > 1 && str_holds(buf_str(&whole), buf_str(&part));
    buf_fini(&whole);
    buf_fini(&part);
    return is_held;
}

static bool says_the_same(struct str one, struct str other)
{
    return says(one, other) || says(other, one);
}

/* Leaves out what is said by `text`, whole or in part, of the first `n`. Returns how many stay. */
static size_t leave_out(struct sentence *taken, size_t n, struct str text, bool is_wrong)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_gone = is_wrong ? !taken[i].is_note && says_the_same(taken[i].text, text)
                                : says(text, taken[i].text);
        if (!is_gone)
            taken[kept++] = taken[i];
    }
    return kept;
}

/* The document's own sentence that says it, which is cited then instead of the note. */
static const struct sentence *find_in_documents(const struct extraction *x, struct str text)
{
    for (size_t i = 0; i < x->n; i++) {
        const struct sentence *s = &x->sentences[i];
        if (!s->is_note && s->kind != STATEMENT_LIST && says(s->text, text))
            return s;
    }
    return NULL;
}

static bool is_said(const struct sentence *taken, size_t n, struct str text)
{
    for (size_t i = 0; i < n; i++)
        if (says(taken[i].text, text))
            return true;
    return false;
}

/* Notes what users have said of the sentences that stay. */
static void note_complaints(const struct extraction *x, struct sentence *taken, size_t n)
{
    for (size_t i = 0; i < x->prompt->source_n; i++) {
        const struct source *source = &x->prompt->sources[i];
        for (size_t k = 0; k < n && source->complaint != NULL; k++)
            if (!taken[k].is_note && says_the_same(taken[k].text, str_of(source->fragment)))
                taken[k].complaint = source->complaint;
    }
}

size_t extractive_take_notes(const struct extraction *x, struct sentence *taken, size_t n)
{
    size_t notes_n = 0, tried = 0;
    for (size_t i = 0; i < x->n && notes_n < NOTES_TAKEN_MAX && tried < NOTES_TRIED_MAX; i++) {
        const struct sentence *s = &x->sentences[i], *own;
        if (!s->is_note || !s->is_answer || s->score < x->least_score)
            continue;
        const struct source *source = &x->prompt->sources[s->source];
        tried++;
        if (is_said(taken, n, s->text))
            continue;
        own = find_in_documents(x, s->text);
        if (source->is_correction && source->fragment[0] != 0)
            n = leave_out(taken, n, str_of(source->fragment), true);
        if (own == NULL)
            n = leave_out(taken, n, s->text, false);
        taken[n++] = own != NULL ? *own : *s;
        notes_n++;
    }
    note_complaints(x, taken, n);
    return n;
}
