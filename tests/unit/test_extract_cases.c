/* SPDX-License-Identifier: MIT
 * test_extract_cases.c - files of tests/unit/fixtures/documents and the text that is right for
 * each: small ones made by hand, each with one trap, and those of other programs. */
#include "shared/extract/extract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#define FOLDER "tests/unit/fixtures/documents/"

static struct buf bytes, text;

/* The program lies beside its tests. */
static int set_up(void **state)
{
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
    if (n <= 0)
        return -1;
    path[n] = 0;
    strcpy(strrchr(path, '/'), "/parley");
    extract_set_program(path);
    buf_init(&bytes, EXTRACT_FILE_MAX_BYTES);
    buf_init(&text, EXTRACT_TEXT_MAX_BYTES);
    return access(path, X_OK);
}

static int tear_down(void **state)
{
    buf_fini(&bytes);
    buf_fini(&text);
    return 0;
}

static void read_file(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, FOLDER "%s", name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail_msg("no file %s", path);
    buf_clear(&bytes);
    char *at = buf_reserve(&bytes, 1 << 20);
    assert_non_null(at);
    bytes.n = fread(at, 1, 1 << 20, file);
    fclose(file);
}

static const struct {
    const char *name, *right;
    enum extract_fault fault;
} cases[] = {
    {"docx-alt-text.docx", "Set it to position 3.", 0},
    {"docx-chart.docx", "Sales by year\n\nPumps 2021 4711", 0},
    {"docx-checkbox.docx", "☒ Oil changed\n\n☒ Filter changed", 0},
    {"docx-chinese-heading-id.docx", "## 制动器\n\n压力为40巴。", 0},
    {"docx-column-span.docx", "Type | min | max\nA and B | A and B | 20\n\nEnd", 0},
    {"docx-comment.docx", "The pump runs at 40 bar.", 0},
    {"docx-doctype.docx", "", EXTRACT_FAULT_BROKEN},
    {"docx-drop-cap.docx", "Pumps run at 40 bar.", 0},
    {"docx-empty-last-cell.docx", "Type | Pressure\nA | \n | 20\n\nEnd", 0},
    {"docx-footnote-marks.docx",
     "The pump runs daily.[1] It holds 40 bar.[2]\n\nOil lasts 90 hours.\n\n"
     "[1] Except in winter.\n\n[2] At 20 degrees.",
     0},
    {"docx-fraction.docx", "Pressure p=12/5·10^3", 0},
    {"docx-header-only.docx", "Contract 4711", 0},
    {"docx-list-by-style.docx", "- Open the lid.\n- Drain the oil.", 0},
    {"docx-main-part-elsewhere.docx", "The pump runs at 40 bar.", 0},
    {"docx-nested-table.docx", "Outer A | 40; B | 50\n\nEnd", 0},
    {"docx-num-zero.docx", "Not a list item.", 0},
    {"docx-numbered-clauses.docx",
     "1. Delivery\n1.1 The seller pays the freight.\n1.2 The buyer unloads.\n2. Payment\n"
     "2.1 As clause 1.2 says, cash.",
     0},
    {"docx-page-field.docx", "See page 7", 0},
    {"docx-power-of-ten.docx", "The tank holds 10^6 cells, x_12 dead.", 0},
    {"docx-ruby.docx", "水(みず)を", 0},
    {"docx-smartart.docx", "How to start\n\nOpen the lid", 0},
    {"docx-strict-equation.docx", "Pressure: p=40", 0},
    {"docx-style-hidden.docx", "Seen. Hidden by style.", 0},
    {"docx-textbox-in-middle.docx", "Before\n\nBox: 40 bar\nafter.", 0},
    {"docx-tracked.docx", "It runs at 40 bar.", 0},
    {"docx-utf16-part.docx", "The pump runs at 40 bar.", 0},
    /* Written by pandoc 2.17. */
    {"pandoc.docx",
     "# Pump manual\n\nThe pump[1] runs at 40 bar and p=F/A, x^2+y_1.\n\n## Steps\n\n"
     "1. Open the lid\n2. Drain the oil\na) left valve\nb) right valve\n3. Close\n- bullet one\n"
     "- bullet two\n- inner\n\nType | bar\nA | 10\nB | 20\n\nTerm\n\nDefinition of term\n\n"
     "quote\n\ncode line 1\ncode line 2\n\nH_2O and 10^6 a picture of a pump\n\n[1] A footnote.",
     0},
};

static void every_file_gives_what_it_says(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        read_file(cases[i].name);
        struct text_pages pages = {0};
        buf_clear(&text);
        enum extract_kind kind = extract_kind_of(str_of(cases[i].name));
        enum extract_fault fault = extract_sniff(kind, buf_str(&bytes));
        if (fault == EXTRACT_FAULT_NONE)
            fault = extract_text(kind, buf_str(&bytes), NULL, &text, &pages);
        buf_terminate(&text);
        text_pages_fini(&pages);
        if (fault != cases[i].fault)
            fail_msg("%s: '%s'", cases[i].name, extract_fault_text(fault));
        if (fault == EXTRACT_FAULT_NONE && strcmp(text.at, cases[i].right) != 0)
            fail_msg("%s:\n%s\nright is:\n%s", cases[i].name, text.at, cases[i].right);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_file_gives_what_it_says)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
