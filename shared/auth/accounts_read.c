/* SPDX-License-Identifier: MIT
 * accounts_read.c - accounts_parse and accounts_load of accounts.h: from YAML to accounts.
 *
 * libyaml makes a tree of the file, which is walked to its three levels: the document, an account,
 * a member. Anything unknown in the file is an error, because a misspelt `max_wating` would
 * otherwise go unnoticed until it is needed. Only the first error is reported.
 *
 * Reasons hold no value, and a member's name only where it can hardly be a secret: `{s3cret}` is,
 * to YAML, a member of that name without a value.
 */
#include "shared/auth/accounts_table.h"
#include "shared/auth/secret.h"
#include "shared/base/nearest.h"
#include "shared/base/utc.h"
#include "shared/base/yaml_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH_MAX = 8 /* three are meant; the rest gets a better reason */ };

enum member {
    MEMBER_SECRET,
    MEMBER_SECRET_HASH,
    MEMBER_FORMER_SECRET,
    MEMBER_FORMER_HASH,
    MEMBER_FORMER_UNTIL,
    MEMBER_ROLE,
    MEMBER_WEIGHT,
    MEMBER_MAX_WAITING,
    MEMBER_MAX_RATE,
    MEMBER_UPLOAD_RATE,
    MEMBER_MAX_NONCES,
    MEMBER_KEY_GENERATION,
    MEMBER_MAX_STORED,
    MEMBER_MAX_STORED_PER_USER,
    MEMBER_REQUESTS_PER_MINUTE,
    MEMBER_TOKENS_PER_DAY,
    MEMBER_MAX_CONCURRENT,
    MEMBER_DIALECT,
    MEMBER_NAMESPACE,
    MEMBER_NR
};

static const struct str member_names[MEMBER_NR] = {
    [MEMBER_SECRET] = STR("secret"),
    [MEMBER_SECRET_HASH] = STR("secret_hash"),
    [MEMBER_FORMER_SECRET] = STR("former_secret"),
    [MEMBER_FORMER_HASH] = STR("former_hash"),
    [MEMBER_FORMER_UNTIL] = STR("former_until"),
    [MEMBER_ROLE] = STR("role"),
    [MEMBER_WEIGHT] = STR("weight"),
    [MEMBER_MAX_WAITING] = STR("max_waiting"),
    [MEMBER_MAX_RATE] = STR("max_rate"),
    [MEMBER_UPLOAD_RATE] = STR("upload_rate"),
    [MEMBER_MAX_NONCES] = STR("max_nonces"),
    [MEMBER_KEY_GENERATION] = STR("key_generation"),
    [MEMBER_MAX_STORED] = STR("max_stored"),
    [MEMBER_MAX_STORED_PER_USER] = STR("max_stored_per_user"),
    [MEMBER_REQUESTS_PER_MINUTE] = STR("requests_per_minute"),
    [MEMBER_TOKENS_PER_DAY] = STR("tokens_per_day"),
    [MEMBER_MAX_CONCURRENT] = STR("max_concurrent"),
    [MEMBER_DIALECT] = STR("dialect"),
    [MEMBER_NAMESPACE] = STR("namespace"),
};

struct reader {
    yaml_document_t *document;
    struct accounts *accounts;
    char *reason;
    size_t reason_size;
};

/* Always false, so that callers return it. */
__attribute__((format(printf, 3, 4))) static bool
fail(const struct reader *r, const yaml_node_t *where, const char *format, ...)
{
    int n = snprintf(r->reason, r->reason_size, "line %zu: ", where->start_mark.line + 1);
    if (n < 0 || (size_t)n >= r->reason_size)
        return false;
    va_list args;
    va_start(args, format);
    vsnprintf(r->reason + n, r->reason_size - (size_t)n, format, args);
    va_end(args);
    return false;
}

static bool has_control(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.at[i] < 0x20 || s.at[i] == 0x7f)
            return true;
    return false;
}

static bool fail_unknown(const struct reader *r, const yaml_node_t *key, const yaml_node_t *value,
                         struct str meant, const char *known)
{
    struct str name = yaml_tree_scalar(key);
    bool is_shown = nearest_is_word(name) && !yaml_tree_is_null(value);
    if (is_shown && meant.at != NULL)
        return fail(r, key, "unknown member '%.*s': did you mean %.*s?", STR_ARG(name),
                    STR_ARG(meant));
    if (is_shown)
        return fail(r, key, "unknown member '%.*s': use %s", STR_ARG(name), known);
    return fail(r, key, "unknown member: use %s", known);
}

static struct str nearest_member(struct str name)
{
    struct nearest nearest = nearest_begin(name);
    for (unsigned i = 0; i < MEMBER_NR; i++)
        nearest_try(&nearest, member_names[i]);
    return nearest_end(&nearest);
}

/* A role or a dialect is no secret, but a value in the wrong place may be: only what is close to
 * `known`, names as "a|b", is repeated. */
static bool fail_word(const struct reader *r, const yaml_node_t *key, const struct account *draft,
                      struct str given, const char *known, const char *advice)
{
    struct str meant = nearest_of(given, known), member = yaml_tree_scalar(key);
    if (meant.at != NULL && nearest_is_word(given))
        return fail(r, key, "account '%.*s' has an unknown %.*s '%.*s': did you mean %.*s?",
                    STR_ARG(draft->name), STR_ARG(member), STR_ARG(given), STR_ARG(meant));
    return fail(r, key, "account '%.*s' has an unknown %.*s: %s", STR_ARG(draft->name),
                STR_ARG(member), advice);
}

static bool is_namespace(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!((s.at[i] | 0x20) >= 'a' && (s.at[i] | 0x20) <= 'z') &&
            !(s.at[i] >= '0' && s.at[i] <= '9') && s.at[i] != '_' && s.at[i] != '-')
            return false;
    return s.n > 0 && s.n <= NAMESPACE_MAX_BYTES;
}

/* `what`: "secret", or another word for a secret. */
static bool read_secret(const struct reader *r, const struct account *draft, const char *what,
                        const yaml_node_t *key, const yaml_node_t *value, struct str *ret_secret)
{
    struct str secret = yaml_tree_scalar(value);
    if (yaml_tree_is_null(value) || secret.n == 0)
        return fail(r, key, "account '%.*s' has an empty %s", STR_ARG(draft->name), what);
    if (secret.n > ACCOUNT_SECRET_MAX_BYTES)
        return fail(r, key, "the %s of account '%.*s' is longer than %d bytes", what,
                    STR_ARG(draft->name), ACCOUNT_SECRET_MAX_BYTES);
    if (has_control(secret))
        return fail(r, key, "the %s of account '%.*s' contains a control character", what,
                    STR_ARG(draft->name));
    *ret_secret = secret;
    return true;
}

static bool read_hash(const struct reader *r, const struct account *draft, const char *what,
                      const yaml_node_t *key, const yaml_node_t *value, struct account *ret_holder)
{
    if (!secret_is_hash(yaml_tree_scalar(value)))
        return fail(r, key,
                    "the %s of account '%.*s' is not of the form that parley account add --hashed "
                    "writes",
                    what, STR_ARG(draft->name));
    ret_holder->secret = yaml_tree_scalar(value);
    ret_holder->is_hashed = true;
    return true;
}

/* 2026-11-24T01:02:03Z */
static bool read_time(const struct reader *r, const yaml_node_t *key, struct str text,
                      uint64_t *ret_s)
{
    if (utc_parse(text, ret_s))
        return true;
    return fail(r, key, "%.*s takes a time in UTC, such as 2026-11-24T01:02:03Z",
                STR_ARG(yaml_tree_scalar(key)));
}

static bool read_bytes(const struct reader *r, const yaml_node_t *key, struct str text,
                       unsigned least, uint64_t *ret_bytes)
{
    if (!str_parse_u64(text, ret_bytes) || *ret_bytes < least || *ret_bytes > ACCOUNT_STORED_MAX)
        return fail(r, key, "%.*s takes a whole number of bytes from %u to %llu",
                    STR_ARG(yaml_tree_scalar(key)), least, ACCOUNT_STORED_MAX);
    return true;
}

static bool read_budget(const struct reader *r, const yaml_node_t *key, struct str text,
                        unsigned most, unsigned *ret_n)
{
    uint64_t number;
    if (!str_parse_u64(text, &number) || number < 1 || number > most)
        return fail(r, key, "%.*s takes a whole number from 1 to %u",
                    STR_ARG(yaml_tree_scalar(key)), most);
    *ret_n = (unsigned)number;
    return true;
}

static bool read_member(const struct reader *r, struct account *draft, struct account *former,
                        unsigned *seen, const yaml_node_t *key, const yaml_node_t *value)
{
    unsigned member = 0;
    uint64_t number;
    while (member < MEMBER_NR && !str_eq(yaml_tree_scalar(key), member_names[member]))
        member++;
    if (member == MEMBER_NR)
        return fail_unknown(
            r, key, value, nearest_member(yaml_tree_scalar(key)),
            "secret, secret_hash, role, weight, max_waiting, max_rate, max_nonces, max_stored, "
            "max_stored_per_user, upload_rate, requests_per_minute, tokens_per_day, "
            "max_concurrent, key_generation, dialect, namespace, former_secret, former_hash and "
            "former_until");
    if (*seen & 1u << member)
        return fail(r, key, "account '%.*s' has '%s' twice", STR_ARG(draft->name),
                    member_names[member].at);
    *seen |= 1u << member;
    struct str text = yaml_tree_scalar(value);
    if (text.at == NULL)
        return fail(r, key, "'%s' takes a single plain value", member_names[member].at);
    switch ((enum member)member) {
    case MEMBER_SECRET: return read_secret(r, draft, "secret", key, value, &draft->secret);
    case MEMBER_FORMER_SECRET:
        return read_secret(r, draft, "former secret", key, value, &former->secret);
    case MEMBER_SECRET_HASH: return read_hash(r, draft, "secret_hash", key, value, draft);
    case MEMBER_FORMER_HASH: return read_hash(r, draft, "former_hash", key, value, former);
    case MEMBER_FORMER_UNTIL: return read_time(r, key, text, &draft->former_until_s);
    case MEMBER_ROLE:
        return role_parse(text, &draft->role) ||
               fail_word(r, key, draft, text, "frontend|user|engine|operator",
                         "use frontend, user, engine or operator");
    case MEMBER_WEIGHT:
        return (str_parse_double(text, &draft->weight) && draft->weight >= 0.01 &&
                draft->weight <= 1000) ||
               fail(r, key, "weight takes a number from 0.01 to 1000");
    case MEMBER_MAX_WAITING:
        if (!str_parse_u64(text, &number) || number < 1 || number > 100000)
            return fail(r, key, "max_waiting takes a whole number from 1 to 100000");
        draft->max_waiting = (unsigned)number;
        return true;
    case MEMBER_MAX_RATE:
        if (!str_parse_u64(text, &number) || number < 1 || number > 1000000)
            return fail(r, key, "max_rate takes a whole number from 1 to 1000000");
        draft->max_rate = (unsigned)number;
        return true;
    case MEMBER_UPLOAD_RATE:
        if (!str_parse_u64(text, &number) || number < 1 || number > 1000)
            return fail(r, key, "upload_rate takes a whole number from 1 to 1000");
        draft->upload_rate = (unsigned)number;
        return true;
    case MEMBER_MAX_NONCES:
        if (!str_parse_u64(text, &number) || number < 100 || number > UINT64_C(1000000000000))
            return fail(r, key, "max_nonces takes a whole number from 100 to 1000000000000");
        draft->max_nonces = number;
        return true;
    case MEMBER_KEY_GENERATION:
        if (!str_parse_u64(text, &number) || number > ACCOUNT_KEY_GENERATION_MAX)
            return fail(r, key, "key_generation takes a whole number from 0 to 1000000000");
        draft->key_generation = (unsigned)number;
        return true;
    case MEMBER_MAX_STORED: return read_bytes(r, key, text, ACCOUNT_STORED_MIN, &draft->max_stored);
    case MEMBER_MAX_STORED_PER_USER:
        return read_bytes(r, key, text, ACCOUNT_STORED_MIN_PER_USER, &draft->max_stored_per_user);
    case MEMBER_REQUESTS_PER_MINUTE:
        return read_budget(r, key, text, ACCOUNT_REQUESTS_PER_MINUTE_MAX,
                           &draft->requests_per_minute);
    case MEMBER_MAX_CONCURRENT:
        return read_budget(r, key, text, ACCOUNT_CONCURRENT_MAX, &draft->max_concurrent);
    case MEMBER_TOKENS_PER_DAY:
        if (!str_parse_u64(text, &number) || number < 1 || number > ACCOUNT_TOKENS_MAX)
            return fail(r, key, "tokens_per_day takes a whole number from 1 to %llu",
                        ACCOUNT_TOKENS_MAX);
        draft->tokens_per_day = number;
        return true;
    case MEMBER_DIALECT:
        draft->is_deployed = true;
        return str_eq(text, STR("deployed")) ||
               fail_word(r, key, draft, text, "deployed", "the only one is deployed");
    case MEMBER_NAMESPACE:
        draft->namespace = text;
        return is_namespace(text) ||
               fail(r, key,
                    "the namespace of account '%.*s' is not 1 to %d letters, digits, '-' and '_'",
                    STR_ARG(draft->name), NAMESPACE_MAX_BYTES);
    case MEMBER_NR: break;
    }
    abort();
}

static bool check_name(const struct reader *r, const yaml_node_t *key)
{
    struct str name = yaml_tree_scalar(key);
    if (yaml_tree_is_null(key) || name.n == 0)
        return fail(r, key, "expected an account name");
    if (name.n > ACCOUNT_NAME_MAX_BYTES)
        return fail(r, key, "an account name is longer than %d bytes", ACCOUNT_NAME_MAX_BYTES);
    /* White space would make the parts of a signed text ambiguous, ':' those of `name:secret`. */
    if (has_control(name) || memchr(name.at, ' ', name.n) != NULL ||
        memchr(name.at, ':', name.n) != NULL || !str_is_utf8(name))
        return fail(r, key, "an account name contains white space, a control character or ':'");
    if (accounts_find(r->accounts, name) != NULL)
        return fail(r, key, "a second account '%.*s'", STR_ARG(name));
    return true;
}

static bool check_secrets(const struct reader *r, struct account *draft,
                          const struct account *former, unsigned seen, const yaml_node_t *key)
{
    const unsigned secrets = seen & (1u << MEMBER_SECRET | 1u << MEMBER_SECRET_HASH);
    const unsigned formers = seen & (1u << MEMBER_FORMER_SECRET | 1u << MEMBER_FORMER_HASH);
    const bool has_until = (seen & 1u << MEMBER_FORMER_UNTIL) != 0;
    if (secrets == 0 || (seen & 1u << MEMBER_ROLE) == 0)
        return fail(r, key, "account '%.*s' has no %s", STR_ARG(draft->name),
                    secrets == 0 ? "secret" : "role");
    if ((secrets & (secrets - 1)) != 0 || (formers & (formers - 1)) != 0)
        return fail(r, key, "account '%.*s' has both a secret and its hash: keep one of them",
                    STR_ARG(draft->name));
    if ((formers != 0) != has_until)
        return fail(r, key, "account '%.*s' has former_secret or former_until without the other",
                    STR_ARG(draft->name));
    if (draft->is_hashed && draft->role == ROLE_ENGINE)
        return fail(r, key,
                    "account '%.*s' has a hashed secret, but engines sign their requests: give it "
                    "a secret",
                    STR_ARG(draft->name));
    draft->former = has_until ? former : NULL;
    return true;
}

static bool read_account(const struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
    unsigned seen = 0;
    struct account former = {0};
    if (!check_name(r, key))
        return false;
    struct account draft = {.name = yaml_tree_scalar(key),
                            .weight = 1,
                            .max_waiting = 100,
                            .upload_rate = ACCOUNT_UPLOAD_RATE,
                            .max_rate = ACCOUNT_MAX_RATE,
                            .max_nonces = ACCOUNT_MAX_NONCES};
    if (value->type != YAML_MAPPING_NODE)
        return fail(r, key, "account '%.*s' is not of the form {secret: ..., role: ...}",
                    STR_ARG(draft.name));
    for (const yaml_node_pair_t *pair = value->data.mapping.pairs.start;
         pair < value->data.mapping.pairs.top; pair++)
        if (!read_member(r, &draft, &former, &seen, yaml_document_get_node(r->document, pair->key),
                         yaml_document_get_node(r->document, pair->value)))
            return false;
    if (!check_secrets(r, &draft, &former, seen, key))
        return false;
    if (draft.namespace.n > 0 && draft.role != ROLE_FRONTEND && draft.role != ROLE_USER)
        return fail(r, key,
                    "account '%.*s' has a namespace, but engines and operators serve every "
                    "namespace: remove it",
                    STR_ARG(draft.name));
    accounts_add(r->accounts, &draft);
    return true;
}

/* True with r->accounts the caller's. False with a reason, and r->accounts may be set or NULL. */
static bool read_document(struct reader *r)
{
    const yaml_node_t *root = yaml_document_get_root_node(r->document), *list = NULL;
    if (root == NULL) {
        snprintf(r->reason, r->reason_size, "the file is empty");
        return false;
    }
    if (root->type != YAML_MAPPING_NODE)
        return fail(r, root, "expected 'accounts:' followed by the accounts");
    for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
         pair < root->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(r->document, pair->key);
        const yaml_node_t *value = yaml_document_get_node(r->document, pair->value);
        if (!str_eq(yaml_tree_scalar(key), STR("accounts")))
            return fail_unknown(r, key, value, nearest_of(yaml_tree_scalar(key), "accounts"),
                                "accounts");
        if (list != NULL)
            return fail(r, key, "a second 'accounts'");
        list = value;
    }
    if (list == NULL || yaml_tree_is_null(list) ||
        (list->type == YAML_MAPPING_NODE &&
         list->data.mapping.pairs.start == list->data.mapping.pairs.top))
        return fail(r, root, "the file lists no account");
    if (list->type != YAML_MAPPING_NODE)
        return fail(r, list, "expected accounts of the form 'Name: {secret: ..., role: ...}'");
    const yaml_node_pair_t *start = list->data.mapping.pairs.start,
                           *top = list->data.mapping.pairs.top;
    r->accounts = accounts_create((size_t)(top - start));
    for (const yaml_node_pair_t *pair = start; pair < top; pair++)
        if (!read_account(r, yaml_document_get_node(r->document, pair->key),
                          yaml_document_get_node(r->document, pair->value)))
            return false;
    return true;
}

bool accounts_parse(struct str text, char *reason, size_t reason_size,
                    struct accounts **ret_accounts)
{
    static const struct yaml_tree_limits limits = {.depth_max = DEPTH_MAX};
    struct yaml_tree_fault fault;
    yaml_document_t document;
    struct reader r = {.document = &document, .reason = reason, .reason_size = reason_size};
    if (text.n > ACCOUNTS_FILE_MAX_BYTES) {
        snprintf(reason, reason_size, "the file is larger than %d bytes", ACCOUNTS_FILE_MAX_BYTES);
        return false;
    }
    if (!yaml_tree_read(text, &limits, &fault, &document)) {
        snprintf(reason, reason_size, "line %zu: %s", fault.line, fault.reason);
        return false;
    }
    bool ok = read_document(&r);
    yaml_document_delete(&document);
    if (ok)
        *ret_accounts = r.accounts;
    else
        accounts_destroy(r.accounts);
    return ok;
}

bool accounts_read_file(const char *path, struct buf *text, char *reason, size_t reason_size)
{
    /* A named pipe that nobody writes to is an empty file. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0)
        (void)fcntl(fd, F_SETFL, 0);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    char *at = buf_reserve(text, ACCOUNTS_FILE_MAX_BYTES + 1);
    size_t n = file == NULL ? 0 : fread(at, 1, ACCOUNTS_FILE_MAX_BYTES + 1, file);
    bool ok = file != NULL && !ferror(file);
    if (ok)
        text->n += n;
    else
        snprintf(reason, reason_size, "the file cannot be read: %s", strerror(errno));
    if (file != NULL)
        fclose(file);
    return ok;
}

bool accounts_load(const char *path, char *reason, size_t reason_size,
                   struct accounts **ret_accounts)
{
    struct buf text;
    buf_init(&text, ACCOUNTS_FILE_MAX_BYTES + 1);
    bool ok = accounts_read_file(path, &text, reason, reason_size) &&
              accounts_parse(buf_str(&text), reason, reason_size, ret_accounts);
    buf_fini(&text);
    return ok;
}
