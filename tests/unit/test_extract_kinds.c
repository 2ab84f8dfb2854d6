/* SPDX-License-Identifier: MIT
 * test_extract_kinds.c - kinds of faults, each with at least ten documents and the text that is
 * right for them (fixtures/kinds). One test per kind; a wrong document does not hide the next. */
#include "shared/text/fold.h"
#include "shared/text/marks.h"
#include "tests/unit/kinds_fixture.h"

#include <dirent.h>
#include <unicode/utf8.h>

enum { KINDS_MIN = 69, CASES_MIN = 10, KINDS_MAX = 128, PATH_MAX_BYTES = 512 };

#define KINDS "tests/unit/fixtures/kinds"

struct kind {
    char name[PATH_MAX_BYTES];
    unsigned case_n, wrong_n;
};

static struct kind kinds[KINDS_MAX];
static size_t kind_n;

static void put_utf8(struct buf *out, uint32_t code)
{
    char at[U8_MAX_LENGTH];
    size_t n = 0;
    U8_APPEND_UNSAFE(at, n, code);
    buf_put(out, (struct str){at, n});
}

/* The text as the search compares it. */
static void fold_text(void)
{
    struct buf folded;
    struct folded one;
    buf_init(&folded, EXTRACT_TEXT_MAX_BYTES);
    for (struct str s = buf_str(&text); s.n > 0;) {
        size_t n = fold_next(s, &one);
        for (unsigned i = 0; i < one.n; i++)
            put_utf8(&folded, one.at[i]);
        s = (struct str){s.at + n, s.n - n};
    }
    buf_fini(&text);
    text = folded;
    buf_terminate(&text);
}

/* The text as an answer quotes it. */
static void quote_text(void)
{
    struct buf quoted;
    buf_init(&quoted, EXTRACT_TEXT_MAX_BYTES);
    marks_put_quoted(&quoted, buf_str(&text));
    buf_fini(&text);
    text = quoted;
    buf_terminate(&text);
}

static const char *fault_named(const char *name)
{
#define X(word, sentence)                                                                          \
    if (strcmp(name, #word) == 0)                                                                  \
        return sentence;
    EXTRACT_FAULTS(X)
#undef X
    fail_msg("no fault %s", name);
    return NULL;
}

static void check(struct kind *kind, struct str name, const char *got, struct str right)
{
    kind->case_n++;
    if (str_eq(str_trim(str_of(got)), str_trim(right)))
        return;
    kind->wrong_n++;
    print_error("%s: %.*s:\n%s\nright is:\n%.*s\n\n", kind->name, STR_ARG(name), got,
                STR_ARG(right));
}

/* ---- written here ---- */

static enum extract_kind kind_of_case(const struct kind *kind, const struct kind_case *from)
{
    char ending[CASE_OPTION_MAX_BYTES], name[CASE_OPTION_MAX_BYTES + 2];
    if (!case_option(from, "as", ending))
        snprintf(ending, sizeof ending, "%.*s", (int)strcspn(kind->name, "-"), kind->name);
    snprintf(name, sizeof name, "x.%s", strcmp(ending, "text") == 0 ? "txt" : ending);
    return extract_kind_of(str_of(name));
}

static void check_case(struct kind *kind, const struct kind_case *from)
{
    char option[CASE_OPTION_MAX_BYTES];
    struct buf bytes;
    enum extract_kind format = kind_of_case(kind, from);
    buf_init(&bytes, EXTRACT_FILE_MAX_BYTES);
    case_put(&bytes, from, format);
    enum extract_fault fault = extract(format, buf_str(&bytes));
    buf_fini(&bytes);
    if (case_option(from, "fault", option)) {
        check(kind, from->name, extract_fault_text(fault), str_of(fault_named(option)));
        return;
    }
    if (case_option(from, "folded", option))
        fold_text();
    if (case_option(from, "quoted", option))
        quote_text();
    check(kind, from->name, fault == EXTRACT_FAULT_NONE ? text.at : extract_fault_text(fault),
          from->right);
}

static void check_cases(struct kind *kind)
{
    char path[PATH_MAX_BYTES + 32];
    struct kind_case one;
    struct buf all;
    snprintf(path, sizeof path, "kinds/%s.cases", kind->name);
    buf_init(&all, CASE_MAX_BYTES);
    buf_put(&all, read_fixture(path));
    for (struct str rest = buf_str(&all); case_next(&rest, &one);)
        check_case(kind, &one);
    buf_fini(&all);
}

/* ---- files of other programs ---- */

static void check_file(struct kind *kind, const char *name)
{
    char path[PATH_MAX_BYTES * 2 + 32];
    struct buf right;
    buf_init(&right, CASE_MAX_BYTES);
    snprintf(path, sizeof path, "kinds/%s/%s", kind->name, name);
    buf_put(&right, read_fixture(path));
    *strstr(path, ".right") = 0;
    enum extract_fault fault = extract(extract_kind_of(str_of(path)), read_fixture(path));
    check(kind, str_of(path), fault == EXTRACT_FAULT_NONE ? text.at : extract_fault_text(fault),
          buf_str(&right));
    buf_fini(&right);
}

static int has_right(const struct dirent *file)
{
    return strstr(file->d_name, ".right") != NULL;
}

static void check_folder(struct kind *kind)
{
    char path[PATH_MAX_BYTES + 64];
    struct dirent **files;
    snprintf(path, sizeof path, KINDS "/%s", kind->name);
    int n = scandir(path, &files, has_right, alphasort);
    for (int i = 0; i < n; i++) {
        check_file(kind, files[i]->d_name);
        free(files[i]);
    }
    if (n >= 0)
        free(files);
}

/* ---- kinds ---- */

static void ten_documents_and_more_say_what_is_right(void **state)
{
    struct kind *kind = *state;
    char path[PATH_MAX_BYTES + 64];
    snprintf(path, sizeof path, KINDS "/%s.cases", kind->name);
    if (access(path, R_OK) == 0)
        check_cases(kind);
    check_folder(kind);
    if (kind->wrong_n > 0)
        fail_msg("%u of %u are read wrongly", kind->wrong_n, kind->case_n);
    if (kind->case_n < CASES_MIN)
        fail_msg("only %u documents", kind->case_n);
}

static void find_kinds(void)
{
    struct dirent **files;
    int n = scandir(KINDS, &files, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        struct kind *last = &kinds[kind_n > 0 ? kind_n - 1 : 0];
        size_t name_n = strcspn(files[i]->d_name, ".");
        bool is_last = kind_n > 0 && strlen(last->name) == name_n &&
                       strncmp(last->name, files[i]->d_name, name_n) == 0;
        if (name_n > 0 && strcmp(files[i]->d_name, "README.md") != 0 && !is_last &&
            kind_n < KINDS_MAX)
            snprintf(kinds[kind_n++].name, PATH_MAX_BYTES, "%.*s", (int)name_n, files[i]->d_name);
        free(files[i]);
    }
    if (n >= 0)
        free(files);
}

static void no_kind_is_missing(void **state)
{
    assert_true(kind_n >= KINDS_MIN);
}

int main(void)
{
    struct CMUnitTest tests[KINDS_MAX + 1] = {cmocka_unit_test(no_kind_is_missing)};
    find_kinds();
    for (size_t i = 0; i < kind_n; i++)
        tests[i + 1] = (struct CMUnitTest){kinds[i].name, ten_documents_and_more_say_what_is_right,
                                           NULL, NULL, &kinds[i]};
    return _cmocka_run_group_tests("kinds", tests, kind_n + 1, set_up_alone, tear_down);
}
