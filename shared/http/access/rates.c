/* SPDX-License-Identifier: MIT
 * rates.c - see rates.h. */
#include "shared/http/access/rates.h"

#include "generated/verbs.h"
#include "shared/base/clock.h"
#include "shared/base/hash.h"
#include "shared/base/mem.h"

enum {
    BUCKET_N = 4096,
    RATES_MAX = 65536, /* accounts; further ones are counted as one */
    STATE_MS = 1000,
    STATED_MAX = 300,  /* accounts of a call; others are the next one's */
    OTHERS_MS = 10000, /* so long what other nodes stated holds: RATE_MS of lua/auth/rates.lua */
    FORGET_MS =
        60000, /* after which nonces are stated, however few, and who is idle is forgotten */
    SMALLEST_PART = 64, /* of a rate: what a node has whatever others want, and states from there */
    NONCES_PART = 4096, /* of max_nonces: as many are stated at once */
    RETRY_S = 1,
};

struct rate {
    struct rate *next;
    char *name;
    size_t name_n;
    unsigned max_rate;
    uint64_t max_nonces;
    double tokens; /* requests that are admitted at once, as of filled_ms */
    uint64_t filled_ms, used_ms, heard_ms, stated_ms;
    uint64_t asked;         /* requests since the last count, refused ones too */
    uint64_t per_s;         /* as of the last count */
    uint64_t others;        /* of other nodes, as of heard_ms */
    uint64_t nonces;        /* used up here since they were last stated */
    uint64_t stated_nonces; /* in the call that is under way */
    uint64_t known_nonces;  /* of all nodes, on day_ms' day */
    bool is_stated;         /* in the call that is under way */
};

struct rates {
    struct loop *loop;
    struct shards *shards;
    struct rate *buckets[BUCKET_N];
    unsigned n;
    unsigned next_bucket; /* where the next call begins */
    struct deadline timer;
    uint64_t counted_ms;
    uint64_t day_end_ms; /* of Redis's day, on our clock; 0: not heard yet */
    struct call call;
    struct rate *stated[STATED_MAX];
    unsigned stated_n;
};

/* --- accounts --------------------------------------------------------------------------------- */

static struct rate **place_of(struct rates *rates, struct str name)
{
    struct rate **at = &rates->buckets[hash_fnv32(name, 0) % BUCKET_N];
    while (*at != NULL && !str_eq(name, (struct str){(*at)->name, (*at)->name_n}))
        at = &(*at)->next;
    return at;
}

static struct rate *get(struct rates *rates, const struct account *account)
{
    struct str name = account->name_token;
    struct rate **at = place_of(rates, name);
    if (*at == NULL && rates->n >= RATES_MAX) {
        name = STR("%"); /* the name of nobody (buf_put_name) */
        at = place_of(rates, name);
    }
    struct rate *rate = *at;
    uint64_t now_ms = clock_mono_ms();
    if (rate == NULL) {
        rate = *at = mem_zeroed(sizeof *rate);
        rate->name = str_copy(name);
        rate->name_n = name.n;
        rate->tokens = account->max_rate;
        rate->filled_ms = rate->stated_ms = now_ms;
        rates->n++;
    }
    rate->max_rate = account->max_rate; /* accounts are read again */
    rate->max_nonces = account->max_nonces;
    rate->used_ms = now_ms;
    return rate;
}

static void forget(struct rates *rates, struct rate **at)
{
    struct rate *rate = *at;
    *at = rate->next;
    rates->n--;
    free(rate->name);
    free(rate);
}

/* --- one request ------------------------------------------------------------------------------ */

/* Requests a second that this node may admit. */
static double share_of(const struct rate *rate, uint64_t now_ms)
{
    double most = rate->max_rate, mine = (double)rate->per_s;
    double others = now_ms < rate->heard_ms + OTHERS_MS ? (double)rate->others : 0;
    double share = mine + others <= most ? most - others : most * mine / (mine + others);
    return share > most / SMALLEST_PART ? share : most / SMALLEST_PART;
}

static bool take_token(struct rate *rate)
{
    uint64_t now_ms = clock_mono_ms();
    double share = share_of(rate, now_ms), most = share < 1 ? 1 : share;
    rate->tokens += share * (double)(now_ms - rate->filled_ms) / 1000;
    rate->filled_ms = now_ms;
    if (rate->tokens > most)
        rate->tokens = most;
    if (rate->tokens < 1)
        return false;
    rate->tokens -= 1;
    return true;
}

static bool has_nonce(const struct rate *rate, bool is_login)
{
    uint64_t used = rate->known_nonces + rate->stated_nonces + rate->nonces;
    return used < (is_login ? 2 * rate->max_nonces : rate->max_nonces);
}

/* Whole seconds; a day at most. */
static unsigned day_left_s(const struct rates *rates)
{
    uint64_t now_ms = clock_mono_ms();
    return rates->day_end_ms <= now_ms ? RETRY_S
                                       : (unsigned)((rates->day_end_ms - now_ms) / 1000 + 1);
}

enum rates_answer rates_admit(struct rates *rates, const struct account *account, bool is_signed,
                              bool is_login, unsigned *ret_retry_s)
{
    struct rate *rate = get(rates, account);
    rate->asked++;
    if (!deadline_is_set(&rates->timer)) {
        rates->counted_ms = clock_mono_ms();
        loop_set_deadline(rates->loop, &rates->timer, STATE_MS);
    }
    if (!take_token(rate)) {
        *ret_retry_s = RETRY_S;
        return RATES_TOO_FAST;
    }
    if (is_signed && !has_nonce(rate, is_login)) {
        *ret_retry_s = day_left_s(rates);
        return RATES_TOO_MANY_NONCES;
    }
    rate->nonces += is_signed;
    return RATES_ADMITTED;
}

void rates_return_nonce(struct rates *rates, const struct account *account)
{
    struct rate *rate = account == NULL ? NULL : *place_of(rates, account->name_token);
    if (rate != NULL && rate->nonces > 0)
        rate->nonces--;
}

/* --- what the others have --------------------------------------------------------------------- */

static void on_stated(struct call *call, enum err error, struct str reply)
{
    struct rates *rates = container_of(call, struct rates, call);
    uint64_t now_ms = clock_mono_ms(), left_s;
    if (error == ERR_OK && str_parse_u64(str_cut(&reply, '\n'), &left_s))
        rates->day_end_ms = now_ms + left_s * 1000;
    for (unsigned i = 0; i < rates->stated_n; i++) {
        struct rate *rate = rates->stated[i];
        struct str total = str_cut(&reply, '\n'), others = str_cut(&total, ' ');
        if (error == ERR_OK && str_parse_u64(others, &rate->others) &&
            str_parse_u64(total, &rate->known_nonces))
            rate->heard_ms = now_ms;
        else if (error != ERR_REDIS_LOST) /* it has not run */
            rate->nonces += rate->stated_nonces;
        rate->stated_nonces = 0;
        rate->is_stated = false;
    }
    rates->stated_n = 0;
}

/* A new day: all nonces of the former one have been stated or forgiven. */
static void begin_day(struct rates *rates)
{
    for (unsigned i = 0; i < BUCKET_N; i++)
        for (struct rate *rate = rates->buckets[i]; rate != NULL; rate = rate->next)
            rate->known_nonces = 0;
    rates->day_end_ms = 0;
}

/* Counts afresh. True when Redis is to know what it has counted. */
static bool count_rate(struct rate *rate, uint64_t now_ms, uint64_t took_ms)
{
    rate->per_s = (rate->asked * 1000 + took_ms - 1) / took_ms;
    rate->asked = 0;
    if (rate->is_stated)
        return false;
    bool has_many_nonces = rate->nonces > rate->max_nonces / NONCES_PART;
    bool is_late = rate->nonces > 0 && now_ms > rate->stated_ms + FORGET_MS;
    return rate->per_s * SMALLEST_PART > rate->max_rate || has_many_nonces || is_late;
}

static void state(struct rates *rates, uint64_t now_ms)
{
    struct verb_writer verb = begin_rates(shards_call(rates->shards, &rates->call, on_stated));
    for (unsigned i = 0; i < rates->stated_n; i++) {
        struct rate *rate = rates->stated[i];
        put_rates_account(&verb, .name = ((struct str){rate->name, rate->name_n}),
                          .per_s = rate->per_s, .nonces = rate->nonces);
        rate->stated_nonces = rate->nonces;
        rate->nonces = 0;
        rate->stated_ms = now_ms;
    }
    end_verb(&verb);
}

static void on_timer(struct deadline *deadline)
{
    struct rates *rates = container_of(deadline, struct rates, timer);
    uint64_t now_ms = clock_mono_ms(), took_ms = now_ms - rates->counted_ms;
    bool may_state = !call_is_under_way(&rates->call) &&
                     turn_is_up(shards_cluster(rates->shards)) && rates->stated_n == 0;
    unsigned first = rates->next_bucket;
    rates->counted_ms = now_ms;
    if (rates->day_end_ms != 0 && now_ms >= rates->day_end_ms)
        begin_day(rates);
    for (unsigned i = 0; i < BUCKET_N; i++) {
        unsigned bucket = (first + i) % BUCKET_N;
        for (struct rate **at = &rates->buckets[bucket]; *at != NULL;) {
            struct rate *rate = *at;
            if (count_rate(rate, now_ms, took_ms == 0 ? 1 : took_ms) && may_state &&
                rates->stated_n < STATED_MAX) {
                rates->stated[rates->stated_n++] = rate;
                rate->is_stated = true;
                rates->next_bucket = bucket;
            }
            if (!rate->is_stated && rate->nonces == 0 && now_ms > rate->used_ms + FORGET_MS)
                forget(rates, at);
            else
                at = &rate->next;
        }
    }
    if (may_state && rates->stated_n > 0)
        state(rates, now_ms);
    if (rates->n > 0)
        loop_set_deadline(rates->loop, &rates->timer, STATE_MS);
}

/* --- life ------------------------------------------------------------------------------------- */

struct rates *rates_create(struct loop *loop, struct shards *shards)
{
    struct rates *rates = mem_zeroed(sizeof *rates);
    rates->loop = loop;
    rates->shards = shards;
    rates->timer.on_expire = on_timer;
    return rates;
}

void rates_destroy(struct rates *rates)
{
    if (rates == NULL)
        return;
    call_detach(&rates->call);
    loop_cancel_deadline(rates->loop, &rates->timer);
    for (unsigned i = 0; i < BUCKET_N; i++)
        while (rates->buckets[i] != NULL)
            forget(rates, &rates->buckets[i]);
    free(rates);
}
