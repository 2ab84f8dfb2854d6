/* SPDX-License-Identifier: MIT
 * test_indexer_files.c - services/indexer/files.h: names and pages of the files of a folder. */
#include "services/indexer/files.h"
#include "shared/extract/extract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void check_put(void (*put)(struct buf *, struct str), const char *in, const char *out)
{
    struct buf b;
    buf_init(&b, 4096);
    put(&b, str_of(in));
    buf_terminate(&b);
    assert_string_equal(b.at, out);
    buf_fini(&b);
}

static void a_path_is_tidied_by_its_letters_alone(void **state)
{
    static const char *const pairs[][2] = {
        {"docs", "docs"},   {"./docs//a/", "docs/a"}, {".", ""},
        {"", ""},           {"a/../b", "b"},          {"a/b/../../c", "c"},
        {"../a", "../a"},   {"a/../../b", "../b"},    {"../../a", "../../a"},
        {"/", "/"},         {"//srv/./d", "/srv/d"},  {"/..", "/"},
        {"/../a", "/a"},    {"/a/..", "/"},           {"a/..", ""},
        {"../..", "../.."},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        check_put(file_put_tidy, pairs[i][0], pairs[i][1]);
}

static void put_url(struct buf *b, struct str page)
{
    file_put_url(b, STR("https://host/book/"), page);
}

static void a_page_has_an_address_without_its_ending(void **state)
{
    static const char *const pairs[][2] = {
        {"a/b.md", "https://host/book/a/b"},
        {"b.markdown", "https://host/book/b"},
        {"b.HTML", "https://host/book/b"},
        {"a/b.htm", "https://host/book/a/b"},
        {"README.md", "https://host/book/"},
        {"guide/index.html", "https://host/book/guide/"},
        {"guide/Index.xhtml", "https://host/book/guide/"},
        {"guide/readme.markdown", "https://host/book/guide/"},
        {"index.txt", "https://host/book/index.txt"},
        {"index", "https://host/book/index"},
        {"my index.md", "https://host/book/my%20index"},
        {"price list.pdf", "https://host/book/price%20list.pdf"},
        {"\xc3\xa4/100%?#.md", "https://host/book/%C3%A4/100%25%3F%23"},
        {"a.b/c.d.md", "https://host/book/a.b/c.d"},
        {".md", "https://host/book/.md"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        check_put(put_url, pairs[i][0], pairs[i][1]);
}

/* A folder with files, which is the working directory while a test runs. */
static int set_up(void **state)
{
    static const char *const names[] = {"docs/b.md",         "docs/a/README.md", "docs/a/x.PDF",
                                        "docs/.hidden.md",   "docs/.git/c.md",   "docs/image.png",
                                        "docs/sub/deep.txt", "docs2/b.html",     "single.md"};
    static const char *const folders[] = {"docs", "docs/a", "docs/.git", "docs/sub", "docs2"};
    static char folder[] = "/tmp/parley-files-XXXXXX";
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return -1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        mkdir(folders[i], 0700);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        FILE *file = fopen(names[i], "w");
        fputs(names[i], file);
        fclose(file);
    }
    *state = folder;
    return symlink("../docs2", "docs/linked") == 0 && symlink("../single.md", "docs/linked.md") == 0
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", (char *)*state);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static struct files list(size_t n, const char *const *paths)
{
    struct files files = {0};
    char reason[256];
    for (size_t i = 0; i < n; i++)
        assert_true(files_add(&files, paths[i], reason, sizeof reason));
    files_finish(&files);
    return files;
}

static void check_file(const struct file *file, const char *name, const char *page)
{
    assert_string_equal(file->name, name);
    assert_string_equal(file->page, page);
    assert_int_equal(access(file->path, R_OK), 0);
}

static void check_skipped(const struct files *files, const char *name, const char *reason)
{
    for (size_t i = 0; i < files->skipped_n; i++)
        if (strcmp(files->skipped[i].name, name) == 0) {
            assert_string_equal(files->skipped[i].reason, reason);
            return;
        }
    fail_msg("%s was not skipped", name);
}

static void a_folder_gives_its_documents_in_the_order_of_their_names(void **state)
{
    struct files files = list(1, (const char *const[]){"./docs/"});
    assert_int_equal(files.n, 5);
    check_file(&files.at[0], "docs/a/README.md", "a/README.md");
    check_file(&files.at[1], "docs/a/x.PDF", "a/x.PDF");
    check_file(&files.at[2], "docs/b.md", "b.md");
    check_file(&files.at[3], "docs/linked.md", "linked.md");
    check_file(&files.at[4], "docs/sub/deep.txt", "sub/deep.txt");
    check_skipped(&files, "docs/.git", "Hidden files and folders are not read.");
    check_skipped(&files, "docs/.hidden.md", "Hidden files and folders are not read.");
    check_skipped(&files, "docs/image.png", extract_fault_text(EXTRACT_FAULT_KIND_IMAGE));
    check_skipped(&files, "docs/linked", "Links to folders are not followed.");
    assert_int_equal(files.skipped_n, 4);
    assert_true(files.bytes == strlen("docs/a/README.mddocs/a/x.PDFdocs/b.mdsingle.md"
                                      "docs/sub/deep.txt"));
    assert_true(files_have(&files, "docs/b.md"));
    assert_false(files_have(&files, "docs/c.md"));
    files_fini(&files);
}

/* The names that are left with a filter, one after the other. */
static void check_filter(struct file_filter filter, const char *names)
{
    struct files files = {.filter = filter};
    struct buf found;
    char reason[256];
    buf_init(&found, 4096);
    assert_true(files_add(&files, "docs", reason, sizeof reason));
    files_finish(&files);
    for (size_t i = 0; i < files.n; i++)
        buf_printf(&found, "%s ", files.at[i].name);
    buf_terminate(&found);
    assert_string_equal(found.at, names);
    buf_fini(&found);
    files_fini(&files);
}

static void patterns_choose_files_by_their_last_segment_or_their_whole_name(void **state)
{
    check_filter((struct file_filter){.include = "*.txt\n*.PDF"},
                 "docs/a/x.PDF docs/sub/deep.txt ");
    check_filter((struct file_filter){.include = "docs/?.md"}, "docs/b.md ");
    check_filter((struct file_filter){.include = "docs/*.md"},
                 "docs/a/README.md docs/b.md docs/linked.md ");
    check_filter((struct file_filter){.exclude = "a\nlinked*"}, "docs/b.md docs/sub/deep.txt ");
    check_filter((struct file_filter){.exclude = "sub/\n*.PDF"},
                 "docs/a/README.md docs/b.md docs/linked.md ");
    check_filter((struct file_filter){.include = "*.md", .exclude = "docs/a/*"},
                 "docs/b.md docs/linked.md ");
    check_filter((struct file_filter){.include = ""}, "");
    check_filter((struct file_filter){.exclude = "[\n\n"},
                 "docs/a/README.md docs/a/x.PDF docs/b.md docs/linked.md docs/sub/deep.txt ");
}

static void source_code_is_left_out_and_data_is_not(void **state)
{
    static const char *const code[] = {"a.c", "b.PY", "c.d.js", "e.sh", "f.css", "g.patch"};
    static const char *const other[] = {"a.md",   "b.json", "c.yaml", "d.log", "e.csv",
                                        "f.html", "c",      "py",     "g.pdf"};
    for (size_t i = 0; i < sizeof code / sizeof *code; i++)
        assert_true(extract_is_code(str_of(code[i])));
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_false(extract_is_code(str_of(other[i])));
}

static void a_file_given_by_itself_lies_below_the_base(void **state)
{
    struct files files = list(2, (const char *const[]){"docs/sub/deep.txt", "single.md"});
    assert_int_equal(files.n, 2);
    check_file(&files.at[0], "docs/sub/deep.txt", "deep.txt");
    check_file(&files.at[1], "single.md", "single.md");
    files_fini(&files);
}

static void what_is_found_twice_counts_once(void **state)
{
    struct files files = list(3, (const char *const[]){"docs", "docs/sub", "docs/../docs/b.md"});
    assert_int_equal(files.n, 5);
    files_fini(&files);
}

static void names_are_covered_by_the_paths_given_and_by_no_others(void **state)
{
    struct files files = list(2, (const char *const[]){"docs/", "single.md"});
    assert_true(files_cover(&files, "docs/gone.md"));
    assert_true(files_cover(&files, "docs/gone/deep.md"));
    assert_true(files_cover(&files, "single.md"));
    assert_false(files_cover(&files, "docs2/b.html"));
    assert_false(files_cover(&files, "doc"));
    assert_false(files_cover(&files, "other.md"));
    assert_false(files_cover(&files, "/docs/gone.md"));
    files_fini(&files);
    files = list(1, (const char *const[]){"."});
    assert_true(files_cover(&files, "anything/at/all.md"));
    assert_false(files_cover(&files, "/srv/docs/b.md"));
    assert_false(files_cover(&files, "../b.md"));
    files_fini(&files);
}

static void what_is_not_there_or_not_read_says_so(void **state)
{
    static const char *const bad[] = {"nowhere", "docs/nowhere.md", "docs/image.png"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct files files = {0};
        char reason[256] = "";
        assert_false(files_add(&files, bad[i], reason, sizeof reason));
        assert_non_null(strstr(reason, bad[i]));
        files_fini(&files);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_tidied_by_its_letters_alone),
        cmocka_unit_test(a_page_has_an_address_without_its_ending),
        cmocka_unit_test(a_folder_gives_its_documents_in_the_order_of_their_names),
        cmocka_unit_test(patterns_choose_files_by_their_last_segment_or_their_whole_name),
        cmocka_unit_test(source_code_is_left_out_and_data_is_not),
        cmocka_unit_test(a_file_given_by_itself_lies_below_the_base),
        cmocka_unit_test(what_is_found_twice_counts_once),
        cmocka_unit_test(names_are_covered_by_the_paths_given_and_by_no_others),
        cmocka_unit_test(what_is_not_there_or_not_read_says_so),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
