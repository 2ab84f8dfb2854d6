/* SPDX-License-Identifier: MIT
 *
 * zip_fixture: zip files of parts, written by libzip into a buf. For tests and for fuzz targets: it
 * aborts where it cannot write.
 */
#ifndef PARLEY_TESTS_UNIT_ZIP_FIXTURE_H
#define PARLEY_TESTS_UNIT_ZIP_FIXTURE_H

#include "shared/base/buf.h"

#include <stdlib.h>
#include <zip.h>

struct entry {
    const char *name;
    struct str bytes;
};

static inline void zip_must(bool is_good)
{
    if (!is_good)
        abort();
}

static inline void put_zip(struct buf *out, const struct entry *entries, size_t n)
{
    zip_error_t error;
    zip_stat_t info;
    zip_error_init(&error);
    zip_source_t *target = zip_source_buffer_create(NULL, 0, 0, &error);
    zip_must(target != NULL);
    zip_t *zip = zip_open_from_source(target, ZIP_TRUNCATE, &error);
    zip_must(zip != NULL);
    zip_source_keep(target);
    for (size_t i = 0; i < n; i++) {
        zip_source_t *source = zip_source_buffer(zip, entries[i].bytes.at, entries[i].bytes.n, 0);
        zip_must(source != NULL);
        zip_must(zip_file_add(zip, entries[i].name, source, ZIP_FL_ENC_UTF_8) >= 0);
    }
    zip_must(zip_close(zip) == 0);
    zip_must(zip_source_open(target) == 0);
    zip_must(zip_source_stat(target, &info) == 0);
    char *at = buf_reserve(out, (size_t)info.size);
    zip_must(at != NULL);
    zip_must(zip_source_read(target, at, info.size) == (zip_int64_t)info.size);
    out->n += (size_t)info.size;
    zip_source_close(target);
    zip_source_free(target);
    zip_error_fini(&error);
}

#endif
