/* SPDX-License-Identifier: MIT
 *
 * accounts: the accounts in accounts.yaml (docs/operations/accounts.md). It holds names, secrets,
 * roles and limits; it does not authenticate (signed.h, token.h) and does no I/O except reading
 * that file. A `struct accounts` is immutable, so any thread reads it without a lock. One `struct
 * account_book` per process holds the current one.
 *
 * Reasons are human-readable: "line 4: account 'User_1' has no secret". They name lines, accounts
 * and members but never a value from the file, because any value might be a misplaced secret.
 */
#ifndef PARLEY_AUTH_ACCOUNTS_H
#define PARLEY_AUTH_ACCOUNTS_H

#include "shared/base/buf.h"

enum {
    ACCOUNT_NAME_MAX_BYTES = 128,
    ACCOUNT_SECRET_MAX_BYTES = 256,
    NAMESPACE_MAX_BYTES = 32,
    ACCOUNT_MAX_RATE = 100000,
    ACCOUNT_UPLOAD_RATE = 5,
    ACCOUNT_MAX_NONCES = 10000000,
    ACCOUNT_KEY_GENERATION_MAX = 1000000000,
    ACCOUNT_REQUESTS_PER_MINUTE_MAX = 10000,
    ACCOUNT_CONCURRENT_MAX = 1000, /* as many as lua/account/budgets.lua looks at */
    ACCOUNT_STORED_MIN = 65536,    /* as much as any user counts (lua/queue/stored.lua) */
    ACCOUNT_STORED_MIN_PER_USER = 4096,
    ACCOUNTS_FILE_MAX_BYTES = 1 << 20,
    ACCOUNTS_REASON_BYTES = 384 /* room for every reason, its NUL included */
};

#define ACCOUNT_STORED_MAX 1000000000000000ULL /* scripts take it without rounding */
#define ACCOUNT_TOKENS_MAX 1000000000000000ULL

enum role { ROLE_FRONTEND, ROLE_USER, ROLE_ENGINE, ROLE_OPERATOR, ROLE_NR };

/* "frontend", "user", "engine", "operator"; static, NUL-terminated. Aborts on another value. */
struct str role_name(enum role role);
bool role_parse(struct str name, enum role *ret_role) must_check;

/* Owned by its `struct accounts`, immutable. */
struct account {
    struct str name;       /* UTF-8, 1 to 128 bytes, no white space, control character or ':' */
    struct str name_token; /* as buf_put_name writes it, for Redis keys */
    struct str user_token; /* the same as that of a user, in its namespace */
    struct str namespace;  /* n == 0: shared by all accounts without a namespace */
    struct str name_json;  /* as a JSON string, quotes included */
    /* 1 to 256 bytes, no control character. If is_hashed, the file's secret_hash (secret.h): it
     * proves nothing by itself, so nothing is compared with it that a client sends. */
    struct str secret;
    bool is_hashed;
    /* While the secret is being rotated: the same account with its former secret, whose `former` is
     * NULL. A request that was authenticated by the former secret has this one as its account, so
     * that it loses its right with that secret. */
    const struct account *former;
    uint64_t former_until_s; /* seconds since 1970, if there is a former one */
    enum role role;
    double weight;           /* fair share, 0.01 to 1000, default 1 */
    struct str weight_text;  /* the same as scripts take it */
    unsigned max_waiting;    /* Open queries per user, 1 to 100000, default 100 */
    unsigned upload_rate;    /* uploads a minute of each owner, 1 to 1000 */
    unsigned max_rate;       /* requests a second, 1 to 1000000, default ACCOUNT_MAX_RATE */
    uint64_t max_nonces;     /* used up a day, 100 to 10^12, default ACCOUNT_MAX_NONCES */
    unsigned key_generation; /* 0 to ACCOUNT_KEY_GENERATION_MAX; raising it revokes the key */
    /* Maximum stored bytes, ACCOUNT_STORED_MIN to ACCOUNT_STORED_MAX, 0: no limit; and for each of
     * its users, ACCOUNT_STORED_MIN_PER_USER to 10^15, 0: no separate limit. */
    uint64_t max_stored, max_stored_per_user;
    bool is_deployed; /* dialect: deployed */
    /* Budgets of the doors (lua/account/budgets.lua), 0: no limit. 1 to
     * ACCOUNT_REQUESTS_PER_MINUTE_MAX, ACCOUNT_CONCURRENT_MAX, ACCOUNT_TOKENS_MAX. */
    unsigned requests_per_minute, max_concurrent;
    uint64_t tokens_per_day;
};

struct accounts;

/* Reads the YAML in `text` (borrowed, at most 1 MiB). On success the caller owns *ret_accounts
 * (accounts_destroy). Otherwise returns false and writes a NUL-terminated reason into `reason`. */
bool accounts_parse(struct str text, char *reason, size_t reason_size,
                    struct accounts **ret_accounts) must_check;
/* The same from a file. Blocks while it reads. The reason does not repeat `path`. */
bool accounts_load(const char *path, char *reason, size_t reason_size,
                   struct accounts **ret_accounts) must_check;
void accounts_destroy(struct accounts *accounts);
/* Forgets the former secrets that end at `now_s` (seconds since 1970) or earlier. Call it before
 * other threads see `accounts`. */
void accounts_drop_former(struct accounts *accounts, uint64_t now_s);
/* Returns the end of the next former secret, in seconds since 1970; 0: there is none. */
uint64_t accounts_former_end_s(const struct accounts *accounts);

/* Returns the account with exactly this name, or NULL. Allocates nothing. The result lives as long
 * as `accounts`. `name` may be untrusted bytes. */
const struct account *accounts_find(const struct accounts *accounts, struct str name);
/* Returns whether `account`, possibly of another generation, is in `accounts` with the same secret
 * (the current or the former one), key generation, role and namespace. */
bool account_keeps_right(const struct accounts *accounts, const struct account *account);
size_t accounts_count(const struct accounts *accounts);

/* Users and topics are stored in Redis as names (buf_put_name), with the prefix `<namespace>~` for
 * accounts that have a namespace. A name contains no '~', so names of two namespaces are never
 * equal (ADR 36). */
enum { NAMESPACE_MARK = '~' };
/* Puts the name of the user or topic `plain` in a namespace (n == 0: none). */
void namespace_put_name(struct buf *b, struct str namespace, struct str plain);
/* Returns whether `text` begins with an account's namespace and the mark, as engines and operators
 * send it, who belong to no namespace and see all of them. *ret_namespace borrows from `text`. */
bool accounts_split_namespace(const struct accounts *accounts, struct str text,
                              struct str *ret_namespace, struct str *ret_plain) must_check;
/* In the order of the file; `i` is below accounts_count. */
const struct account *accounts_at(const struct accounts *accounts, size_t i);

/* The current generation of a file that is reloaded while threads read. Former generations are kept
 * until account_book_fini, because a thread may hold one of their accounts for the duration of a
 * request. A reload that changes something costs memory of about the size of the file, which is
 * negligible at the rate at which people change it; one that changes nothing costs none. Init,
 * reload and fini belong to one thread (or callers serialise them); any thread may call current. */
struct account_book {
    _Atomic(struct accounts *) current;
    char *path;
    struct buf text; /* of the file that `current` was made from */
};

/* Loads `path` (copied). Returns false with a reason on failure: the book is then empty; fini is
 * allowed but not needed. */
bool account_book_init(struct account_book *book, const char *path, char *reason,
                       size_t reason_size) must_check;
/* Reads the file again. *ret_is_new: there is a new generation, because the file has other bytes or
 * a former secret has ended. Returns false with a reason on failure and leaves the book unchanged,
 * except that former secrets end all the same; *ret_is_new then says so. */
bool account_book_reload(struct account_book *book, char *reason, size_t reason_size,
                         bool *ret_is_new) must_check;
/* Returns whether a former secret of the current generation has ended, so that it is time to
 * reload. */
bool account_book_is_due(const struct account_book *book);
/* Returns the newest valid generation: one atomic load. Accounts found in it live until
 * account_book_fini.
 */
const struct accounts *account_book_current(const struct account_book *book);
/* Frees all generations. No other thread may be reading any more. */
void account_book_fini(struct account_book *book);

#endif
