/* SPDX-License-Identifier: MIT
 * failures.c - see failures.h. The table is 1 MiB of address space, and the system gives
 * memory only to the pages that failures have touched. */
#include "shared/http/access/failures.h"

#include "shared/base/buf.h"
#include "shared/base/mem.h"

#include <assert.h>
#include <openssl/hmac.h>

/* The clock counts from the start of the machine, so seconds fit. */
struct slot {
    uint32_t end_s; /* of its window */
    uint32_t n;     /* within it; past FAILURES_MAX: refused */
};

struct failures {
    struct slot slots[2 * FAILURES_HALF];
};

struct failures *failures_create(void)
{
    struct failures *failures = mem_zeroed(sizeof *failures);
    return failures;
}

void failures_destroy(struct failures *failures)
{
    free(failures);
}

struct failures_slots failures_slots(const struct token_key *key, struct str network,
                                     struct str account)
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned mac_n = 0;
    struct buf text;
    buf_init(&text, network.n + account.n + 1);
    buf_put(&text, network);
    buf_put_char(&text, ' ');
    buf_put(&text, account);
    if (HMAC(EVP_sha256(), key->bytes, sizeof key->bytes, (const unsigned char *)text.at, text.n,
             mac, &mac_n) == NULL)
        abort();
    buf_fini(&text);
    return (struct failures_slots){
        {((unsigned)mac[0] << 8 | mac[1]) % FAILURES_HALF,
         FAILURES_HALF + ((unsigned)mac[2] << 8 | mac[3]) % FAILURES_HALF}};
}

static struct slot *current(struct failures *failures, unsigned slot, uint64_t now_ms)
{
    assert(slot < 2 * FAILURES_HALF);
    struct slot *s = &failures->slots[slot];
    if (s->end_s <= now_ms / 1000)
        s->n = 0;
    return s;
}

static void set_end(struct slot *s, uint64_t now_ms, uint64_t ttl_ms)
{
    s->end_s = (uint32_t)((now_ms + ttl_ms + 999) / 1000);
}

static uint64_t refused_ms(const struct slot *s, uint64_t now_ms)
{
    return s->n > FAILURES_MAX ? s->end_s * UINT64_C(1000) - now_ms : 0;
}

uint64_t failures_left(struct failures *failures, struct failures_slots slots, uint64_t now_ms)
{
    uint64_t left[2];
    for (unsigned i = 0; i < 2; i++)
        left[i] = refused_ms(current(failures, slots.of[i], now_ms), now_ms);
    return left[0] < left[1] ? left[0] : left[1];
}

uint64_t failures_count(struct failures *failures, struct failures_slots slots, uint64_t now_ms)
{
    uint64_t left_ms = UINT64_MAX;
    for (unsigned i = 0; i < 2; i++) {
        struct slot *s = current(failures, slots.of[i], now_ms);
        if (s->n == 0)
            set_end(s, now_ms, FAILURES_WINDOW_MS);
        if (s->n <= FAILURES_MAX)
            s->n++;
        uint64_t left = refused_ms(s, now_ms);
        left_ms = left < left_ms ? left : left_ms;
    }
    return left_ms;
}

void failures_refuse(struct failures *failures, struct failures_slots slots, uint64_t now_ms,
                     uint64_t ttl_ms)
{
    for (unsigned i = 0; i < 2; i++) {
        struct slot *s = current(failures, slots.of[i], now_ms);
        s->n = FAILURES_MAX + 1;
        set_end(s, now_ms, ttl_ms);
    }
}
