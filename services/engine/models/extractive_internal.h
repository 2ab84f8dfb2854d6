/* SPDX-License-Identifier: MIT
 *
 * extractive_internal: shared by the files extractive*.c, and private to them. Pure.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_EXTRACTIVE_INTERNAL_H
#define PARLEY_SERVICES_ENGINE_MODELS_EXTRACTIVE_INTERNAL_H

#include "services/engine/models/asked.h"
#include "services/engine/models/prompt.h"
#include "shared/text/statements.h"
#include "shared/text/terms.h"

enum {
    SENTENCES_MAX = 1024,
    TAKEN_MAX = 4,
    NOTES_TAKEN_MAX = 2, /* sentences of recommendations, in addition */
};

struct sentence {
    enum statement_kind kind;
    struct str text, lead, heading, code;
    size_t source, place; /* from 0; `place` is its index among all sentences */
    double price, score;
    bool is_answer;           /* it and its passage hold enough of the question */
    double coverage, context; /* share of the question's weight: of itself, of its passage */
    bool is_below;            /* most of its coverage comes from the heading or lead above */
    double own;               /* share of the question's weight in its own words */
    bool is_keyed;            /* it is a row that the question calls by a number, as "week 8" */
    bool has_subject;         /* it, or what is above it, has the question's rarest word */
    bool has_codes;           /* the same of every code and larger number of the question */
    bool is_of_subject;       /* the heading above it has the question's rarest word */
    bool is_label;            /* it has names of the question, and nothing else of it */
    bool is_measured;         /* it says the amount, the price or the time that is asked for */
    bool says_asked;          /* the kind of thing that is asked for, see asked.h */
    uint64_t twin;            /* hash of the text in the form that is compared */
    struct terms_found found; /* without the title */
    bool is_note, is_for_question; /* recommended; recommended for exactly this question */
    const char *complaint;         /* a user's complaint about it; NULL: none */
};

struct extraction {
    const struct prompt *prompt;
    struct str question; /* the prompt's question, or one part of it */
    struct terms terms;
    enum asked asked;
    size_t counted; /* the place of the word for what is counted; TERMS_MAX: nothing is */
    size_t deed;    /* the same of what somebody did */
    size_t subject; /* the place of the question's rarest word among the terms */
    struct sentence *sentences;
    size_t n;
    double least_score; /* once they are sorted: of the best one's, what others need at least */
};

/* --- extractive_read.c --- */

/* Reads the question's words and the sentences of all sources, and scores them. */
void extractive_read(struct extraction *x);

/* --- extractive_put.c --- */

/* Returns whether a statement consists of links: a list of them, or a row with one. */
bool extractive_is_links(struct str text);
/* Puts a text with each run of white space as one space, links within a site as their words, and
 * marks as marks_put_quoted has them. */
void extractive_put_plain(struct buf *b, struct str text);
void extractive_put_answer(const struct prompt *prompt, const struct sentence *sentences,
                           size_t taken, struct buf *answer);
/* `words`: what was looked for. */
void extractive_put_think(const struct prompt *prompt, struct str words, size_t taken,
                          struct buf *think);

/* --- extractive_rows.c --- */

/* Returns whether a row is the first one of its table: text of the passage is above it. A passage
 * may begin in the middle of a table, or of a row. */
bool extractive_begins_table(struct str row, struct str passage);
/* Returns whether each cell of a row says what it is: "Type: A | Pressure: 40 bar". */
bool extractive_is_described(struct str row);
/* Returns whether a cell of the row is what the question calls it by: asked about "week 8", the
 * cell below "Week" is 8. `heads`: those of the row, or empty. */
bool extractive_is_keyed(const struct terms *terms, struct str heads, struct str row);

/* --- extractive_marked.c --- */

/* Returns whether the question names nothing itself, only what the reader has marked. */
bool extractive_means_marked(const struct prompt *prompt);
/* Puts the first sentences of what the reader has marked, and returns how many. */
size_t extractive_put_marked(const struct prompt *prompt, struct buf *answer);

/* --- extractive_notes.c --- */

/* Appends at most NOTES_TAKEN_MAX sentences of notes to the first `n` of `taken`, replaces those
 * that a correction is about, and attaches users' complaints. Returns the new number of sentences.
 */
size_t extractive_take_notes(const struct extraction *x, struct sentence *taken, size_t n);

#endif
