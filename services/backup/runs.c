/* SPDX-License-Identifier: MIT
 * runs.c - see units.h: one run of a workflow.
 *
 *   its state and newest question --> its frames, records, answers, ended questions
 *     --> is it still there? --yes--> its state
 *                            --no---> forget
 *
 * Lists only grow and ended questions do not change, so they hold all that the state names. What
 * came later is cut off by restore_run. Ids of runs are never used again: one that is there in the
 * end was not replaced. */
#include "services/backup/units.h"

#include "shared/base/mem.h"

enum {
    STATE_MAX_BYTES = 64 << 20,
    NAME_MAX_BYTES = 4096,
    NAMES_MAX_BYTES = 1 << 20,
    LENGTH_AT = 1, /* where the lengths of the lists begin in the answer */
    ENDED_AT = 4,  /* the steps of its ended questions */
    STATE_AT = 5,  /* the step of its newest question, then pairs */
};

static const char *const lists[] = {"wff:", "wfs:", "wfa:"};
enum { LIST_N = sizeof lists / sizeof *lists };

struct run {
    struct str id;
    struct buf state; /* what the record says of it, as parts */
    struct buf names; /* of the keys that come before it, as parts */
    size_t state_n, name_n;
};

static bool ask(struct units *units, struct str id, bool *ret_is_there)
{
    struct str args[] = {STR("run"), id};
    if (!units_step(units, args, 2))
        return false;
    *ret_is_there = str_eq(units->answer.at[0], STR("ok")) && units->answer.n > STATE_AT;
    return true;
}

static void keep(struct run *run, struct str part)
{
    archive_put_part(&run->state, part);
    run->state_n++;
}

static void name(struct run *run, const char *kind, struct str step)
{
    struct buf name;
    buf_init(&name, NAME_MAX_BYTES);
    buf_put(&name, str_of(kind));
    buf_put(&name, run->id);
    if (step.n > 0) {
        buf_put_char(&name, '.');
        buf_put(&name, step);
    }
    archive_put_part(&run->names, buf_str(&name));
    run->name_n++;
    buf_fini(&name);
}

/* Keeps the answer, and names what belongs to it. */
static void note(struct run *run, const struct blocking_answer *a)
{
    struct str ended = a->at[ENDED_AT], step;
    for (size_t i = 0; i < LIST_N; i++) {
        keep(run, a->at[LENGTH_AT + i]);
        if (!str_eq(a->at[LENGTH_AT + i], STR("0")))
            name(run, lists[i], STR(""));
    }
    while (ended.n > 0 && (step = str_cut(&ended, ' ')).n > 0)
        name(run, "wfq:", step);
    for (size_t i = STATE_AT; i < a->n; i++)
        keep(run, a->at[i]);
}

/* A record of kind `word` of the run: what `from` holds, as parts. */
static bool put_parts(struct units *units, const struct run *run, const char *word,
                      const struct buf *from, size_t n)
{
    struct str *parts = mem_alloc((2 + n) * sizeof *parts), rest = buf_str(from);
    size_t at = 2;
    parts[0] = str_of(word);
    parts[1] = run->id;
    while (at < 2 + n && archive_cut_part(&rest, &parts[at]))
        at++;
    units->answer.n = 0;
    bool is_good = units_put(units, parts, at, 0);
    free(parts);
    return is_good;
}

static enum units_key copy_all(struct units *units, const struct run *run)
{
    struct str rest = buf_str(&run->names), key, head[] = {STR("parts"), run->id};
    enum units_key found = UNITS_KEY_PUT;
    units->answer.n = 0;
    if (!units_put(units, head, 2, 0))
        return UNITS_KEY_FAILED;
    while (found == UNITS_KEY_PUT && archive_cut_part(&rest, &key))
        found = units_copy(units, key, false);
    return found;
}

static bool put_run(struct units *units, struct run *run)
{
    bool is_there;
    enum units_key found = copy_all(units, run);
    if (found == UNITS_KEY_FAILED || !ask(units, run->id, &is_there))
        return false;
    if (found != UNITS_KEY_PUT || !is_there)
        return put_parts(units, run, "forget", &run->names, run->name_n);
    units->tool->key_n++;
    return put_parts(units, run, "run", &run->state, run->state_n);
}

bool units_put_run(struct units *units, struct str id)
{
    struct run run = {.id = id};
    bool is_there, is_good = ask(units, id, &is_there);
    if (!is_good || !is_there)
        return is_good;
    buf_init(&run.state, STATE_MAX_BYTES);
    buf_init(&run.names, NAMES_MAX_BYTES);
    note(&run, &units->answer);
    is_good = run.state.is_over || run.names.is_over
                  ? tool_complain(units->tool, "run %.*s: does not fit", STR_ARG(id))
                  : put_run(units, &run);
    buf_fini(&run.names);
    buf_fini(&run.state);
    return is_good;
}
