/* SPDX-License-Identifier: MIT
 *
 * mime: the pieces of Internet mail (RFC 5322, 2045 to 2047, 2231): header fields, encoded words,
 * parameters, transfer encodings. Any bytes are safe, in time linear in them. Pure; any thread.
 */
#ifndef PARLEY_EXTRACT_MIME_H
#define PARLEY_EXTRACT_MIME_H

#include "shared/base/buf.h"

/* Splits an entity at its first empty line, or before the first line that is no field. */
void mime_split(struct str entity, struct str *ret_head, struct str *ret_body);
/* The value of the first field of that name, with its line breaks; empty if there is none. */
struct str mime_field(struct str head, const char *name);

/* Puts a field's value on one line, with its encoded words as UTF-8. */
void mime_put_words(struct buf *b, struct str value);
/* Puts a parameter of a value such as `text/plain; charset="utf-8"`, as UTF-8. Puts nothing if
 * it is missing. */
void mime_put_parameter(struct buf *b, struct str value, const char *name);
/* The value before its parameters: "text/plain". */
struct str mime_main_value(struct str value);

/* Puts the bytes of a body in a transfer encoding: base64, quoted-printable, or as they are. */
void mime_put_decoded(struct buf *b, struct str body, struct str encoding);

/* Takes the next part off a body that `boundary` divides; false after the last. Begin with
 * `*rest` as the body. */
bool mime_next_part(struct str *rest, struct str boundary, struct str *ret_part) must_check;

#endif
