/* SPDX-License-Identifier: MIT
 *
 * asked: finds what kind of thing a question asks for, in a few languages, and whether a text says
 * one: "how many" wants a number, "when" a time, "how do I" steps. Pure.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_ASKED_H
#define PARLEY_SERVICES_ENGINE_MODELS_ASKED_H

#include "shared/base/str.h"

enum asked {
    ASKED_ANYTHING,
    ASKED_AMOUNT, /* a number, in digits or words, or what stands for one: "free", "none" */
    ASKED_WEIGHT, /* a number with a unit of weight */
    ASKED_LENGTH, /* the same of length: "how deep", "how far" */
    ASKED_PRICE,  /* a number with a currency, or with a word such as "costs" and "fee" */
    ASKED_TIME,   /* the same, a day, a month, or words such as "before" and "until" */
    ASKED_WAY,    /* how to do something: numbered steps, or a sentence that begins with "To" */
};

enum asked asked_of(struct str question);
/* Returns whether the answer to such a question has to hold a number. */
bool asked_is_measured(enum asked asked);
/* Returns the word for what is counted: "chairs" of "How many chairs are there?". Empty: none. */
struct str asked_counted(struct str question);
/* Returns the word for what somebody did: "approved" of "Who approved the order?". Empty: none. */
struct str asked_deed(struct str question);
/* Returns whether the text says something of that kind. Marks of list items are not numbers.
 * `heads`: the heads of a row of a table, empty for a record, whose currencies are in the heads or
 * nowhere; NULL for anything else. */
bool asked_is_said(enum asked asked, struct str text, const struct str *heads);

#endif
