/* SPDX-License-Identifier: MIT
 *
 * multipart: finds one field of a multipart/form-data body (RFC 7578) in memory. Nothing is copied:
 * results borrow from the body. Pure functions, any thread; safe for any input.
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
    /* As sent; `at` is NULL if absent: see multipart_put_filename. A browser sends an empty one if
     * no file was selected. */
    struct str filename;
    bool is_filename_encoded; /* sent as filename*=UTF-8'': percent-encoded */
};

/* Finds the part named `field` in `body`, whose media type is `content_type`. Returns false with a
 * human-readable reason if the body is malformed, exceeds a limit, has no such part (the reason is
 * then multipart_no_field) or has more than one. */
bool multipart_find(struct str content_type, struct str body, const char *field,
                    struct multipart_part *ret_part, const char **ret_reason) must_check;
extern const char multipart_no_field[];
/* The boundary in a media type; false, with a reason, if it has none. */
bool multipart_boundary(struct str content_type, struct str *ret_boundary,
                        const char **ret_reason) must_check;

/* Puts the part's file name for display: escapes decoded, folders removed, no invisible characters
 * (shared/base/shown.h), at most MULTIPART_FILENAME_MAX_BYTES. A longer name is shortened before
 * its extension. Puts nothing if no name is left. */
void multipart_put_filename(struct buf *b, const struct multipart_part *part);

#endif
