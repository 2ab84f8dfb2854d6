/* SPDX-License-Identifier: MIT
 *
 * multipart: finds one field of a multipart/form-data body (RFC 7578) that is in memory whole.
 * Nothing is copied: what is found borrows from the body and lives as long. Pure functions, any
 * thread; any bytes are safe.
 *
 * Limits: 1 to 70 characters of boundary, 32 parts, 4 KiB of headers per part.
 */
#ifndef PARLEY_HTTP_MULTIPART_H
#define PARLEY_HTTP_MULTIPART_H

#include "shared/base/buf.h"

enum {
    MULTIPART_BOUNDARY_MAX_BYTES = 70,
    MULTIPART_PARTS_MAX = 32,
    MULTIPART_HEADERS_MAX_BYTES = 4096,
    MULTIPART_FILENAME_MAX_BYTES = 255,
};

struct multipart_part {
    struct str bytes;
    struct str content_type; /* empty: the part has none */
    /* As sent, `at` is NULL when there is none: see multipart_put_filename. A browser sends an
     * empty one for a file input in which nothing was chosen. */
    struct str filename;
    bool is_filename_encoded; /* it came as filename*=UTF-8'': percent-encoded */
};

/* Finds the part named `field` in `body`, whose media type is `content_type`. False, with a
 * sentence for people, when the body is malformed anywhere, past a limit, has no such part (then
 * the reason is multipart_no_field) or more than one. */
bool multipart_find(struct str content_type, struct str body, const char *field,
                    struct multipart_part *ret_part, const char **ret_reason) must_check;
extern const char multipart_no_field[];

/* Puts the part's file name as a person may see it: escapes resolved, folders before it dropped,
 * nothing that people do not see (shared/base/shown.h), at most MULTIPART_FILENAME_MAX_BYTES. A
 * longer name loses characters before its ending. Puts nothing when no name is left. */
void multipart_put_filename(struct buf *b, const struct multipart_part *part);

#endif
