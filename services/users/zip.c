/* SPDX-License-Identifier: MIT
 * zip.c - see zip.h. */
#include "services/users/zip.h"

#include "shared/base/log.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>

static la_ssize_t on_bytes(struct archive *archive, void *arg, const void *bytes, size_t n)
{
    struct zip *zip = arg;
    (void)archive;
    if (!zip->is_closed)
        buf_put(zip->out, (struct str){bytes, n});
    return (la_ssize_t)n;
}

/* Nothing that clients send may break it: then it is ours, and the log says what it was. */
static void check(struct zip *zip, int result)
{
    if (result >= ARCHIVE_WARN || zip->is_broken)
        return;
    zip->is_broken = true;
    log_write(LOG_ERROR, "cannot write a zip file",
              LOG_S("reason", archive_error_string(zip->archive)));
}

void zip_init(struct zip *zip, struct buf *out)
{
    *zip = (struct zip){.archive = archive_write_new(), .entry = archive_entry_new(), .out = out};
    if (zip->archive == NULL || zip->entry == NULL)
        abort();
    check(zip, archive_write_set_format_zip(zip->archive));
    check(zip,
          archive_write_set_options(zip->archive, "zip:compression=deflate,zip:compression-level=1,"
                                                  "zip:hdrcharset=UTF-8"));
    check(zip, archive_write_set_bytes_per_block(zip->archive, 0)); /* no padding at the end */
    check(zip, archive_write_open(zip->archive, zip, NULL, on_bytes, NULL));
}

void zip_fini(struct zip *zip)
{
    if (zip->archive == NULL)
        return;
    zip->is_closed = true;
    archive_entry_free(zip->entry);
    archive_write_free(zip->archive);
    zip->archive = NULL;
}

void zip_begin(struct zip *zip, struct str path, uint64_t time_s)
{
    char *text = str_copy(path);
    archive_entry_clear(zip->entry);
    archive_entry_set_pathname_utf8(zip->entry, text);
    archive_entry_set_filetype(zip->entry, AE_IFREG);
    archive_entry_set_perm(zip->entry, 0644);
    archive_entry_set_mtime(zip->entry, (time_t)time_s, 0);
    check(zip, archive_write_header(zip->archive, zip->entry));
    free(text);
}

void zip_put(struct zip *zip, struct str bytes)
{
    while (bytes.n > 0 && !zip->is_broken) {
        la_ssize_t n = archive_write_data(zip->archive, bytes.at, bytes.n);
        check(zip, n <= 0 ? ARCHIVE_FATAL : ARCHIVE_OK);
        if (n > 0)
            bytes = (struct str){bytes.at + n, bytes.n - (size_t)n};
    }
}

void zip_finish(struct zip *zip)
{
    check(zip, archive_write_close(zip->archive));
}
