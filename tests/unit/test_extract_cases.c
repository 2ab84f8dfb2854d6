/* SPDX-License-Identifier: MIT
 * test_extract_cases.c - files and the text that is right for each: small ones made by hand, each
 * with one trap (fixtures/documents), and those of other programs (fixtures/made), which have their
 * text beside them: pump.docx and pump.docx.right. */
#include "tests/unit/extract_fixture.h"

#include <dirent.h>

enum { RIGHT_MAX_BYTES = 16384, MADE_MIN = 40 };

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
    {"text-bracket-numbers.txt",
     "Bees are insects. A male bee is called a drone, the female one is called a "
     "worker.[3][4]\n",
     0},
    /* Kept as they are; the search folds them (shared/text/fold.h). */
    {"text-soft-hyphen-and-zero-width.txt",
     "The main\u00adten\u00adance costs 41 coins.\nThe cata\u200blogue costs 42 coins.\n"
     "The aﬃliate costs 43 coins.\nThe ＰＸ－９０ costs 44 coins.\n",
     0},
};

static void every_file_gives_what_it_says(void **state)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        char path[256];
        snprintf(path, sizeof path, "documents/%s", cases[i].name);
        enum extract_kind kind = extract_kind_of(str_of(path));
        if (cases[i].fault == EXTRACT_FAULT_NONE)
            expect_of(path, kind, read_fixture(path), cases[i].right);
        else
            expect_fault(kind, read_fixture(path), cases[i].fault);
    }
}

static void files_of_other_programs_give_what_is_beside_them(void **state)
{
    static char right[RIGHT_MAX_BYTES];
    struct dirent **files;
    int n = scandir("tests/unit/fixtures/made", &files, NULL, alphasort), read_n = 0;
    for (int i = 0; i < n; i++) {
        char path[512];
        snprintf(path, sizeof path, "made/%s", files[i]->d_name);
        char *end = strstr(path, ".right");
        if (end != NULL) {
            snprintf(right, sizeof right, "%.*s", STR_ARG(read_fixture(path)));
            *end = 0;
            expect_of(path, extract_kind_of(str_of(path)), read_fixture(path), right);
            read_n++;
        }
        free(files[i]);
    }
    free(files);
    assert_true(read_n >= MADE_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_gives_what_it_says),
        cmocka_unit_test(files_of_other_programs_give_what_is_beside_them),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
