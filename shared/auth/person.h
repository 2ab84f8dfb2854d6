/* SPDX-License-Identifier: MIT
 *
 * person: the texts with which nodes sign a person in who comes from an OpenID provider. Nothing is
 * stored between the steps, which may be on different nodes: each text is signed with the
 * cluster's key and has what the next step needs (docs/adr/0096).
 *
 *     state   goes to the provider and comes back with its code; 10 minutes
 *     code    leads back to the web app, in a fragment; a minute
 *     token   is the session: like a token of token.h, but of a person without an account
 *
 * The page that begins makes a proof, 43 characters that it keeps, and sends their SHA-256, the
 * challenge. State and code carry the challenge, and the code is worth nothing without the proof: a
 * link that somebody else began, or that was stolen, signs nobody in.
 *
 * State and code have an id, which their users use up as a nonce. Pure functions, any thread.
 */
#ifndef PARLEY_AUTH_PERSON_H
#define PARLEY_AUTH_PERSON_H

#include "shared/auth/jwt.h"
#include "shared/auth/token.h"

enum {
    PERSON_STATE_S = 600,
    PERSON_CODE_S = 60,
    PERSON_PROOF_CHARS = 43,  /* of base64url: 32 bytes */
    PERSON_SECRET_CHARS = 43, /* the same */
    PERSON_TEXT_MAX_BYTES = 128
};

struct person_state {
    char id[TOKEN_ID_CHARS];
    char challenge[PERSON_PROOF_CHARS];
};

/* The contents of a code or a token. Free with person_fini. */
struct person {
    struct jwt_claims claims; /* of the provider's token, as far as they fit */
    uint64_t proved_s;        /* when the provider did, seconds since 1970 */
    struct person_state of;   /* of a code; of a token, NULs */
};

/* Returns whether `text` can be a proof or a challenge. */
bool person_is_proof(struct str text);
/* Returns whether `proof` is the one for the challenge; in constant time. */
bool person_proves(struct str proof, const char challenge[PERSON_PROOF_CHARS]) must_check;

/* Puts a state with a new id. `challenge` is valid (person_is_proof). */
void person_put_state(struct buf *out, const struct token_key *key, struct str challenge,
                      uint64_t now_s, struct person_state *ret_state);
/* ERR_TOKEN_EXPIRED, or ERR_UNAUTHORIZED: no node has signed it. */
enum err person_read_state(const struct token_key *key, struct str text, uint64_t now_s,
                           struct person_state *ret_state) must_check;

/* Two secrets that every node knows of a state, and nobody else: the nonce that the provider must
 * put into its token, and the verifier of PKCE (RFC 7636). */
enum person_secret { PERSON_NONCE, PERSON_VERIFIER };
void person_secret(const struct token_key *key, const struct person_state *state,
                   enum person_secret which, char secret[PERSON_SECRET_CHARS]);
/* SHA-256 of a verifier in base64url: PKCE's challenge of the method S256. */
void person_challenge(const char verifier[PERSON_SECRET_CHARS], char challenge[PERSON_PROOF_CHARS]);

/* Puts a code for the person of these claims. `source`: names the provider and the client there;
 * another one ends all codes and tokens. A name or mail address of more than PERSON_TEXT_MAX_BYTES
 * and roles of more than 2 KiB are left out. */
void person_put_code(struct buf *out, const struct token_key *key, struct str source,
                     const struct person_state *state, const struct jwt_claims *claims,
                     uint64_t now_s);
/* The same for the token, which is valid from `now_s` for `lifetime_s`. It is below 8 KiB. */
void person_put_token(struct buf *out, const struct token_key *key, struct str source,
                      const struct person *person, uint64_t now_s, unsigned lifetime_s);

/* Returns whether `text` begins like a code or a token. */
bool person_is_code(struct str text);
bool person_is_token(struct str text);
/* ERR_OK with *ret_person filled, which is otherwise untouched. ERR_TOKEN_EXPIRED; ERR_REVOKED: of
 * another provider; ERR_UNAUTHORIZED: no node has signed it. */
enum err person_read_code(const struct token_key *key, struct str source, struct str text,
                          uint64_t now_s, struct person *ret_person) must_check;
enum err person_read_token(const struct token_key *key, struct str source, struct str text,
                           uint64_t now_s, struct person *ret_person) must_check;
void person_fini(struct person *person);

#endif
