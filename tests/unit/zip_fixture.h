/* SPDX-License-Identifier: MIT
 * zip_fixture.h - zip files of parts, written by libzip into a buf. */
#ifndef PARLEY_TESTS_UNIT_ZIP_FIXTURE_H
#define PARLEY_TESTS_UNIT_ZIP_FIXTURE_H

#include "shared/base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <zip.h>

#include <cmocka.h>

struct entry {
    const char *name;
    struct str bytes;
};

static void put_zip(struct buf *docx, const struct entry *entries, size_t n)
{
    zip_error_t error;
    zip_stat_t info;
    zip_error_init(&error);
    zip_source_t *target = zip_source_buffer_create(NULL, 0, 0, &error);
    assert_non_null(target);
    zip_t *zip = zip_open_from_source(target, ZIP_TRUNCATE, &error);
    assert_non_null(zip);
    zip_source_keep(target);
    for (size_t i = 0; i < n; i++) {
        zip_source_t *source = zip_source_buffer(zip, entries[i].bytes.at, entries[i].bytes.n, 0);
        assert_non_null(source);
        assert_true(zip_file_add(zip, entries[i].name, source, ZIP_FL_ENC_UTF_8) >= 0);
    }
    assert_int_equal(zip_close(zip), 0);
    assert_int_equal(zip_source_open(target), 0);
    assert_int_equal(zip_source_stat(target, &info), 0);
    char *at = buf_reserve(docx, (size_t)info.size);
    assert_non_null(at);
    assert_int_equal(zip_source_read(target, at, info.size), (zip_int64_t)info.size);
    docx->n += (size_t)info.size;
    zip_source_close(target);
    zip_source_free(target);
    zip_error_fini(&error);
}

#endif
