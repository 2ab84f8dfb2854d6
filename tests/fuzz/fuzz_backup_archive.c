/* SPDX-License-Identifier: MIT
 * fuzz_backup_archive.c - a backup file of any bytes, read to its end. What is taken for whole is
 * written once more, and must be taken for whole again, with the same records. */
#include "services/backup/archive.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Each part must lie within the record. */
static void look_at(const struct archive *archive, const struct str *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (parts[i].at < archive->record.at ||
            parts[i].at + parts[i].n > archive->record.at + archive->record.n)
            abort();
}

static enum archive_found read_all(FILE *file, FILE *copy, uint64_t *ret_n)
{
    struct archive in, out;
    const struct str *parts;
    size_t n;
    enum archive_found found = ARCHIVE_BROKEN;
    archive_init(&in, file);
    archive_init(&out, copy);
    bool is_open = archive_open(&in);
    if (is_open && (copy == NULL || archive_begin(&out)))
        while ((found = archive_next(&in, &parts, &n)) == ARCHIVE_RECORD) {
            look_at(&in, parts, n);
            if (copy != NULL && !archive_put(&out, parts, n))
                abort();
        }
    if ((found == ARCHIVE_BROKEN) != (in.problem != NULL))
        abort();
    if (is_open && copy != NULL && !archive_end(&out, found == ARCHIVE_END ? parts[1] : STR("7")))
        abort();
    *ret_n = in.record_n;
    archive_fini(&out);
    archive_fini(&in);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *copy = NULL;
    size_t copy_n = 0;
    uint64_t record_n = 0, again_n = 0;
    if (n == 0)
        return 0;
    FILE *file = fmemopen((void *)data, n, "r");
    FILE *other = open_memstream(&copy, &copy_n);
    if (file == NULL || other == NULL)
        abort();
    (void)read_all(file, other, &record_n);
    fclose(other);
    fclose(file);
    if (copy_n > 0) { /* what was sound before a fault makes a whole file */
        file = fmemopen(copy, copy_n, "r");
        if (file == NULL || read_all(file, NULL, &again_n) != ARCHIVE_END || again_n != record_n)
            abort();
        fclose(file);
    }
    free(copy);
    return 0;
}
