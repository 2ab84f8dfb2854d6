/* SPDX-License-Identifier: MIT
 *
 * ask_input: reads the members of request bodies that ask a question. When a member is invalid,
 * each function answers 400, names the member, and returns false. An optional member that is absent
 * or null gets its fallback.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_ASK_ASK_INPUT_H
#define PARLEY_SERVICES_DOCUMENTS_ASK_ASK_INPUT_H

#include "services/documents/documents.h"

/* Reads a text of 1 to `max_chars` characters that is not all white space. */
bool ask_input_question(struct request *r, const char *name, size_t max_chars,
                        struct str *ret_text) must_check;
/* Reads a whole number from 1 to TOP_K_MAX. Its fallback is TOP_K_USUAL. */
bool ask_input_top_k(struct request *r, const char *name, unsigned *ret_n) must_check;
/* Reads a text of 0 to `max_chars` characters. Its fallback is "". */
bool ask_input_optional_text(struct request *r, const char *name, size_t max_chars,
                             struct str *ret_text) must_check;
bool ask_input_whole(struct request *r, const char *name, unsigned min, unsigned max,
                     unsigned fallback, unsigned *ret_number) must_check;
bool ask_input_number(struct request *r, const char *name, double min, double max, double fallback,
                      double *ret_number) must_check;

/* Puts the name that rate limits use for an address: its network's (peer_put_network). */
void ask_input_put_address(struct buf *b, struct str address);
/* Returns the owner's limit that /api/rag/ask and the agent share. `owner` is a name. The result is
 * allocated from the request's pool. */
struct str ask_input_limits(struct request *r, struct str owner);
/* Returns the milliseconds since the request arrived. */
uint64_t ask_input_elapsed_ms(const struct request *r);
/* Returns what is left of `all_ms`, counted from the request's arrival: at least 1, even when the
 * deadline has passed. */
uint64_t ask_input_left_ms(const struct request *r, uint64_t all_ms);

#endif
