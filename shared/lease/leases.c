/* SPDX-License-Identifier: MIT
 * leases.c - see leases.h. */
#include "shared/lease/leases.h"

#include "shared/base/mem.h"

/* The calls that are under way with one shard. */
struct lease_shard {
    struct leases *leases;
    unsigned number;
    struct turn *turn;
    struct call check_call, take_call;
    uint64_t checked_ms;
    uint64_t wait_ms; /* between two checks at least, because others check */
    struct renewal {
        struct call call;
        struct leases *leases;
    } renewals[];
};

/* So many in the time between two of one node. */
enum { CHECKS_ENOUGH = 8 };

/* 0: nodes are few. */
static uint64_t pace_ms(const struct lease_shard *shard)
{
    return shard->leases->shards->pace_ms[shard->number];
}

/* Calls that renew all rows. */
static unsigned renewals_max(const struct leases *leases)
{
    return leases->kind->rows_max / leases->kind->renew_max + 1;
}

/* --- rows ------------------------------------------------------------------------------------- */

static struct lease *find(const struct leases *leases, struct str id)
{
    if (id.n > LEASE_ID_MAX_BYTES)
        return NULL;
    list_for_each (struct lease, lease, &leases->rows, link)
        if (lease->id[id.n] == 0 && memcmp(lease->id, id.at, id.n) == 0)
            return lease;
    return NULL;
}

struct str lease_home(const struct lease *lease)
{
    const struct lease_kind *kind = lease->leases->kind;
    return (struct str){lease->id + kind->home_at, kind->home_bytes};
}

void lease_hold(struct leases *leases, struct lease *lease, struct str id, uint64_t fence)
{
    struct lease *former = find(leases, id);
    if (id.n > LEASE_ID_MAX_BYTES || id.n < leases->kind->home_at + leases->kind->home_bytes)
        abort(); /* users check what they are given */
    *lease = (struct lease){.leases = leases, .fence = fence};
    memcpy(lease->id, id.at, id.n);
    lease->turn = shards_turn(leases->shards, lease_home(lease));
    list_prepend(&leases->rows, &lease->link);
    if (former != NULL) /* last, because `id` may be its own */
        leases->kind->drop(former);
}

void lease_let_go(struct lease *lease)
{
    list_remove(&lease->link);
}

void lease_give_back(struct lease *lease, uint64_t after_ms)
{
    const struct lease_kind *kind = lease->leases->kind;
    if (kind->release != NULL)
        kind->release(lease, turn_forget(lease->turn), after_ms);
    kind->drop(lease);
}

void leases_drain(struct leases *leases)
{
    struct list left = {0};
    struct lease *lease;
    list_move(&left, &leases->rows);
    while ((lease = list_first(&left, struct lease, link)) != NULL) { /* one may drop others */
        list_remove(&lease->link);
        list_append(&leases->rows, &lease->link);
        if (leases->kind->use_of(lease) == LEASE_IDLE)
            lease_give_back(lease, 0);
    }
}

/* --- renewing --------------------------------------------------------------------------------- */

static void on_renewed(struct call *call, enum err error, struct str reply)
{
    struct leases *leases = container_of(call, struct renewal, call)->leases;
    struct lines lines = lines_of(reply);
    while (error == ERR_OK && lines_are_left(&lines)) {
        struct lease *lease = find(leases, lines_next(&lines));
        /* One that was not renewed yet has come meanwhile, in place of the one that was. */
        if (lease != NULL && lease->was_renewed && leases->kind->use_of(lease) != LEASE_STORING)
            leases->kind->drop(lease);
    }
}

static struct lease *next_on(const struct leases *leases, struct lease *lease,
                             const struct turn *turn)
{
    while (lease != NULL && lease->turn != turn)
        lease = list_next(&leases->rows, lease, struct lease, link);
    return lease;
}

/* All rows on that shard, in as many calls as that takes. */
static void renew(struct lease_shard *shard)
{
    const struct leases *leases = shard->leases;
    const struct lease_kind *kind = leases->kind;
    struct lease *lease =
        next_on(leases, list_first(&leases->rows, struct lease, link), shard->turn);
    for (unsigned i = 0; i < renewals_max(leases) && lease != NULL; i++) {
        struct call *call = &shard->renewals[i].call;
        if (call_is_under_way(call))
            return;
        struct verb_writer verb = kind->begin_renewal(turn_call(shard->turn, call, on_renewed));
        for (unsigned n = 0; n < kind->renew_max && lease != NULL; n++) {
            kind->put_renewal(&verb, lease);
            lease->was_renewed = true;
            lease = list_next(&leases->rows, lease, struct lease, link);
            lease = next_on(leases, lease, shard->turn);
        }
        end_verb(&verb);
    }
}

/* --- taking ----------------------------------------------------------------------------------- */

static void on_taken(struct call *call, enum err error, struct str reply)
{
    struct lease_shard *shard = container_of(call, struct lease_shard, take_call);
    struct lines lines = lines_of(reply);
    while (error == ERR_OK && lines_are_left(&lines)) {
        struct str id = lines_next(&lines);
        uint64_t fence = lines_next_u64(&lines);
        shard->leases->kind->start(shard->leases, id, fence, &lines);
    }
}

/* How many rows may be asked for now with `call`. */
static unsigned capacity_for(const struct lease_shard *shard, const struct call *call)
{
    struct leases *leases = shard->leases;
    const struct lease_kind *kind = leases->kind;
    if (*leases->is_draining || call_is_under_way(call) || !turn_is_up(shard->turn))
        return 0;
    unsigned capacity =
        kind->count_capacity == NULL ? kind->take_max : kind->count_capacity(leases);
    return capacity < kind->take_max ? capacity : kind->take_max;
}

static void take(struct lease_shard *shard)
{
    unsigned limit = capacity_for(shard, &shard->take_call);
    if (limit > 0)
        shard->leases->kind->take(shard->leases,
                                  turn_call(shard->turn, &shard->take_call, on_taken), limit);
}

void leases_on_up(struct leases *leases, unsigned shard)
{
    take(leases->per_shard[shard]);
}

/* Nodes check for all. While they are many, one that finds that others do it often enough waits
 * twice as long, up to the time between its syncs; as soon as they do not, it checks as usual. */
static void set_wait(struct lease_shard *shard, struct str age)
{
    uint64_t age_ms, every_ms = shard->leases->kind->check_again_ms;
    if (!str_parse_u64(age, &age_ms) || age_ms > every_ms / 2)
        shard->wait_ms = 0;
    else if (age_ms < every_ms / CHECKS_ENOUGH)
        shard->wait_ms = shard->wait_ms == 0 ? 2 * every_ms : 2 * shard->wait_ms;
    if (shard->wait_ms > pace_ms(shard))
        shard->wait_ms = pace_ms(shard);
}

static void on_checked(struct call *call, enum err error, struct str reply)
{
    struct lease_shard *shard = container_of(call, struct lease_shard, check_call);
    const char *const *due = shard->leases->kind->due;
    struct lines lines = lines_of(reply);
    struct str word = lines_next(&lines);
    for (unsigned i = 0; error == ERR_OK && i < LEASE_DUE_WORDS && due[i] != NULL; i++)
        if (str_eq(word, str_of(due[i])))
            take(shard);
    set_wait(shard, lines_next(&lines));
}

/* If the last check is that long ago. */
static void check(struct lease_shard *shard, uint64_t after_ms)
{
    uint64_t now_ms = clock_mono_ms();
    if (after_ms < shard->wait_ms)
        after_ms = shard->wait_ms;
    if (now_ms < shard->checked_ms + after_ms || capacity_for(shard, &shard->check_call) == 0)
        return;
    shard->checked_ms = now_ms;
    shard->leases->kind->check(
        shard->leases, turn_call(shard->turn, &shard->check_call, on_checked), pace_ms(shard) > 0);
}

void leases_before_flush(struct leases *leases)
{
    for (unsigned i = 0; i < leases->shards->n; i++)
        if (turn_is_collecting(leases->shards->turns[i]))
            check(leases->per_shard[i], leases->kind->check_ms);
}

/* --- life ------------------------------------------------------------------------------------- */

static void on_tick(struct deadline *deadline)
{
    struct leases *leases = container_of(deadline, struct leases, tick);
    uint64_t now_ms = clock_mono_ms();
    bool renews = now_ms >= leases->renewed_ms + leases->kind->renew_ms;
    if (renews)
        leases->renewed_ms = now_ms;
    for (unsigned i = 0; i < leases->shards->n; i++) {
        if (renews)
            renew(leases->per_shard[i]);
        check(leases->per_shard[i], leases->kind->check_again_ms);
    }
    loop_set_deadline(leases->loop, &leases->tick, leases->kind->tick_ms);
}

static struct lease_shard *create_shard(struct leases *leases, unsigned number)
{
    unsigned n = renewals_max(leases);
    struct lease_shard *shard = mem_zeroed(sizeof *shard + n * sizeof *shard->renewals);
    shard->leases = leases;
    shard->number = number;
    shard->turn = leases->shards->turns[number];
    for (unsigned i = 0; i < n; i++)
        shard->renewals[i].leases = leases;
    return shard;
}

void leases_init(struct leases *leases, const struct lease_kind *kind, struct loop *loop,
                 struct shards *shards, const bool *is_draining)
{
    *leases = (struct leases){.kind = kind,
                              .loop = loop,
                              .shards = shards,
                              .is_draining = is_draining,
                              .tick.on_expire = on_tick};
    for (unsigned i = 0; i < shards->n; i++)
        leases->per_shard[i] = create_shard(leases, i);
    loop_set_deadline(loop, &leases->tick, kind->tick_ms);
}

static void destroy_shard(struct lease_shard *shard)
{
    call_detach(&shard->check_call);
    call_detach(&shard->take_call);
    for (unsigned i = 0; i < renewals_max(shard->leases); i++)
        call_detach(&shard->renewals[i].call);
    free(shard);
}

void leases_fini(struct leases *leases)
{
    loop_cancel_deadline(leases->loop, &leases->tick);
    for (unsigned i = 0; i < leases->shards->n; i++)
        destroy_shard(leases->per_shard[i]);
    struct lease *lease;
    while ((lease = list_first(&leases->rows, struct lease, link)) != NULL)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it leaves the list */
        leases->kind->drop(lease);
}
