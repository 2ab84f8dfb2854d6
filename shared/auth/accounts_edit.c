/* SPDX-License-Identifier: MIT
 * accounts_edit.c - see accounts_edit.h.
 *
 * libyaml says where each node begins and ends, in characters; bytes are cut out and put in at
 * those places. What that may do to unusual files (aliases, block scalars, a key on a line of its
 * own) is not foreseen here but found by reading the result again. */
#include "shared/auth/accounts_edit.h"

#include "shared/base/nearest.h"
#include "shared/base/yaml_tree.h"

#include <stdio.h>
#include <stdlib.h>

enum { TREE_DEPTH_MAX = 8 };

#define TOO_UNUSUAL                                                                                \
    "the file is written in a way that cannot be edited safely: write each account on a line of "  \
    "its own, as in docs/operations/accounts.md, or edit the file by hand"

/* --- places ----------------------------------------------------------------------------------- */

/* One text, read. */
struct tree {
    struct str text;
    yaml_document_t document;
    const yaml_node_t *list; /* of the accounts; NULL: there is none, or null */
};

static bool fail(char *reason, const char *why)
{
    snprintf(reason, ACCOUNTS_REASON_BYTES, "%s", why);
    return false;
}

static bool read_tree(struct tree *tree, struct str text, char *reason)
{
    static const struct yaml_tree_limits limits = {.depth_max = TREE_DEPTH_MAX};
    struct yaml_tree_fault fault;
    *tree = (struct tree){.text = text};
    if (text.n > ACCOUNTS_FILE_MAX_BYTES)
        return fail(reason, "the file would be larger than an accounts file may be");
    if (!yaml_tree_read(text, &limits, &fault, &tree->document)) {
        snprintf(reason, ACCOUNTS_REASON_BYTES, "line %zu: %s", fault.line, fault.reason);
        return false;
    }
    const yaml_node_t *root = yaml_document_get_root_node(&tree->document);
    if (root == NULL || root->type != YAML_MAPPING_NODE ||
        root->data.mapping.pairs.start == root->data.mapping.pairs.top)
        return true;
    const yaml_node_t *list =
        yaml_document_get_node(&tree->document, root->data.mapping.pairs.start->value);
    if (list->type == YAML_MAPPING_NODE)
        tree->list = list;
    return true;
}

static void close_tree(struct tree *tree)
{
    yaml_document_delete(&tree->document);
}

/* A mark counts characters, and not a byte order mark. */
static size_t offset_of(struct str text, const yaml_mark_t *mark)
{
    size_t at = str_has_prefix(text, STR("\xef\xbb\xbf")) ? 3 : 0;
    for (size_t i = 0; i < mark->index && at < text.n; i++)
        do
            at++;
        while (at < text.n && ((unsigned char)text.at[at] & 0xc0) == 0x80);
    return at;
}

static size_t start_of(const struct tree *tree, const yaml_node_t *node)
{
    return offset_of(tree->text, &node->start_mark);
}

/* Without the blank lines that libyaml counts as part of some values. */
static size_t end_of(const struct tree *tree, const yaml_node_t *node)
{
    size_t start = start_of(tree, node), end = offset_of(tree->text, &node->end_mark);
    while (end > start && memchr(" \t\r\n", tree->text.at[end - 1], 4) != NULL)
        end--;
    return end;
}

static size_t line_start(struct str text, size_t at)
{
    while (at > 0 && text.at[at - 1] != '\n')
        at--;
    return at;
}

/* Returns where the next line begins. */
static size_t line_end(struct str text, size_t at)
{
    while (at < text.n && text.at[at] != '\n')
        at++;
    return at < text.n ? at + 1 : at;
}

static const yaml_node_pair_t *find_pair(const struct tree *tree, const yaml_node_t *mapping,
                                         struct str key)
{
    for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
         pair < mapping->data.mapping.pairs.top; pair++)
        if (str_eq(yaml_tree_scalar(
                       yaml_document_get_node((yaml_document_t *)&tree->document, pair->key)),
                   key))
            return pair;
    return NULL;
}

static const yaml_node_t *node_of(const struct tree *tree, int id)
{
    return yaml_document_get_node((yaml_document_t *)&tree->document, id);
}

static bool is_flow(const yaml_node_t *mapping)
{
    return mapping->data.mapping.style == YAML_FLOW_MAPPING_STYLE;
}

/* --- writing ---------------------------------------------------------------------------------- */

static struct str newline_of(struct str text)
{
    return str_holds(text, STR("\r\n")) ? STR("\r\n") : STR("\n");
}

static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.at[i];
        bool is_word = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
        if (!is_word && c != '_' && (i == 0 || (c != '-' && c != '.')))
            return false;
    }
    return s.n > 0 && !str_eq_nocase(s, STR("null"));
}

/* Puts a plain word as it is, and all else as JSON, which YAML reads too. */
static void put_scalar(struct buf *b, struct str s, bool is_quoted)
{
    if (!is_quoted && is_plain(s))
        buf_put(b, s);
    else
        buf_put_json(b, s);
}

/* Secrets are quoted: `1e3` would be one, too. */
static void put_member(struct buf *b, const struct account_member *member)
{
    buf_put(b, str_of(member->name));
    buf_lit(b, ": ");
    put_scalar(b, member->value, strstr(member->name, "secret") != NULL);
}

static void put_range(struct buf *out, struct str text, size_t from, size_t to)
{
    buf_put(out, (struct str){text.at + from, to - from});
}

static void put_account(struct buf *out, struct str indent, struct str name,
                        const struct account_member *members, size_t member_n, struct str newline)
{
    buf_put(out, indent);
    put_scalar(out, name, false);
    buf_lit(out, ": {");
    bool is_first = true;
    for (size_t i = 0; i < member_n; i++) {
        if (members[i].value.at == NULL)
            continue;
        if (!is_first)
            buf_lit(out, ", ");
        put_member(out, &members[i]);
        is_first = false;
    }
    buf_lit(out, "}");
    buf_put(out, newline);
}

/* --- one change of one text ------------------------------------------------------------------- */

static bool put_added(const struct tree *tree, struct str name,
                      const struct account_member *members, size_t member_n, struct buf *out,
                      char *reason)
{
    struct str text = tree->text, newline = newline_of(text);
    if (tree->list == NULL) {
        buf_put(out, text);
        if (text.n > 0 && text.at[text.n - 1] != '\n')
            buf_put(out, newline);
        if (yaml_document_get_root_node((yaml_document_t *)&tree->document) == NULL) {
            buf_lit(out, "accounts:");
            buf_put(out, newline);
        }
        put_account(out, STR("  "), name, members, member_n, newline);
        return true;
    }
    if (is_flow(tree->list))
        return fail(reason, TOO_UNUSUAL);
    const yaml_node_pair_t *last = tree->list->data.mapping.pairs.top - 1;
    size_t key = start_of(tree, node_of(tree, last->key)), start = line_start(text, key);
    size_t end = line_end(text, end_of(tree, node_of(tree, last->value)));
    put_range(out, text, 0, end);
    if (text.at[end - 1] != '\n')
        buf_put(out, newline);
    put_account(out, (struct str){text.at + start, key - start}, name, members, member_n, newline);
    put_range(out, text, end, text.n);
    return true;
}

/* Leaves out a pair on lines of its own, with these lines. */
static bool put_without_lines(const struct tree *tree, const yaml_node_pair_t *pair,
                              struct buf *out, char *reason)
{
    struct str text = tree->text;
    size_t key = start_of(tree, node_of(tree, pair->key)), start = line_start(text, key);
    for (size_t i = start; i < key; i++)
        if (text.at[i] != ' ')
            return fail(reason, TOO_UNUSUAL);
    put_range(out, text, 0, start);
    put_range(out, text, line_end(text, end_of(tree, node_of(tree, pair->value))), text.n);
    return true;
}

/* Leaves out a pair within braces, with one of the commas beside it. */
static void put_without_pair(const struct tree *tree, const yaml_node_t *mapping,
                             const yaml_node_pair_t *pair, struct buf *out)
{
    size_t from = start_of(tree, node_of(tree, pair->key));
    size_t to = end_of(tree, node_of(tree, pair->value));
    if (pair + 1 < mapping->data.mapping.pairs.top)
        to = start_of(tree, node_of(tree, pair[1].key));
    else if (pair > mapping->data.mapping.pairs.start)
        from = end_of(tree, node_of(tree, pair[-1].value));
    put_range(out, tree->text, 0, from);
    put_range(out, tree->text, to, tree->text.n);
}

/* Sets a member that is there in its place, else in front of the account's first one. */
static bool put_with_member(const struct tree *tree, const yaml_node_t *account,
                            const struct account_member *member, struct buf *out, char *reason)
{
    struct str text = tree->text;
    const yaml_node_pair_t *pair = find_pair(tree, account, str_of(member->name));
    if (pair == NULL && member->value.at == NULL) {
        buf_put(out, text);
        return true;
    }
    if (member->value.at == NULL && is_flow(account)) {
        put_without_pair(tree, account, pair, out);
        return true;
    }
    if (member->value.at == NULL)
        return put_without_lines(tree, pair, out, reason);
    if (pair != NULL) {
        put_range(out, text, 0, start_of(tree, node_of(tree, pair->key)));
        put_member(out, member);
        put_range(out, text, end_of(tree, node_of(tree, pair->value)), text.n);
        return true;
    }
    if (account->data.mapping.pairs.start == account->data.mapping.pairs.top)
        return fail(reason, TOO_UNUSUAL);
    size_t at = start_of(tree, node_of(tree, account->data.mapping.pairs.start->key));
    put_range(out, text, 0, at);
    put_member(out, member);
    if (is_flow(account)) {
        buf_lit(out, ", ");
    } else {
        size_t start = line_start(text, at);
        buf_put(out, newline_of(text));
        put_range(out, text, start, at);
    }
    put_range(out, text, at, text.n);
    return true;
}

/* --- checks ----------------------------------------------------------------------------------- */

static bool has_same_secret(const struct account *a, const struct account *b)
{
    return a->is_hashed == b->is_hashed && str_eq(a->secret, b->secret);
}

static bool has_same_former(const struct account *a, const struct account *b)
{
    if (a->former == NULL || b->former == NULL)
        return a->former == b->former;
    return a->former_until_s == b->former_until_s && has_same_secret(a->former, b->former);
}

static bool has_same_limits(const struct account *a, const struct account *b)
{
    return str_eq(a->weight_text, b->weight_text) && a->max_waiting == b->max_waiting &&
           a->upload_rate == b->upload_rate && a->max_rate == b->max_rate &&
           a->max_nonces == b->max_nonces && a->key_generation == b->key_generation &&
           a->max_stored == b->max_stored && a->max_stored_per_user == b->max_stored_per_user &&
           a->requests_per_minute == b->requests_per_minute &&
           a->tokens_per_day == b->tokens_per_day && a->max_concurrent == b->max_concurrent;
}

static bool is_same(const struct account *a, const struct account *b)
{
    return str_eq(a->name, b->name) && has_same_secret(a, b) && has_same_former(a, b) &&
           a->role == b->role && str_eq(a->namespace, b->namespace) &&
           a->is_deployed == b->is_deployed && has_same_limits(a, b);
}

/* All others are what they were, in the same order. */
static bool are_others_same(const struct accounts *before, const struct accounts *after,
                            struct str name)
{
    size_t i = 0, j = 0, n = before == NULL ? 0 : accounts_count(before);
    for (;; i++, j++) {
        if (i < n && str_eq(accounts_at(before, i)->name, name))
            i++;
        if (j < accounts_count(after) && str_eq(accounts_at(after, j)->name, name))
            j++;
        if (i >= n || j >= accounts_count(after))
            return i >= n && j >= accounts_count(after);
        if (!is_same(accounts_at(before, i), accounts_at(after, j)))
            return false;
    }
}

/* The account has these members, and those that it had before otherwise. */
static bool has_members(const struct tree *before, const struct tree *after, struct str name,
                        const struct account_member *members, size_t member_n)
{
    const yaml_node_pair_t *pair = find_pair(after, after->list, name);
    const yaml_node_pair_t *old =
        before->list == NULL ? NULL : find_pair(before, before->list, name);
    const yaml_node_t *account = pair == NULL ? NULL : node_of(after, pair->value);
    if (account == NULL || account->type != YAML_MAPPING_NODE)
        return false;
    size_t n = 0, kept_n = 0;
    for (size_t i = 0; i < member_n; i++) {
        const yaml_node_pair_t *member = find_pair(after, account, str_of(members[i].name));
        n += members[i].value.at != NULL;
        if ((member == NULL) != (members[i].value.at == NULL) ||
            (member != NULL &&
             !str_eq(yaml_tree_scalar(node_of(after, member->value)), members[i].value)))
            return false;
    }
    const yaml_node_t *was = old == NULL ? NULL : node_of(before, old->value);
    for (const yaml_node_pair_t *p = was == NULL ? NULL : was->data.mapping.pairs.start;
         p != NULL && p < was->data.mapping.pairs.top; p++) {
        struct str key = yaml_tree_scalar(node_of(before, p->key));
        size_t i = 0;
        while (i < member_n && !str_eq(key, str_of(members[i].name)))
            i++;
        if (i < member_n)
            continue;
        kept_n++;
        const yaml_node_pair_t *kept = find_pair(after, account, key);
        if (kept == NULL || !str_eq(yaml_tree_scalar(node_of(after, kept->value)),
                                    yaml_tree_scalar(node_of(before, p->value))))
            return false;
    }
    return n + kept_n ==
           (size_t)(account->data.mapping.pairs.top - account->data.mapping.pairs.start);
}

/* `members` NULL: the account is gone. */
/* The line is one of the changed text, which nobody has seen. */
static bool fail_without_line(char *reason)
{
    const char *end = strncmp(reason, "line ", 5) == 0 ? strstr(reason, ": ") : NULL;
    if (end != NULL)
        memmove(reason, end + 2, strlen(end + 2) + 1);
    return false;
}

static bool check(struct str text, const struct accounts *before, struct str name,
                  const struct account_member *members, size_t member_n, const struct buf *out,
                  char *reason)
{
    struct accounts *after;
    struct tree old, new;
    if (out->is_over)
        return fail(reason, "the file would be larger than an accounts file may be");
    if (!accounts_parse(buf_str(out), reason, ACCOUNTS_REASON_BYTES, &after))
        return members == NULL ? fail(reason, TOO_UNUSUAL) : fail_without_line(reason);
    bool ok = are_others_same(before, after, name) &&
              (accounts_find(after, name) == NULL) == (members == NULL);
    accounts_destroy(after);
    if (!ok)
        return fail(reason, TOO_UNUSUAL);
    if (members == NULL)
        return true;
    if (!read_tree(&old, text, reason))
        return false;
    ok = read_tree(&new, buf_str(out), reason);
    if (ok) {
        ok = has_members(&old, &new, name, members, member_n) || fail(reason, TOO_UNUSUAL);
        close_tree(&new);
    }
    close_tree(&old);
    return ok;
}

/* --- the three changes ------------------------------------------------------------------------ */

/* Bytes of UTF-16 are no places that could be found here. */
static bool is_wide(struct str text)
{
    return str_has_prefix(text, STR("\xff\xfe")) || str_has_prefix(text, STR("\xfe\xff"));
}

/* *ret_before is NULL if the file holds no account, which `may_be_empty` allows. */
static bool open_both(struct str text, bool may_be_empty, struct tree *tree,
                      struct accounts **ret_before, char *reason)
{
    *ret_before = NULL;
    if (is_wide(text))
        return fail(reason, "the file is not UTF-8: edit it by hand");
    if (!read_tree(tree, text, reason))
        return false;
    if ((tree->list == NULL && may_be_empty) ||
        accounts_parse(text, reason, ACCOUNTS_REASON_BYTES, ret_before))
        return true;
    close_tree(tree);
    return false;
}

bool accounts_explain_missing(const struct accounts *accounts, struct str name, char *reason)
{
    struct nearest nearest = nearest_begin(name);
    struct buf b;
    buf_init(&b, ACCOUNTS_REASON_BYTES - 1);
    for (size_t i = 0; i < accounts_count(accounts); i++)
        nearest_try(&nearest, accounts_at(accounts, i)->name);
    buf_lit(&b, "there is no account ");
    buf_put_typed(&b, "", name);
    buf_put_nearest(&b, "", nearest_end(&nearest));
    snprintf(reason, ACCOUNTS_REASON_BYTES, "%.*s", STR_ARG(buf_str(&b)));
    buf_fini(&b);
    return false;
}

bool accounts_edit_add(struct str text, struct str name, const struct account_member *members,
                       size_t member_n, struct buf *out, char *reason)
{
    struct tree tree;
    struct accounts *before;
    if (!open_both(text, true, &tree, &before, reason))
        return false;
    bool ok = before == NULL || accounts_find(before, name) == NULL;
    if (!ok)
        snprintf(reason, ACCOUNTS_REASON_BYTES,
                 "there is an account '%.*s' already: parley account rotate gives it a new secret",
                 STR_ARG(name));
    ok = ok && put_added(&tree, name, members, member_n, out, reason) &&
         check(text, before, name, members, member_n, out, reason);
    accounts_destroy(before);
    close_tree(&tree);
    return ok;
}

/* `text` with one member set. */
static bool put_set(struct str text, struct str name, const struct account_member *member,
                    struct buf *out, char *reason)
{
    struct tree tree;
    if (!read_tree(&tree, text, reason))
        return false;
    const yaml_node_pair_t *pair = tree.list == NULL ? NULL : find_pair(&tree, tree.list, name);
    const yaml_node_t *account = pair == NULL ? NULL : node_of(&tree, pair->value);
    bool ok = account != NULL && account->type == YAML_MAPPING_NODE
                  ? put_with_member(&tree, account, member, out, reason)
                  : fail(reason, TOO_UNUSUAL);
    close_tree(&tree);
    return ok;
}

bool accounts_edit_set(struct str text, struct str name, const struct account_member *members,
                       size_t member_n, struct buf *out, char *reason)
{
    struct tree tree;
    struct accounts *before;
    struct buf one, other;
    if (!open_both(text, false, &tree, &before, reason))
        return false;
    close_tree(&tree);
    bool ok = accounts_find(before, name) != NULL || accounts_explain_missing(before, name, reason);
    buf_init(&one, out->max);
    buf_init(&other, out->max);
    buf_put(&one, text);
    for (size_t i = 0; ok && i < member_n; i++) {
        buf_clear(&other);
        ok = put_set(buf_str(&one), name, &members[i], &other, reason);
        struct buf former = one;
        one = other;
        other = former;
    }
    if (ok)
        buf_put(out, buf_str(&one));
    ok = ok && check(text, before, name, members, member_n, out, reason);
    buf_fini(&one);
    buf_fini(&other);
    accounts_destroy(before);
    return ok;
}

bool accounts_edit_remove(struct str text, struct str name, struct buf *out, char *reason)
{
    struct tree tree;
    struct accounts *before;
    if (!open_both(text, false, &tree, &before, reason))
        return false;
    bool ok = accounts_find(before, name) != NULL || accounts_explain_missing(before, name, reason);
    if (ok && accounts_count(before) == 1)
        ok = fail(reason, "this is the only account, and nodes need one: add another one first");
    if (ok && is_flow(tree.list))
        ok = fail(reason, TOO_UNUSUAL);
    ok = ok && put_without_lines(&tree, find_pair(&tree, tree.list, name), out, reason) &&
         check(text, before, name, NULL, 0, out, reason);
    accounts_destroy(before);
    close_tree(&tree);
    return ok;
}
