/* SPDX-License-Identifier: MIT
 * test_rag_corpus.c - the corpus and its index file. */
#include "shared/base/log.h"
#include "shared/rag/corpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/parley-corpus-XXXXXX";
static char *index_path;
static struct embedder *embedder;

static void write_file(const char *name, const char *text, size_t n)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    fclose(file);
}

static void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

static int set_up(void **state)
{
    log_setup(LOG_LEVEL_NR, false);
    embedder = embed_create_hash();
    if (mkdtemp(folder) == NULL || asprintf(&index_path, "%s/.index", folder) < 0)
        return -1;
    char inner[256];
    snprintf(inner, sizeof inner, "%s/inner", folder);
    return mkdir(inner, 0700);
}

static int tear_down(void **state)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    free(index_path);
    embed_destroy(embedder);
    return system(command);
}

static struct passages *build(void)
{
    struct corpus_settings settings = {
        .folder = folder, .index_path = index_path, .embedder = embedder};
    return corpus_build(&settings);
}

static const struct passage_document *find(const struct passages *set, const char *name)
{
    for (uint32_t i = 0; i < set->document_n; i++)
        if (strcmp(set->documents[i].name, name) == 0)
            return &set->documents[i];
    return NULL;
}

static void a_folder_becomes_passages_and_stays_on_disk(void **state)
{
    write_text("lease.md", "# Leases\n\nA lease is 150 seconds long.\n");
    write_text("inner/page.html",
               "<html><head><title>No</title><style>p{}</style></head><body>"
               "<p>Tom &amp; Jerry&#33;</p><script>bad()</script></body></html>");
    write_text("skipped.bin", "not a document");
    write_text(".hidden.md", "hidden");
    write_text("empty.txt", "  \n");
    write_file("latin.txt", "caf\xe9 \0and\r\nmore", 15);
    struct passages *first = build();
    assert_non_null(first);
    assert_int_equal(first->document_n, 3);
    assert_non_null(find(first, "lease.md"));
    assert_string_equal(find(first, "inner/page.html")->text, "No\n\nTom & Jerry!");
    assert_string_equal(find(first, "latin.txt")->text, "caf\xef\xbf\xbd and\nmore");
    const char *reason;
    struct passages *kept = corpus_load(index_path, &reason);
    assert_non_null(kept);
    assert_int_equal(kept->n, first->n);
    assert_string_equal(kept->model, embedder->name);
    assert_memory_equal(kept->vectors, first->vectors,
                        (size_t)first->n * first->dimension * sizeof(float));
    passages_destroy(kept);
    passages_destroy(first);
}

static void only_what_changed_is_read_again(void **state)
{
    struct stat before, after;
    passages_destroy(build());
    assert_int_equal(stat(index_path, &before), 0);
    passages_destroy(build());
    assert_int_equal(stat(index_path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino); /* nothing new: not written again */
    write_text("lease.md", "# Leases\n\nA lease is 200 seconds long.\n");
    write_text("new.txt", "A new document.");
    char gone[256];
    snprintf(gone, sizeof gone, "%s/latin.txt", folder);
    assert_int_equal(unlink(gone), 0);
    struct passages *set = build();
    assert_non_null(set);
    assert_int_equal(set->document_n, 3);
    assert_non_null(strstr(find(set, "lease.md")->text, "200"));
    assert_non_null(find(set, "new.txt"));
    assert_null(find(set, "latin.txt"));
    passages_destroy(set);
}

static void a_damaged_index_is_made_anew(void **state)
{
    struct stat info;
    const char *reason;
    assert_int_equal(stat(index_path, &info), 0);
    for (off_t at = 3; at < info.st_size; at += info.st_size / 7) {
        FILE *file = fopen(index_path, "r+");
        assert_non_null(file);
        fseek(file, at, SEEK_SET);
        int byte = fgetc(file);
        fseek(file, at, SEEK_SET);
        fputc(byte ^ 0x55, file);
        fclose(file);
        assert_null(corpus_load(index_path, &reason));
        assert_string_equal(reason, "damaged");
        struct passages *set = build();
        assert_non_null(set);
        assert_int_equal(set->document_n, 3);
        passages_destroy(set);
    }
    assert_int_equal(truncate(index_path, 10), 0);
    assert_null(corpus_load(index_path, &reason));
    assert_int_equal(unlink(index_path), 0);
    assert_null(corpus_load(index_path, &reason));
    assert_string_equal(reason, "none");
}

static void an_index_of_another_model_is_made_anew(void **state)
{
    passages_destroy(build());
    const char *reason, *name = embedder->name;
    embedder->name = "another-model";
    struct passages *set = build();
    embedder->name = name;
    assert_non_null(set);
    passages_destroy(set);
    set = corpus_load(index_path, &reason);
    assert_non_null(set);
    assert_string_equal(set->model, "another-model");
    passages_destroy(set);
}

static void a_missing_folder_is_an_error(void **state)
{
    struct corpus_settings settings = {.folder = "/nonexistent/corpus", .embedder = embedder};
    assert_null(corpus_build(&settings));
    atomic_bool is_stopping = true;
    struct corpus_settings stopped = {
        .folder = folder, .embedder = embedder, .is_stopping = &is_stopping};
    assert_null(corpus_build(&stopped));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_becomes_passages_and_stays_on_disk),
        cmocka_unit_test(only_what_changed_is_read_again),
        cmocka_unit_test(a_damaged_index_is_made_anew),
        cmocka_unit_test(an_index_of_another_model_is_made_anew),
        cmocka_unit_test(a_missing_folder_is_an_error),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
