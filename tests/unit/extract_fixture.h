/* SPDX-License-Identifier: MIT
 *
 * extract_fixture: reads documents as Parley does (shared/extract/extract.h) and compares their
 * text. With set_up the readers run in a child of the program that lies beside the tests, with
 * set_up_alone in this process, which is faster.
 */
#ifndef PARLEY_TESTS_EXTRACT_FIXTURE_H
#define PARLEY_TESTS_EXTRACT_FIXTURE_H

#include "shared/extract/extract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

static struct buf text, fixture; /* of the last document, and of the last file */
static struct text_pages paged;

static inline int set_up_alone(void **state)
{
    (void)state;
    buf_init(&text, EXTRACT_TEXT_MAX_BYTES);
    buf_init(&fixture, EXTRACT_FILE_MAX_BYTES);
    return 0;
}

static inline bool use_program(void)
{
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
    if (n <= 0)
        return false;
    path[n] = 0;
    strcpy(strrchr(path, '/'), "/parley");
    extract_set_program(path);
    return access(path, X_OK) == 0;
}

static inline int set_up(void **state)
{
    set_up_alone(state);
    return use_program() ? 0 : -1;
}

static inline int tear_down(void **state)
{
    (void)state;
    buf_fini(&text);
    buf_fini(&fixture);
    text_pages_fini(&paged);
    return 0;
}

/* A file of tests/unit/fixtures, valid until the next one is read. */
static inline struct str read_fixture(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "tests/unit/fixtures/%s", name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail_msg("no file %s", path);
    buf_clear(&fixture);
    char *at = buf_reserve(&fixture, 1 << 20);
    assert_non_null(at);
    fixture.n = fread(at, 1, 1 << 20, file);
    fclose(file);
    return buf_str(&fixture);
}

static inline enum extract_fault extract(enum extract_kind kind, struct str bytes)
{
    buf_clear(&text);
    text_pages_fini(&paged);
    enum extract_fault fault = extract_sniff(kind, bytes);
    if (fault == EXTRACT_FAULT_NONE)
        fault = extract_text(kind, bytes, NULL, &text, &paged);
    buf_terminate(&text);
    return fault;
}

/* `what` names the document where its bytes do not. */
static inline void expect_of(const char *what, enum extract_kind kind, struct str bytes,
                             const char *expected)
{
    enum extract_fault fault = extract(kind, bytes);
    if (fault != EXTRACT_FAULT_NONE)
        fail_msg("%s: '%s' instead of:\n%s", what, extract_fault_text(fault), expected);
    if (strcmp(text.at, expected) != 0)
        fail_msg("%s:\n%s\nright is:\n%s", what, text.at, expected);
}

static inline void expect(enum extract_kind kind, struct str bytes, const char *expected)
{
    expect_of(extract_kind_name(kind), kind, bytes, expected);
}

static inline void expect_fault(enum extract_kind kind, struct str bytes,
                                enum extract_fault expected)
{
    assert_string_equal(extract_fault_text(extract(kind, bytes)), extract_fault_text(expected));
}

#endif
