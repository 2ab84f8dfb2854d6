/* SPDX-License-Identifier: MIT
 * accounts.c - see accounts.h.
 *
 * The reader of the file is accounts_read.c; here is what stays afterwards: an array in the order
 * of the file, and an open-addressed table of indices into it, at most half full. The table is
 * made once and never grows, so a look-up is a hash, a probe or two and one comparison. Its hash
 * has no secret seed: outsiders choose what is looked up, only the operator what is stored, and a
 * probe's length depends on what is stored.
 *
 * Generations are chained through `older`, newest first.
 */
#include "shared/auth/accounts_table.h"
#include "shared/base/buf.h"
#include "shared/base/hash.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

/* A name and its secret, fifteen-fold at worst: %XX in both tokens, \u00XX in the JSON. */
enum { BYTES_MAX = 15 * (ACCOUNT_NAME_MAX_BYTES + ACCOUNT_SECRET_MAX_BYTES) };

static const struct str role_names[ROLE_NR] = {
    [ROLE_FRONTEND] = STR("frontend"),
    [ROLE_USER] = STR("user"),
    [ROLE_ENGINE] = STR("engine"),
    [ROLE_OPERATOR] = STR("operator"),
};

struct str role_name(enum role role)
{
    assert((unsigned)role < ROLE_NR);
    return role_names[role];
}

bool role_parse(struct str name, enum role *ret_role)
{
    for (unsigned i = 0; i < ROLE_NR; i++) {
        if (str_eq(name, role_names[i])) {
            *ret_role = (enum role)i;
            return true;
        }
    }
    return false;
}

struct entry {
    struct account account;
    char *bytes; /* what the account's strings point into */
};

struct accounts {
    struct entry *entries;
    size_t n, cap;
    uint32_t *slots; /* index + 1; 0: free */
    size_t slot_mask;
    struct accounts *older;
};

static void *allocate(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    if (memory == NULL)
        abort();
    return memory;
}

struct accounts *accounts_create(size_t cap)
{
    struct accounts *accounts = allocate(1, sizeof *accounts);
    size_t slot_n = 8;
    while (slot_n < 2 * cap)
        slot_n *= 2;
    accounts->entries = allocate(cap == 0 ? 1 : cap, sizeof *accounts->entries);
    accounts->cap = cap;
    accounts->slots = allocate(slot_n, sizeof *accounts->slots);
    accounts->slot_mask = slot_n - 1;
    return accounts;
}

void accounts_destroy(struct accounts *accounts)
{
    if (accounts == NULL)
        return;
    for (size_t i = 0; i < accounts->n; i++)
        free(accounts->entries[i].bytes);
    free(accounts->entries);
    free(accounts->slots);
    free(accounts);
}

static size_t hash_name(struct str name)
{
    uint64_t hash = hash_fnv64(name, 0);
    return (size_t)(hash ^ hash >> 32);
}

/* The slot that holds `name`, or the free one where it belongs. */
static uint32_t *find_slot(const struct accounts *accounts, struct str name)
{
    for (size_t i = hash_name(name);; i++) {
        uint32_t *slot = &accounts->slots[i & accounts->slot_mask];
        if (*slot == 0 || str_eq(accounts->entries[*slot - 1].account.name, name))
            return slot;
    }
}

const struct account *accounts_find(const struct accounts *accounts, struct str name)
{
    if (name.n > ACCOUNT_NAME_MAX_BYTES)
        return NULL;
    uint32_t slot = *find_slot(accounts, name);
    return slot == 0 ? NULL : &accounts->entries[slot - 1].account;
}

bool account_keeps_right(const struct accounts *accounts, const struct account *account)
{
    const struct account *now = accounts_find(accounts, account->name);
    return now != NULL && now->role == account->role && str_eq(now->secret, account->secret) &&
           str_eq(now->namespace, account->namespace);
}

size_t accounts_count(const struct accounts *accounts)
{
    return accounts->n;
}

const struct account *accounts_at(const struct accounts *accounts, size_t i)
{
    assert(i < accounts->n);
    return &accounts->entries[i].account;
}

void accounts_add(struct accounts *accounts, const struct account *draft)
{
    uint32_t *slot = find_slot(accounts, draft->name);
    assert(*slot == 0 && accounts->n < accounts->cap);
    struct entry *entry = &accounts->entries[accounts->n];
    struct buf b;
    buf_init(&b, BYTES_MAX);
    buf_put(&b, draft->name);
    size_t token_at = b.n;
    buf_put_name(&b, draft->name);
    size_t json_at = b.n;
    buf_put_json(&b, draft->name);
    size_t user_at = b.n;
    namespace_put_name(&b, draft->namespace, draft->name);
    size_t secret_at = b.n;
    buf_put(&b, draft->secret);
    size_t end = b.n;
    buf_put(&b, draft->namespace);
    size_t weight_at = b.n;
    buf_printf(&b, "%g", draft->weight);
    assert(!b.is_over);
    entry->bytes = b.at; /* taken over from the buf */
    entry->account = *draft;
    entry->account.name = (struct str){b.at, token_at};
    entry->account.name_token = (struct str){b.at + token_at, json_at - token_at};
    entry->account.name_json = (struct str){b.at + json_at, user_at - json_at};
    entry->account.user_token = (struct str){b.at + user_at, secret_at - user_at};
    entry->account.secret = (struct str){b.at + secret_at, end - secret_at};
    entry->account.namespace = (struct str){b.at + end, weight_at - end};
    entry->account.weight_text = (struct str){b.at + weight_at, b.n - weight_at};
    *slot = (uint32_t)++accounts->n;
}

void namespace_put_name(struct buf *b, struct str namespace, struct str plain)
{
    if (namespace.n > 0) {
        buf_put(b, namespace);
        buf_put_char(b, NAMESPACE_MARK);
    }
    buf_put_name(b, plain);
}

bool accounts_split_namespace(const struct accounts *accounts, struct str text,
                              struct str *ret_namespace, struct str *ret_plain)
{
    if (text.n == 0 || memchr(text.at, NAMESPACE_MARK, text.n) == NULL)
        return false;
    struct str rest = text, space = str_cut(&rest, NAMESPACE_MARK);
    for (size_t i = 0; i < accounts->n && space.n > 0; i++)
        if (str_eq(accounts->entries[i].account.namespace, space)) {
            *ret_namespace = space;
            *ret_plain = rest;
            return true;
        }
    return false;
}

bool account_book_init(struct account_book *book, const char *path, char *reason,
                       size_t reason_size)
{
    atomic_init(&book->current, NULL);
    book->path = str_copy(str_of(path));
    if (account_book_reload(book, reason, reason_size))
        return true;
    account_book_fini(book);
    return false;
}

bool account_book_reload(struct account_book *book, char *reason, size_t reason_size)
{
    struct accounts *newest;
    if (!accounts_load(book->path, reason, reason_size, &newest))
        return false;
    newest->older = atomic_load_explicit(&book->current, memory_order_relaxed);
    /* Release: a thread that sees the pointer sees what it points to. */
    atomic_store_explicit(&book->current, newest, memory_order_release);
    return true;
}

const struct accounts *account_book_current(const struct account_book *book)
{
    return atomic_load_explicit(&book->current, memory_order_acquire);
}

void account_book_fini(struct account_book *book)
{
    struct accounts *accounts = atomic_exchange(&book->current, NULL);
    while (accounts != NULL) {
        struct accounts *older = accounts->older;
        accounts_destroy(accounts);
        accounts = older;
    }
    free(book->path);
    book->path = NULL;
}
