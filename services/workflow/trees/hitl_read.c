/* SPDX-License-Identifier: MIT
 * hitl_read.c - reads `hitl`: how a person decides where an agent stops. */
#include "services/workflow/trees/reader.h"

#include "shared/auth/accounts.h"
#include "shared/base/mem.h"
#include "shared/base/nearest.h"

enum { APPROVERS_MAX = 100, TIMEOUT_MIN_MS = 100 };
#define TIMEOUT_MAX_MS UINT64_C(31536000000) /* 365 days */
#define ROLE_PREFIX STR("role:")

enum member {
    MEMBER_FORM,
    MEMBER_APPROVERS,
    MEMBER_QUORUM,
    MEMBER_SELF,
    MEMBER_TIMEOUT,
    MEMBER_ON_TIMEOUT,
    MEMBER_NR
};

static const char *const member_names[MEMBER_NR] = {"form", "approvers", "quorum",
                                                    "self", "timeout",   "on_timeout"};

const struct hitl hitl_default = {.quorum = 1, .is_self_allowed = true};

void hitl_fini(struct hitl *hitl)
{
    json_decref((json_t *)hitl->form);
    free((struct str *)hitl->approvers);
}

static bool check_approver(struct reader *r, const yaml_node_t *item)
{
    enum role role;
    struct str name = yaml_tree_scalar(item);
    if (name.at == NULL || yaml_tree_is_null(item) || name.n == 0 ||
        name.n > ACCOUNT_NAME_MAX_BYTES)
        return reader_fault(r, item, "an approver is the name of an account or role:NAME");
    if (str_has_prefix(name, ROLE_PREFIX)) {
        struct str rest = {name.at + ROLE_PREFIX.n, name.n - ROLE_PREFIX.n};
        return role_parse(rest, &role) ||
               reader_fault(r, item, "unknown role '%s'%s", reader_show(r, rest),
                            reader_meant(r, nearest_of(rest, "frontend|user|engine|operator"),
                                         ": use frontend, user, engine or operator"));
    }
    for (size_t i = 0; i < name.n; i++)
        if ((unsigned char)name.at[i] <= ' ' || name.at[i] == 0x7f || name.at[i] == ':')
            return reader_fault(r, item,
                                "an approver is the name of an account or role:NAME, not '%s'",
                                reader_show(r, name));
    return true;
}

/* Reads the approvers: all must be accounts, and each counts once. */
static void read_approvers(struct reader *r, const yaml_node_t *key, const yaml_node_t *value,
                           struct hitl *hitl)
{
    if (value->type != YAML_SEQUENCE_NODE ||
        value->data.sequence.items.start == value->data.sequence.items.top) {
        reader_fault(r, key,
                     "'approvers' takes a list of at least one account or role:NAME; without "
                     "'approvers' the run's owner answers");
        return;
    }
    const yaml_node_item_t *start = value->data.sequence.items.start,
                           *top = value->data.sequence.items.top;
    if (top - start > APPROVERS_MAX) {
        reader_fault(r, key, "'approvers' takes at most %d", APPROVERS_MAX);
        return;
    }
    struct str *names = mem_zeroed_n((size_t)(top - start), sizeof *names);
    hitl->approvers = names;
    for (const yaml_node_item_t *item = start; item < top; item++) {
        const yaml_node_t *node = reader_node(r, *item);
        struct str name = yaml_tree_scalar(node);
        if (!check_approver(r, node))
            continue;
        for (size_t i = 0; i < hitl->approver_n; i++)
            if (str_eq(names[i], name)) {
                reader_fault(r, node, "a second approver '%s'", reader_show(r, name));
                break;
            }
        names[hitl->approver_n++] = name;
    }
}

static void read_on_timeout(struct reader *r, const yaml_node_t *value, struct hitl *hitl)
{
    struct str text = yaml_tree_scalar(value);
    if (str_eq(text, STR("reject"))) {
        hitl->on_timeout = TIMEOUT_REJECT;
    } else if (str_eq(text, STR("continue"))) {
        hitl->on_timeout = TIMEOUT_CONTINUE;
    } else if (reader_is_name(text, TREES_AGENT_MAX_BYTES) && !yaml_tree_is_null(value)) {
        hitl->on_timeout = TIMEOUT_AGENT;
        hitl->timeout_agent = text;
    } else {
        reader_fault(r, value, "'on_timeout' takes reject, continue or the name of an agent");
    }
}

/* Checks members that only make sense together. `at`: the members that were found. */
static void check_together(struct reader *r, const struct hitl *hitl,
                           const yaml_node_t *const at[MEMBER_NR])
{
    size_t role_n = 0;
    for (size_t i = 0; i < hitl->approver_n; i++)
        role_n += str_has_prefix(hitl->approvers[i], ROLE_PREFIX);
    if (at[MEMBER_QUORUM] != NULL && at[MEMBER_APPROVERS] == NULL && hitl->quorum > 1)
        reader_fault(r, at[MEMBER_QUORUM],
                     "a quorum of %u takes approvers: without them only the run's owner answers",
                     hitl->quorum);
    else if (at[MEMBER_QUORUM] != NULL && hitl->approver_n > 0 && role_n == 0 &&
             hitl->quorum > hitl->approver_n)
        reader_fault(r, at[MEMBER_QUORUM],
                     "a quorum of %u is larger than the number of approvers, %zu", hitl->quorum,
                     hitl->approver_n);
    if (!hitl->is_self_allowed && at[MEMBER_APPROVERS] == NULL)
        reader_fault(r, at[MEMBER_SELF],
                     "'self: false' takes approvers: without them only the run's owner answers");
    if (at[MEMBER_ON_TIMEOUT] != NULL && at[MEMBER_TIMEOUT] == NULL)
        reader_fault(r, at[MEMBER_ON_TIMEOUT], "'on_timeout' takes a 'timeout' besides");
}

void hitl_read(struct reader *r, const yaml_node_t *key, const yaml_node_t *value,
               struct hitl *ret_hitl, size_t *ret_timeout_line)
{
    const yaml_node_t *at[MEMBER_NR] = {NULL};
    *ret_hitl = hitl_default;
    if (value->type != YAML_MAPPING_NODE) {
        reader_fault(r, key, "'hitl' takes members such as {approvers: [...], timeout: 24h}");
        return;
    }
    for (const yaml_node_pair_t *pair = value->data.mapping.pairs.start;
         pair < value->data.mapping.pairs.top; pair++) {
        const yaml_node_t *name = reader_node(r, pair->key), *v = reader_node(r, pair->value);
        unsigned member = reader_member(r, name, member_names, MEMBER_NR);
        if (member == MEMBER_NR || at[member] != NULL)
            continue; /* a second one is noted elsewhere */
        at[member] = name;
        switch ((enum member)member) {
        case MEMBER_FORM: ret_hitl->form = form_read(r, name, v); break;
        case MEMBER_APPROVERS: read_approvers(r, name, v, ret_hitl); break;
        case MEMBER_QUORUM: reader_number(r, name, v, 1, APPROVERS_MAX, &ret_hitl->quorum); break;
        case MEMBER_SELF: reader_bool(r, name, v, &ret_hitl->is_self_allowed); break;
        case MEMBER_TIMEOUT:
            reader_duration(r, name, v, TIMEOUT_MIN_MS, TIMEOUT_MAX_MS, &ret_hitl->timeout_ms);
            break;
        case MEMBER_ON_TIMEOUT:
            *ret_timeout_line = reader_line(v);
            read_on_timeout(r, v, ret_hitl);
            break;
        case MEMBER_NR: break;
        }
    }
    check_together(r, ret_hitl, at);
}
