/* SPDX-License-Identifier: MIT
 *
 * ask_input: the members of bodies that ask something. Each answers 400 naming the member and
 * returns false when it is not as it should be; absent and null members of optional ones are their
 * fallback.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_ASK_ASK_INPUT_H
#define PARLEY_SERVICES_DOCUMENTS_ASK_ASK_INPUT_H

#include "services/documents/documents.h"

/* A text of 1 to `max_chars` characters, not only white space. */
bool ask_input_question(struct request *r, const char *name, size_t max_chars,
                        struct str *ret_text) must_check;
/* A whole number from 1 to TOP_K_MAX; TOP_K_USUAL when it is absent. */
bool ask_input_top_k(struct request *r, const char *name, unsigned *ret_n) must_check;
/* A text of 0 to `max_chars` characters; "" when it is absent. */
bool ask_input_optional_text(struct request *r, const char *name, size_t max_chars,
                             struct str *ret_text) must_check;
bool ask_input_whole(struct request *r, const char *name, unsigned min, unsigned max,
                     unsigned fallback, unsigned *ret_number) must_check;
bool ask_input_number(struct request *r, const char *name, double min, double max, double fallback,
                      double *ret_number) must_check;

/* Puts the name under which an address is limited: that of its network (peer_put_network). */
void ask_input_put_address(struct buf *b, struct str address);
/* The limit that /api/rag/ask and the agent share, of that owner (a name); in the request's pool.
 */
struct str ask_input_limits(struct request *r, struct str owner);
/* Milliseconds since the request came. */
uint64_t ask_input_elapsed_ms(const struct request *r);
/* What is left of `all_ms` since then; 1 at least, for a deadline that is over. */
uint64_t ask_input_left_ms(const struct request *r, uint64_t all_ms);

#endif
