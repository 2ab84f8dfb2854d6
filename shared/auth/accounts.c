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
#include "shared/base/clock.h"
#include "shared/base/hash.h"
#include "shared/base/mem.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdatomic.h>

/* A name and its secrets, fifteen-fold at worst: %XX in both tokens, \u00XX in the JSON. */
enum { BYTES_MAX = 15 * (ACCOUNT_NAME_MAX_BYTES + 2 * ACCOUNT_SECRET_MAX_BYTES) };

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
    struct account former; /* what account.former points to */
    char *bytes;           /* what the accounts' strings point into */
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
    void *memory = mem_zeroed_n(n, size);
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

static bool has_secret(const struct account *one, const struct account *other)
{
    return one->is_hashed == other->is_hashed && str_eq(one->secret, other->secret);
}

bool account_keeps_right(const struct accounts *accounts, const struct account *account)
{
    const struct account *now = accounts_find(accounts, account->name);
    return now != NULL && now->role == account->role &&
           now->key_generation == account->key_generation &&
           str_eq(now->namespace, account->namespace) &&
           (has_secret(now, account) || (now->former != NULL && has_secret(now->former, account)));
}

void accounts_drop_former(struct accounts *accounts, uint64_t now_s)
{
    for (size_t i = 0; i < accounts->n; i++) {
        struct account *account = &accounts->entries[i].account;
        if (account->former != NULL && account->former_until_s <= now_s) {
            account->former = NULL;
            account->former_until_s = 0;
        }
    }
}

uint64_t accounts_former_end_s(const struct accounts *accounts)
{
    uint64_t end_s = 0;
    for (size_t i = 0; i < accounts->n; i++) {
        const struct account *account = &accounts->entries[i].account;
        if (account->former != NULL && (end_s == 0 || account->former_until_s < end_s))
            end_s = account->former_until_s;
    }
    return end_s;
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
    size_t former_at = b.n;
    if (draft->former != NULL)
        buf_put(&b, draft->former->secret);
    assert(!b.is_over);
    entry->bytes = b.at; /* taken over from the buf */
    entry->account = *draft;
    entry->account.name = (struct str){b.at, token_at};
    entry->account.name_token = (struct str){b.at + token_at, json_at - token_at};
    entry->account.name_json = (struct str){b.at + json_at, user_at - json_at};
    entry->account.user_token = (struct str){b.at + user_at, secret_at - user_at};
    entry->account.secret = (struct str){b.at + secret_at, end - secret_at};
    entry->account.namespace = (struct str){b.at + end, weight_at - end};
    entry->account.weight_text = (struct str){b.at + weight_at, former_at - weight_at};
    if (draft->former != NULL) {
        entry->former = entry->account;
        entry->former.secret = (struct str){b.at + former_at, b.n - former_at};
        entry->former.is_hashed = draft->former->is_hashed;
        entry->former.former = NULL;
        entry->account.former = &entry->former;
    }
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
    bool is_new;
    atomic_init(&book->current, NULL);
    buf_init(&book->text, ACCOUNTS_FILE_MAX_BYTES + 1);
    book->path = str_copy(str_of(path));
    if (account_book_reload(book, reason, reason_size, &is_new))
        return true;
    account_book_fini(book);
    return false;
}

static void publish(struct account_book *book, struct accounts *newest)
{
    accounts_drop_former(newest, clock_wall_s());
    newest->older = atomic_load_explicit(&book->current, memory_order_relaxed);
    /* Release: a thread that sees the pointer sees what it points to. */
    atomic_store_explicit(&book->current, newest, memory_order_release);
}

bool account_book_is_due(const struct account_book *book)
{
    uint64_t end_s = accounts_former_end_s(account_book_current(book));
    return end_s != 0 && end_s <= clock_wall_s();
}

/* Makes the current generation again from its own text, without the former secrets that have
 * ended. */
static void renew(struct account_book *book)
{
    char reason[ACCOUNTS_REASON_BYTES];
    struct accounts *again;
    if (!accounts_parse(buf_str(&book->text), reason, sizeof reason, &again))
        abort(); /* it was accepted before */
    publish(book, again);
}

bool account_book_reload(struct account_book *book, char *reason, size_t reason_size,
                         bool *ret_is_new)
{
    bool is_first = atomic_load_explicit(&book->current, memory_order_relaxed) == NULL;
    struct accounts *newest = NULL;
    struct buf text;
    buf_init(&text, ACCOUNTS_FILE_MAX_BYTES + 1);
    bool is_read = accounts_read_file(book->path, &text, reason, reason_size);
    bool is_same = is_read && !is_first && str_eq(buf_str(&text), buf_str(&book->text));
    bool ok = is_same || (is_read && accounts_parse(buf_str(&text), reason, reason_size, &newest));
    *ret_is_new = newest != NULL;
    if (newest != NULL) {
        struct buf former = book->text;
        book->text = text;
        text = former;
        publish(book, newest);
    } else if (!is_first && account_book_is_due(book)) {
        renew(book);
        *ret_is_new = true;
    }
    if (text.at != NULL)
        OPENSSL_cleanse(text.at, text.n);
    buf_fini(&text);
    return ok;
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
    buf_fini(&book->text);
    free(book->path);
    book->path = NULL;
}
