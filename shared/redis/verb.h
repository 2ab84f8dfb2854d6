/* SPDX-License-Identifier: MIT
 *
 * verb: the common part of all verb calls. The calls of each verb are generated from its header in
 * lua/ (cmake/verbs.pl, ADR 20):
 *
 *     #include "generated/verbs.h"
 *
 *     call_retry(request_call(r, on_retried), .topic = topic, .seq = seq);
 *
 * A missing, duplicate or misspelt argument does not compile. A verb with a list is written in
 * steps, without other calls in between:
 *
 *     struct verb_writer verb = begin_packs(start, .space = space);
 *     put_packs_pack(&verb, .doc = doc, .generation = generation);
 *     end_verb(&verb);
 *
 * Arguments are copied. `start` says where a verb runs: turn_call, turn_forget and request_call
 * collect it for the end of the loop's turn, blocking_start calls it immediately. A verb that takes
 * a nonce takes that of its start.
 */
#ifndef PARLEY_REDIS_VERB_H
#define PARLEY_REDIS_VERB_H

#include "shared/metrics/metrics.h"
#include "shared/redis/turn.h"
#include "shared/redis/wire.h"

/* The value of an optional number that is absent. */
#define NO_NUMBER UINT64_MAX

/* --- for generated code ----------------------------------------------------------------------- */

struct blocking_call;

/* A verb that is being written. */
struct verb_writer {
    struct buf *wire;
    struct turn *turn; /* or */
    struct blocking_call *blocking;
    const struct verb_info *verb;
    unsigned argc;
};

struct verb_writer writer_begin(struct call_start start, const struct verb_info *verb);
void end_verb(struct verb_writer *writer);

static inline void writer_put_str(struct verb_writer *writer, struct str s)
{
    wire_put(writer->wire, s);
    writer->argc++;
}

static inline void writer_put_flag(struct verb_writer *writer, bool flag)
{
    writer_put_str(writer, flag ? STR("1") : STR("0"));
}

static inline void writer_put_number(struct verb_writer *writer, uint64_t number, bool is_optional)
{
    if (is_optional && number == NO_NUMBER) {
        writer_put_str(writer, STR(""));
    } else {
        wire_put_u64(writer->wire, number);
        writer->argc++;
    }
}

/* True; a fuzz target sets it to false, since it makes arguments up. */
extern bool verb_is_checked;

/* Aborts if the length of `s` does not match the verb's header or `s` contains a byte of `without`.
 * Callers have validated client input, so this finds wrong headers and callers. Only in test builds
 * (PARLEY_CHECKS), which also check the number of arguments. */
void writer_check(const struct verb_writer *writer, struct str s, size_t min, size_t max,
                  struct str without);

static inline void writer_put_text(struct verb_writer *writer, struct str s, size_t min, size_t max)
{
#ifdef PARLEY_CHECKS
    writer_check(writer, s, min, max, STR(""));
#endif
    writer_put_str(writer, s);
}

/* As buf_put_name writes them. */
static inline void writer_put_name(struct verb_writer *writer, struct str s, size_t min)
{
#ifdef PARLEY_CHECKS
    writer_check(writer, s, min, 512, STR(" \n"));
#endif
    writer_put_str(writer, s);
}

/* A struct that can only be initialised by member names. */
#ifdef __clang__
#define VERB_BY_NAME
#else
#define VERB_BY_NAME __attribute__((designated_init))
#endif

/* The number of arguments of a macro, 1 for none; no verb has more than 24. */
#define VERB_COUNT(...)                                                                            \
    VERB_COUNT_(__VA_ARGS__, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7,  \
                6, 5, 4, 3, 2, 1, 0)
#define VERB_COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, count, \
                    ...)                                                                           \
    count

/* A duplicate member causes a compiler warning, which is an error. */
#define VERB_CHECK(call, n, ...)                                                                   \
    (void)sizeof(struct {                                                                          \
        _Static_assert((sizeof #__VA_ARGS__ == 1 ? 0 : VERB_COUNT(__VA_ARGS__)) == (n), #call      \
                       " takes " #n " arguments, each by its name; a compound literal needs "      \
                       "parentheses");                                                             \
        int unused;                                                                                \
    })

#endif
