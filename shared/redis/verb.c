/* SPDX-License-Identifier: MIT
 * verb.c - see verb.h. */
#include "shared/redis/verb.h"

#include "shared/redis/blocking_internal.h"
#include "shared/redis/turn_internal.h"

#include <stdio.h>
#include <stdlib.h>

bool verb_is_checked = true;

/* The header, or its caller, is wrong. */
static void give_up(const struct verb_writer *writer, const char *what, size_t n)
{
    fprintf(stderr, "parley: verb %.*s, after %llu %s: %zu %s\n", STR_ARG(writer->verb->name),
            COUNTED(writer->argc, "argument"), n, what);
    abort();
}

struct verb_writer writer_begin(struct call_start start, const struct verb_info *verb)
{
    struct verb_writer writer = {.turn = start.turn, .blocking = start.blocking, .verb = verb};
    if (start.turn == NULL && start.blocking == NULL)
        give_up(&writer, "turns were given, but the caller has to choose one", 0);
    if (start.blocking != NULL)
        writer.wire = blocking_verb_begin(start.blocking, verb);
    else
        writer.wire = turn_begin_verb(start, verb);
    return writer;
}

void end_verb(struct verb_writer *writer)
{
#ifdef PARLEY_CHECKS
    bool fits = writer->argc >= writer->verb->min_argc && writer->argc <= writer->verb->max_argc;
    if (!fits && verb_is_checked)
        give_up(writer, "arguments do not match its header", writer->argc);
#endif
    if (writer->blocking != NULL)
        blocking_verb_end(writer->blocking, writer->argc);
    else
        turn_end_verb(writer->turn, writer->argc);
}

void writer_check(const struct verb_writer *writer, struct str s, size_t min, size_t max,
                  struct str without)
{
    if (!verb_is_checked)
        return;
    if (s.n < min || s.n > max)
        give_up(writer, "bytes do not match its header", s.n);
    for (size_t i = 0; i < without.n && s.n > 0; i++)
        if (memchr(s.at, without.at[i], s.n) != NULL)
            give_up(writer, "bytes are not a name", s.n);
}
