/* SPDX-License-Identifier: MIT
 * test_corpus.c - the corpus and its index file. */
#include "shared/base/log.h"
#include "shared/corpus/corpus.h"
#include "shared/extract/extract.h"

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

static struct corpus *build(void)
{
    struct corpus_settings settings = {
        .folder = folder, .index_path = index_path, .embedder = embedder};
    return corpus_build(&settings);
}

/* The text of a document; NULL when there is none. */
static const char *text_of(const struct corpus *corpus, const char *name)
{
    static char text[4096];
    const struct corpus_document *found = corpus_find(corpus, str_of(name));
    if (found == NULL)
        return NULL;
    snprintf(text, sizeof text, "%.*s", STR_ARG(found->document->text));
    return text;
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
    struct corpus *first = build();
    assert_non_null(first);
    assert_int_equal(first->n, 3);
    assert_non_null(text_of(first, "lease.md"));
    assert_string_equal(text_of(first, "inner/page.html"), "# No\n\nTom & Jerry!");
    assert_string_equal(text_of(first, "latin.txt"), "caf\xc3\xa9 and\nmore");
    const char *reason;
    struct corpus *kept = corpus_load(index_path, &reason);
    assert_non_null(kept);
    assert_int_equal(kept->n, first->n);
    assert_string_equal(kept->model, embedder->name);
    for (uint32_t i = 0; i < kept->n; i++) {
        struct str packs[] = {kept->documents[i].document->pack.bytes,
                              first->documents[i].document->pack.bytes};
        assert_true(str_eq(packs[0], packs[1]));
    }
    const struct rag_document *lease = corpus_find(kept, STR("lease.md"))->document;
    assert_int_equal(lease->pack.dimension, EMBED_HASH_DIMENSION);
    assert_true(str_eq(lease->title_json, STR("\"lease.md\"")));
    assert_true(rag_document_passage(lease, 0).n > 10);
    corpus_destroy(kept);
    corpus_destroy(first);
}

static void only_what_changed_is_read_again(void **state)
{
    struct stat before, after;
    corpus_destroy(build());
    assert_int_equal(stat(index_path, &before), 0);
    corpus_destroy(build());
    assert_int_equal(stat(index_path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino); /* nothing new: not written again */
    write_text("lease.md", "# Leases\n\nA lease is 200 seconds long.\n");
    write_text("new.txt", "A new document.");
    char gone[256];
    snprintf(gone, sizeof gone, "%s/latin.txt", folder);
    assert_int_equal(unlink(gone), 0);
    struct corpus *corpus = build();
    assert_non_null(corpus);
    assert_int_equal(corpus->n, 3);
    assert_non_null(strstr(text_of(corpus, "lease.md"), "200"));
    assert_non_null(text_of(corpus, "new.txt"));
    assert_null(text_of(corpus, "latin.txt"));
    corpus_destroy(corpus);
}

/* Counts what is embedded, on behalf of the built-in embedder. */
static size_t embedded_n;
static bool count_texts(struct embedder *self, const struct str *texts, size_t n,
                        const atomic_bool *is_stopping, float **ret_vectors,
                        uint32_t *ret_dimension, struct embed_reason *ret_reason)
{
    embedded_n += n;
    return embedder->ops->embed(embedder, texts, n, is_stopping, ret_vectors, ret_dimension,
                                ret_reason);
}

static void only_what_changed_is_embedded_again(void **state)
{
    static const struct embedder_ops ops = {.embed = count_texts};
    struct embedder counting = {.ops = &ops, .name = embedder->name};
    struct corpus_settings settings = {
        .folder = folder, .index_path = index_path, .embedder = &counting};
    char *text = malloc(40000);
    assert_non_null(text);
    for (size_t i = 0; i < 40000; i++)
        text[i] = i % 8 == 7 ? ' ' : (char)('a' + i % 23);
    write_file("long.txt", text, 40000);
    free(text);
    embedded_n = 0;
    struct corpus *corpus = corpus_build(&settings);
    assert_non_null(corpus);
    size_t long_n = corpus_find(corpus, STR("long.txt"))->document->pack.chunk_n;
    assert_true(long_n > 30);
    assert_int_equal(embedded_n, long_n);
    corpus_destroy(corpus);
    write_text("new.txt", "A newer document.");
    corpus = corpus_build(&settings);
    assert_non_null(corpus);
    assert_int_equal(embedded_n, long_n + 1);
    for (uint32_t i = 1; i < corpus->n; i++)
        assert_true(str_compare(corpus->documents[i - 1].document->id,
                                corpus->documents[i].document->id) < 0);
    corpus_destroy(corpus);
    char gone[256];
    snprintf(gone, sizeof gone, "%s/long.txt", folder);
    assert_int_equal(unlink(gone), 0);
    corpus_destroy(build());
}

static void a_damaged_index_is_rebuilt(void **state)
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
        struct corpus *corpus = build();
        assert_non_null(corpus);
        assert_int_equal(corpus->n, 3);
        corpus_destroy(corpus);
    }
    assert_int_equal(truncate(index_path, 10), 0);
    assert_null(corpus_load(index_path, &reason));
    assert_int_equal(unlink(index_path), 0);
    assert_null(corpus_load(index_path, &reason));
    assert_string_equal(reason, "none");
}

static void an_index_of_another_model_is_rebuilt(void **state)
{
    corpus_destroy(build());
    const char *reason, *name = embedder->name;
    embedder->name = "another-model";
    struct corpus *corpus = build();
    embedder->name = name;
    assert_non_null(corpus);
    corpus_destroy(corpus);
    corpus = corpus_load(index_path, &reason);
    assert_non_null(corpus);
    assert_string_equal(corpus->model, "another-model");
    corpus_destroy(corpus);
}

static void what_earlier_readers_have_read_is_read_again(void **state)
{
    static const struct embedder_ops ops = {.embed = count_texts};
    struct embedder counting = {.ops = &ops, .name = embedder->name};
    struct corpus_settings settings = {
        .folder = folder, .index_path = index_path, .embedder = &counting};
    struct corpus *corpus = build();
    assert_non_null(corpus);
    assert_true(corpus->n > 1);
    assert_int_equal(corpus->documents[0].readers, extract_readers_version(EXTRACT_HTML));
    corpus->documents[0].readers--;
    assert_true(corpus_save(corpus, index_path));
    uint32_t chunk_n = corpus->documents[0].document->pack.chunk_n;
    corpus_destroy(corpus);
    for (size_t expected = chunk_n, i = 0; i < 2; i++, expected = 0) {
        embedded_n = 0;
        corpus = corpus_build(&settings);
        assert_non_null(corpus);
        assert_int_equal(embedded_n, expected);
        assert_int_equal(corpus->documents[0].readers, extract_readers_version(EXTRACT_HTML));
        corpus_destroy(corpus);
    }
}

static void an_index_of_another_version_is_rebuilt(void **state)
{
    const char *reason;
    corpus_destroy(build());
    FILE *file = fopen(index_path, "r+");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size_t n = (size_t)ftell(file);
    char *bytes = malloc(n);
    assert_non_null(bytes);
    fseek(file, 0, SEEK_SET);
    assert_int_equal(fread(bytes, 1, n, file), n);
    fclose(file);
    bytes[8]++; /* PACK_VERSION, after the magic number */
    assert_null(corpus_parse((struct str){bytes, n - CORPUS_SHA_BYTES}, &reason));
    assert_string_equal(reason, "made by another version of Parley");
    bytes[8]--;
    bytes[7]--; /* as PARLEYR4 */
    assert_null(corpus_parse((struct str){bytes, n - CORPUS_SHA_BYTES}, &reason));
    assert_string_equal(reason, "made by another version of Parley");
    free(bytes);
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
        cmocka_unit_test(only_what_changed_is_embedded_again),
        cmocka_unit_test(a_damaged_index_is_rebuilt),
        cmocka_unit_test(an_index_of_another_model_is_rebuilt),
        cmocka_unit_test(what_earlier_readers_have_read_is_read_again),
        cmocka_unit_test(an_index_of_another_version_is_rebuilt),
        cmocka_unit_test(a_missing_folder_is_an_error),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
