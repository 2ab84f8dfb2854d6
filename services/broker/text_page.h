/* SPDX-License-Identifier: MIT
 *
 * text_page: looks for a text in a page of a user's texts (lua/topic/user_texts.lua). In steps of
 * bounded size, as a page has a megabyte or more. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_BROKER_TEXT_PAGE_H
#define PARLEY_SERVICES_BROKER_TEXT_PAGE_H

#include "shared/queue/lines.h"
#include "shared/text/find.h"

enum { TEXT_PAGE_LAST_SEQ = INT32_MAX }; /* of a cursor: after all questions of its topic */

/* The wanted text: as it is in JSON, and with what is not ASCII as \u. */
struct text_wanted {
    struct find plain, escaped;
    bool has_escaped; /* these are two */
};

/* A question that has it, or, with seq 0, a topic whose name does. Borrows from the page. */
struct text_found {
    struct str topic;
    struct str name;  /* JSON, cut */
    struct str query; /* JSON, whole */
    uint64_t seq;
};

struct text_page {
    struct lines lines; /* what has not been read */
    struct str next;    /* cursor of the next page; n == 0: there is none */
    struct text_found here;
    struct str place;     /* of the topic that is read */
    struct str done;      /* the place of the topic that was found last */
    uint64_t seq, left_n; /* of the topic: its next question, and how many follow here */
    struct str answers;   /* of the question, to be read after it; at == NULL: have been */
    struct str text;      /* what is left of the text that is read */
    struct find_place plain, escaped;
    uint64_t rows_n; /* topics and questions that were read */
};

/* Begins with a reply of the verb after its first line; the reply is borrowed. */
void text_page_init(struct text_page *page, struct lines reply);

enum text_page_state { TEXT_PAGE_FOUND, TEXT_PAGE_MORE, TEXT_PAGE_END };
/* Reads up to *bytes of texts, or until a topic is found, of which nothing more is read; subtracts
 * what it has read. TEXT_PAGE_MORE: *bytes are used up. */
enum text_page_state text_page_read(struct text_page *page, const struct text_wanted *wanted,
                                    size_t *bytes, struct text_found *ret_found) must_check;
/* Puts the cursor of what has not been read, "<Seq>.<ms>.<topic>"; nothing if there is nothing. */
void text_page_put_cursor(struct buf *b, const struct text_page *page);

/* Puts a JSON string, cut to so many characters, never within one, be it UTF-8 or an escape. */
void text_page_put_cut(struct buf *b, struct str json, unsigned characters);

#endif
