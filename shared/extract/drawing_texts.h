/* SPDX-License-Identifier: MIT
 *
 * drawing_texts: the texts of charts and of SmartArt, which office documents keep in parts of their
 * own: a line for each value ("Pumps 2021 4711") or shape. And what stands for a picture. One
 * thread.
 */
#ifndef PARLEY_EXTRACT_DRAWING_TEXTS_H
#define PARLEY_EXTRACT_DRAWING_TEXTS_H

#include "shared/extract/flow.h"
#include "shared/extract/package.h"

/* Reads such a part as paragraphs of the flow. NONE, BROKEN, BOMB or ENCRYPTED. */
enum extract_fault drawing_texts_read(struct package *package, struct str part,
                                      struct flow *flow) must_check;
/* The same for all charts and diagrams below a folder ("word/") that were not read before. */
enum extract_fault drawing_texts_read_all(struct package *package, struct str folder,
                                          struct flow *flow) must_check;

/* Returns what the description of a picture says to people: without the remark that a program made
 * it, and empty if it is the name of a file. */
struct str drawing_alt_text(struct str description);

#endif
