/* SPDX-License-Identifier: MIT
 *
 * added: a query that add-query stores: what marks its request as the same one, and what its client
 * reads. For add_query.c, and for the files that continue with add-query?Wait=.
 */
#ifndef PARLEY_SERVICES_BROKER_ADDED_H
#define PARLEY_SERVICES_BROKER_ADDED_H

#include "services/broker/broker.h"
#include "shared/auth/signed.h"

enum { ADDED_DIGEST_SIZE = 33 }; /* hex digits and a NUL */

struct added {
    uint64_t seq, ms;
    bool is_again; /* an earlier request has stored it: this node is not registered */
};

/* Reads the verb's reply. If it is a refusal, answers with it and returns false. */
bool added_read(struct request *r, enum err error, struct str reply,
                struct added *ret_added) must_check;
/* Puts what add-query answers. */
void added_put(struct buf *b, struct request *r, const struct added *added);
/* Puts lines 3 to 7 of its row, as they were stored; the request was found good before. */
void added_put_tail(struct buf *b, struct request *r);

/* Writes the digest of the body, as hex. */
void added_put_digest(struct request *r, char ret_hex[ADDED_DIGEST_SIZE]);
/* Writes the digest of the request's nonce and body, as hex. */
void added_put_mark(struct request *r, char ret_hex[SIGNED_MARK_SIZE]);
/* The request's nonce, as hex; its Idempotency-Key, as a name, n == 0 for none; and such a key of
 * its account. In the request's pool. */
struct str added_nonce(struct request *r);
struct str added_key(struct request *r);
struct str added_key_of_account(struct request *r, struct str key);

#endif
