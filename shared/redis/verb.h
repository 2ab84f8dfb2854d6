/* SPDX-License-Identifier: MIT
 *
 * verb: what the calls of all verbs have in common. Those of each verb are generated from its
 * header in lua/ (cmake/verbs.pl, docs/adr/0020-verbs-are-declared-once.md):
 *
 *     #include "generated/verbs.h"
 *
 *     call_retry(request_call(r, on_retried), .topic = topic, .seq = seq);
 *
 * An argument that is left out, named twice or misspelt does not compile. A verb with a list is
 * written piece by piece, and nothing else is called meanwhile:
 *
 *     struct verb_writer verb = begin_packs(start, .space = space);
 *     put_packs_pack(&verb, .doc = doc, .generation = generation);
 *     end_verb(&verb);
 *
 * Arguments are copied. What a verb starts on says its `start`: turn_call, turn_forget and
 * request_call collect it for the end of the loop's turn, sync_start calls it at once. A verb that
 * takes a nonce takes that of its start.
 */
#ifndef PARLEY_REDIS_VERB_H
#define PARLEY_REDIS_VERB_H

#include "shared/metrics/metrics.h"
#include "shared/redis/turn.h"
#include "shared/redis/wire.h"

/* For a number that may be missing, and is. */
#define NO_NUMBER UINT64_MAX

struct verb_info {
    unsigned id; /* enum verb */
    struct str name;
    enum turn_lane lane;
    bool takes_nonce;
    unsigned min_argc, max_argc; /* without the nonce; more than one with lists */
};
extern const struct verb_info verb_infos[]; /* by enum verb */
extern const unsigned verb_infos_n;

/* --- for generated code ----------------------------------------------------------------------- */

struct sync_call;

/* A verb that is being written. */
struct verb_writer {
    struct buf *wire;
    struct turn *turn; /* or */
    struct sync_call *sync;
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

/* Aborts when `s` is not of the length that the verb's header states, or holds a byte of `without`.
 * Callers have looked at what clients send, so this finds a header that is wrong, or a caller: in
 * builds for tests (PARLEY_CHECKS), which look at the number of arguments, too. */
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

/* A struct that is filled by its members' names only. */
#ifdef __clang__
#define VERB_BY_NAME
#else
#define VERB_BY_NAME __attribute__((designated_init))
#endif

/* How many arguments a macro was given, which is 1 for none; no verb has more than 24. */
#define VERB_COUNT(...)                                                                            \
    VERB_COUNT_(__VA_ARGS__, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7,  \
                6, 5, 4, 3, 2, 1, 0)
#define VERB_COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, count, \
                    ...)                                                                           \
    count

/* The compilers' warnings, which are errors, refuse a member that is named twice. */
#define VERB_CHECK(call, n, ...)                                                                   \
    (void)sizeof(struct {                                                                          \
        _Static_assert((sizeof #__VA_ARGS__ == 1 ? 0 : VERB_COUNT(__VA_ARGS__)) == (n), #call      \
                       " takes " #n " arguments, each by its name; a compound literal needs "      \
                       "parentheses");                                                             \
        int unused;                                                                                \
    })

#endif
