/* SPDX-License-Identifier: MIT
 *
 * error_text: reduces a server's error response to one line for people: the message out of its
 * JSON, in any of the forms that model servers use, or its plain text. Pure functions, any thread.
 */
#ifndef PARLEY_HTTP_ERROR_TEXT_H
#define PARLEY_HTTP_ERROR_TEXT_H

#include "shared/base/json.h"

enum { ERROR_TEXT_MAX_BYTES = 240 };

/* Puts `text` on one line: runs of white space become one space, control and invisible characters
 * are dropped, bytes that are not UTF-8 become U+FFFD. At most ERROR_TEXT_MAX_BYTES, cut between
 * characters. */
void http_put_one_line(struct buf *b, struct str text);
/* Returns the message of an error as JSON: of a text, of `error`, `message`, `detail`, `msg` or
 * `errors`, or of the first item of a list. Empty if there is none. Borrows from `json`. */
struct str http_error_message(const json_t *json);
/* Puts what the body of an error response says, on one line. Puts nothing for a page of HTML, and
 * for JSON without a message. */
void http_put_error_text(struct buf *b, struct str body);

#endif
