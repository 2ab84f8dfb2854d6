/* SPDX-License-Identifier: MIT
 * engine_claims.c - see engine_claims.h. */
#include "services/broker/socket/engine_claims.h"

#include "shared/base/json_scan.h"
#include "shared/base/mem.h"

enum { CLAIM_MEMBERS = 16, LEASE_BYTES = 24 };

struct engine_claim {
    struct list_link link;
    char lease[LEASE_BYTES];
    unsigned name, n;
    uint64_t *seqs;
};

static struct engine_claim *find(const struct engine_claims *claims, struct str lease)
{
    list_for_each (struct engine_claim, claim, &claims->list, link)
        if (str_eq(str_of(claim->lease), lease))
            return claim;
    return NULL;
}

static uint64_t bit_of(unsigned name)
{
    return name < ENGINE_NAMES_MAX ? 1ull << name : 0;
}

static void drop(struct engine_claims *claims, struct engine_claim *claim)
{
    list_remove(&claim->link);
    claims->n--;
    claims->names &= ~bit_of(claim->name);
    free(claim->seqs);
    free(claim);
}

void engine_claims_fini(struct engine_claims *claims)
{
    list_for_each (struct engine_claim, claim, &claims->list, link)
        drop(claims, claim);
}

static struct json_span member(const struct json_member *members, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(members[i].name.raw, str_of(name)))
            return members[i].value;
    return (struct json_span){.kind = JSON_SPAN_ABSENT};
}

static bool scan(struct str json, struct json_member *members, size_t *ret_n)
{
    const char *reason;
    size_t at;
    bool is_object;
    return json_scan_object(json, members, CLAIM_MEMBERS, ret_n, &reason, &at, &is_object) &&
           *ret_n <= CLAIM_MEMBERS;
}

/* Each query is an object whose only member is named by its Seq. */
static void read_seqs(struct engine_claim *claim, const struct json_span *queries)
{
    struct json_member row[CLAIM_MEMBERS];
    struct json_span item;
    size_t n;
    for (struct str rest = json_list_inside(queries); json_next_item(&rest, &item);) {
        uint64_t seq;
        if (!scan(item.raw, row, &n) || n != 1 || !str_parse_u64(row[0].name.raw, &seq))
            continue;
        claim->seqs = mem_grow(claim->seqs, claim->n, sizeof *claim->seqs);
        claim->seqs[claim->n++] = seq;
    }
}

void engine_claims_add(struct engine_claims *claims, struct str json, unsigned name)
{
    struct json_member members[CLAIM_MEMBERS];
    size_t n;
    if (!scan(json, members, &n))
        return;
    struct json_span lease = member(members, n, "Lease"), queries = member(members, n, "Queries");
    if (lease.kind != JSON_SPAN_TEXT || lease.raw.n >= LEASE_BYTES)
        return;
    struct engine_claim *claim = mem_zeroed(sizeof *claim);
    memcpy(claim->lease, lease.raw.at, lease.raw.n);
    read_seqs(claim, &queries);
    list_append(&claims->list, &claim->link);
    claims->n++;
    claim->name = name;
    claims->names |= bit_of(name);
}

unsigned engine_claims_name(const struct engine_claims *claims, struct str lease)
{
    const struct engine_claim *claim = find(claims, lease);
    return claim == NULL ? ENGINE_NAMES_MAX : claim->name;
}

void engine_claims_end_one(struct engine_claims *claims, struct str lease, uint64_t seq)
{
    struct engine_claim *claim = find(claims, lease);
    if (claim == NULL)
        return;
    for (unsigned i = 0; i < claim->n; i++)
        if (claim->seqs[i] == seq)
            claim->seqs[i--] = claim->seqs[--claim->n];
    if (claim->n == 0)
        drop(claims, claim);
}

void engine_claims_end(struct engine_claims *claims, struct str lease)
{
    struct engine_claim *claim = find(claims, lease);
    if (claim != NULL)
        drop(claims, claim);
}

bool engine_claims_is_last(const struct engine_claims *claims, struct str lease, uint64_t seq)
{
    const struct engine_claim *claim = find(claims, lease);
    return claim != NULL && claim->n == 1 && claim->seqs[0] == seq;
}
