/* SPDX-License-Identifier: MIT
 *
 * link: the signed links by which an approver answers one question without logging in
 * (ADR 15). A link names its question, the account as which it counts
 * and the user that this account acts for, and carries an HMAC under a key that is derived from the
 * cluster's token key. Links are not stored: every node makes the same link again, and every node
 * can check it. Pure functions, any thread.
 *
 * A link is good as long as its account exists with the secret, role and namespace that it had when
 * the link was made, like a token (shared/auth/token.h). That its question is open, that the
 * account may answer it and has not done so yet is not known here: the verb decides
 * (lua/workflow/answer.lua). A link is a secret: never log it.
 */
#ifndef PARLEY_WORKFLOW_APPROVALS_LINK_H
#define PARLEY_WORKFLOW_APPROVALS_LINK_H

#include "services/workflow/approvals/question_id.h"
#include "shared/auth/token.h"

enum {
    LINK_KEY_BYTES = 32,
    LINK_USER_MAX_BYTES = 128,
    /* The signed text: id, generation, account and user as names, with a space between each. */
    LINK_TEXT_MAX_BYTES = QUESTION_ID_MAX_BYTES + TOKEN_GENERATION_CHARS +
                          3 * (ACCOUNT_NAME_MAX_BYTES + LINK_USER_MAX_BYTES) + 3,
    LINK_MAX_BYTES = (LINK_TEXT_MAX_BYTES * 4 + 2) / 3 + 1 + 43
};

struct link_key {
    unsigned char bytes[LINK_KEY_BYTES];
};

enum link_state {
    LINK_GOOD,
    LINK_FORGED, /* not a link of this cluster */
    LINK_ENDED,  /* its account is gone, or has another secret, role or namespace */
    LINK_NR
};

/* The content of a good link. */
struct link {
    const struct account *account; /* in the accounts with which it was read */
    struct question_id question;   /* borrows from `text` below */
    char text[LINK_TEXT_MAX_BYTES];
    char user[LINK_USER_MAX_BYTES];
    size_t user_n;
};

void link_key_derive(const struct token_key *key, struct link_key *ret_key);

/* Puts the last segment of the link's path: letters, digits, '-', '_' and one '.'. The account is
 * one of the configured accounts; `user` has 1 to LINK_USER_MAX_BYTES bytes. */
void link_put(struct buf *b, const struct link_key *key, const struct account *account,
              struct str user, const struct question_id *question);

/* Reads what link_put wrote; `segment` is untrusted bytes. *ret_link is only valid for LINK_GOOD,
 * and must not be moved. */
enum link_state link_read(const struct link_key *key, const struct accounts *accounts,
                          struct str segment, struct link *ret_link) must_check;

#endif
