/* SPDX-License-Identifier: MIT
 *
 * trees_fixture: reads workflow files (services/workflow/trees/trees.h) for tests, and the parts
 * that most of them are made of.
 */
#ifndef PARLEY_TESTS_TREES_FIXTURE_H
#define PARLEY_TESTS_TREES_FIXTURE_H

#include "services/workflow/trees/trees.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct trees_faults faults;

static inline struct trees *read_good(const char *text)
{
    struct trees *trees = trees_read(str_of(text), &faults);
    if (trees == NULL)
        fail_msg("line %zu: %s", faults.list[0].line, faults.list[0].reason);
    assert_int_equal(faults.n, 0);
    return trees;
}

static inline void assert_str(struct str s, const char *expected)
{
    assert_int_equal(s.n, strlen(expected));
    assert_memory_equal(s.at, expected, s.n);
}

#define AGENT_A "  model.a: {kind: model, prompt: p}\n"
#define AGENT_B "  model.b: {kind: model, prompt: p}\n"
#define SMALL "WORKFLOWS:\n  V:\n    model.a: {yes: null, no: sendMessageToChat}\n"

#endif
