/* SPDX-License-Identifier: MIT
 * multipart.c - see multipart.h.
 *
 *   preamble CRLF --boundary CRLF headers CRLF CRLF bytes CRLF --boundary ... --boundary-- epilogue
 *
 * The body is walked once, from delimiter to delimiter; a delimiter counts only if a line end or
 * "--" follows it, so that a boundary that begins like the bytes of a file does not cut the file.
 * All parts are looked at, also after the one that was found: a second one of that name, or a body
 * that ends without its last delimiter, must not pass as a good upload. Lines end with CRLF and
 * headers are not folded: no client of today sends anything else. */
#include "shared/http/request/multipart.h"

#include "shared/base/shown.h"
#include "shared/text/text.h"

const char multipart_no_field[] = "The form has no such field.";

static const char malformed_header[] = "A form part has a malformed header.";

/* ---- headers and their parameters ---- */

static void skip_blanks(struct str *s)
{
    while (s->n > 0 && (*s->at == ' ' || *s->at == '\t')) {
        s->at++;
        s->n--;
    }
}

static bool is_token_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static struct str take_token(struct str *s)
{
    struct str token = {s->at, 0};
    while (token.n < s->n && is_token_char(s->at[token.n]))
        token.n++;
    s->at += token.n;
    s->n -= token.n;
    return token;
}

/* Takes what is between quotes, escapes as they are. */
static bool take_quoted(struct str *s, struct str *ret_value)
{
    for (size_t i = 1; i < s->n; i++) {
        /* A backslash escapes a quote or itself only: old browsers send C:\folder\file. */
        if (s->at[i] == '\\' && i + 1 < s->n && (s->at[i + 1] == '"' || s->at[i + 1] == '\\')) {
            i++;
        } else if (s->at[i] == '"') {
            *ret_value = (struct str){s->at + 1, i - 1};
            s->at += i + 1;
            s->n -= i + 1;
            return true;
        }
    }
    return false;
}

/* Takes `; name=value` off the front of `rest`. False at the end of it and when it is malformed:
 * then something is left. */
static bool next_parameter(struct str *rest, struct str *ret_name, struct str *ret_value)
{
    struct str s = *rest;
    skip_blanks(&s);
    if (s.n == 0) {
        *rest = s;
        return false;
    }
    if (*s.at != ';')
        return false;
    s = (struct str){s.at + 1, s.n - 1};
    skip_blanks(&s);
    if (s.n == 0) { /* a trailing semicolon */
        *rest = s;
        return false;
    }
    *ret_name = take_token(&s);
    skip_blanks(&s);
    if (ret_name->n == 0 || s.n == 0 || *s.at != '=')
        return false;
    s = (struct str){s.at + 1, s.n - 1};
    skip_blanks(&s);
    if (s.n > 0 && *s.at == '"') {
        if (!take_quoted(&s, ret_value))
            return false;
    } else {
        *ret_value = take_token(&s);
    }
    *rest = s;
    return true;
}

static bool is_boundary(struct str s)
{
    static const char others[] = "'()+_,-./:=? ";
    if (s.n == 0 || s.n > MULTIPART_BOUNDARY_MAX_BYTES || s.at[s.n - 1] == ' ')
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              (c != 0 && strchr(others, c) != NULL)))
            return false;
    }
    return true;
}

/* A boundary without quotes may hold characters that no token may: clients send them anyway. */
bool multipart_boundary(struct str content_type, struct str *ret_boundary, const char **ret_reason)
{
    struct str rest = content_type, part, boundary = {NULL, 0};
    part = str_trim(str_cut(&rest, ';'));
    *ret_reason = "The body must be multipart/form-data.";
    if (!str_eq_nocase(part, STR("multipart/form-data")))
        return false;
    while (rest.at != NULL) {
        part = str_trim(str_cut(&rest, ';'));
        struct str value = part, name = str_trim(str_cut(&value, '='));
        if (value.at == NULL || !str_eq_nocase(name, STR("boundary")))
            continue;
        value = str_trim(value);
        if (value.n >= 2 && *value.at == '"' && value.at[value.n - 1] == '"')
            value = (struct str){value.at + 1, value.n - 2};
        *ret_reason = "The Content-Type has two boundaries: send one.";
        if (boundary.at != NULL)
            return false;
        boundary = value;
    }
    *ret_reason = "The Content-Type must have a boundary of 1 to 70 characters.";
    if (!is_boundary(boundary))
        return false;
    *ret_boundary = boundary;
    return true;
}

/* The headers of one part. */
struct head {
    struct str name; /* `at` is NULL: it has none */
    struct multipart_part part;
    bool has_disposition;
};

static bool read_disposition(struct head *head, struct str value)
{
    struct str parameter, text, plain = {NULL, 0}, encoded = {NULL, 0};
    struct str kind = take_token(&value);
    if (head->has_disposition || !str_eq_nocase(kind, STR("form-data")))
        return false;
    head->has_disposition = true;
    while (next_parameter(&value, &parameter, &text)) {
        struct str *place = str_eq_nocase(parameter, STR("name"))        ? &head->name
                            : str_eq_nocase(parameter, STR("filename"))  ? &plain
                            : str_eq_nocase(parameter, STR("filename*")) ? &encoded
                                                                         : NULL;
        if (place != NULL && place->at != NULL)
            return false; /* which of the two counts is a matter of taste: none does */
        if (place != NULL)
            *place = text;
    }
    static const struct str charset = {"utf-8'", 6};
    struct str language = encoded;
    bool is_utf8 =
        encoded.n > charset.n && str_eq_nocase((struct str){encoded.at, charset.n}, charset);
    if (is_utf8) {
        language = (struct str){encoded.at + charset.n, encoded.n - charset.n};
        str_cut(&language, '\'');
    }
    head->part.is_filename_encoded = is_utf8 && language.at != NULL;
    head->part.filename = head->part.is_filename_encoded ? language : plain;
    return value.n == 0;
}

/* Reads what follows a header's name; `line` holds a colon. */
static bool read_header(struct head *head, struct str line, const char **ret_reason)
{
    struct str name = str_cut(&line, ':');
    struct str value = str_trim(line);
    for (size_t i = 0; i < name.n; i++)
        if (!is_token_char(name.at[i]))
            return false;
    if (line.at == NULL || name.n == 0 || memchr(line.at, 0, line.n) != NULL)
        return false;
    if (str_eq_nocase(name, STR("content-disposition")))
        return read_disposition(head, value);
    if (str_eq_nocase(name, STR("content-type")))
        head->part.content_type = value;
    if (str_eq_nocase(name, STR("content-transfer-encoding")) &&
        !str_eq_nocase(value, STR("binary")) && !str_eq_nocase(value, STR("8bit")) &&
        !str_eq_nocase(value, STR("7bit"))) {
        *ret_reason = "A form part has a Content-Transfer-Encoding: send the bytes unencoded.";
        return false;
    }
    return true;
}

/* Reads the headers at the front of `rest` and moves it past the empty line. */
static bool read_head(struct str *rest, struct head *ret_head, const char **ret_reason)
{
    struct head head = {.part.content_type = STR("")};
    size_t window = rest->n < MULTIPART_HEADERS_MAX_BYTES ? rest->n : MULTIPART_HEADERS_MAX_BYTES;
    struct str s = {rest->at, window};
    *ret_reason = malformed_header;
    for (;;) {
        const char *end = memmem(s.at, s.n, "\r\n", 2);
        if (end == NULL) {
            *ret_reason = rest->n > window
                              ? "The headers of a form part are too large."
                              : "The form is truncated: it ends within the headers of a part.";
            return false;
        }
        struct str line = {s.at, (size_t)(end - s.at)};
        s = (struct str){end + 2, s.n - line.n - 2};
        if (line.n == 0)
            break;
        if (!read_header(&head, line, ret_reason))
            return false;
    }
    rest->n -= (size_t)(s.at - rest->at);
    rest->at = s.at;
    *ret_head = head;
    return true;
}

/* ---- delimiters ---- */

enum delimiter { DELIMITER_NONE, DELIMITER_NEXT, DELIMITER_LAST };

/* The kind of delimiter, from the text `s` after "--boundary"; `*ret_n` gets the length of its
 * line. */
static enum delimiter delimiter_kind(struct str s, size_t *ret_n)
{
    size_t n = 0;
    if (s.n >= 2 && s.at[0] == '-' && s.at[1] == '-') {
        *ret_n = 2;
        return DELIMITER_LAST;
    }
    while (n < s.n && (s.at[n] == ' ' || s.at[n] == '\t'))
        n++;
    if (n + 2 > s.n || s.at[n] != '\r' || s.at[n + 1] != '\n')
        return DELIMITER_NONE;
    *ret_n = n + 2;
    return DELIMITER_NEXT;
}

/* Finds the next delimiter in `rest`, whose bytes before it go to *ret_bytes, and moves `rest`
 * past it. `mark` is CRLF, "--" and the boundary. */
static enum delimiter next_delimiter(struct str *rest, struct str mark, struct str *ret_bytes)
{
    struct str s = *rest;
    for (const char *at; (at = memmem(s.at, s.n, mark.at, mark.n)) != NULL;) {
        size_t n = 0, before = (size_t)(at - rest->at) + mark.n;
        struct str behind = {at + mark.n, rest->n - before};
        enum delimiter kind = delimiter_kind(behind, &n);
        if (kind != DELIMITER_NONE) {
            *ret_bytes = (struct str){rest->at, (size_t)(at - rest->at)};
            *rest = (struct str){behind.at + n, behind.n - n};
            return kind;
        }
        s = behind;
    }
    return DELIMITER_NONE;
}

static enum delimiter first_delimiter(struct str *rest, struct str mark)
{
    struct str line = {mark.at + 2, mark.n - 2}, preamble;
    size_t n = 0;
    if (str_has_prefix(*rest, line)) {
        struct str behind = {rest->at + line.n, rest->n - line.n};
        enum delimiter kind = delimiter_kind(behind, &n);
        if (kind != DELIMITER_NONE) {
            *rest = (struct str){behind.at + n, behind.n - n};
            return kind;
        }
    }
    return next_delimiter(rest, mark, &preamble);
}

bool multipart_find(struct str content_type, struct str body, const char *field,
                    struct multipart_part *ret_part, const char **ret_reason)
{
    char mark_bytes[4 + MULTIPART_BOUNDARY_MAX_BYTES] = "\r\n--";
    struct str boundary, rest = body;
    struct multipart_part found;
    bool is_found = false;
    if (!multipart_boundary(content_type, &boundary, ret_reason))
        return false;
    memcpy(mark_bytes + 4, boundary.at, boundary.n);
    struct str mark = {mark_bytes, 4 + boundary.n};
    *ret_reason = "The body does not contain the boundary given in its Content-Type.";
    enum delimiter kind = body.n == 0 ? DELIMITER_NONE : first_delimiter(&rest, mark);
    for (unsigned n = 0; kind == DELIMITER_NEXT; n++) {
        struct head head;
        *ret_reason = "The form has too many parts.";
        if (n == MULTIPART_PARTS_MAX || !read_head(&rest, &head, ret_reason))
            return false;
        /* The CRLF of an empty line is the one before the delimiter when there are no bytes. */
        rest = (struct str){rest.at - 2, rest.n + 2};
        kind = next_delimiter(&rest, mark, &head.part.bytes);
        *ret_reason = "The form is truncated: its final boundary is missing.";
        if (kind == DELIMITER_NONE)
            return false;
        head.part.bytes = head.part.bytes.n < 2
                              ? STR("")
                              : (struct str){head.part.bytes.at + 2, head.part.bytes.n - 2};
        if (!head.has_disposition || head.name.at == NULL || !str_eq(head.name, str_of(field)))
            continue;
        *ret_reason = "The form has this field twice: send one file per request.";
        if (is_found)
            return false;
        found = head.part;
        is_found = true;
    }
    if (kind == DELIMITER_NONE)
        return false;
    *ret_reason = multipart_no_field;
    if (is_found)
        *ret_part = found;
    return is_found;
}

/* ---- file names ---- */

/* Resolves what clients do to quotes, line ends and backslashes: %22, %0D and %0A (browsers), or a
 * backslash before a quote or a backslash (others). */
static void put_plain(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        struct str rest = {s.at + i, s.n - i};
        if (rest.n >= 2 && *rest.at == '\\' && (rest.at[1] == '"' || rest.at[1] == '\\')) {
            buf_put_char(b, rest.at[1]);
            i += 1;
        } else if (str_has_prefix(rest, STR("%22"))) {
            buf_put_char(b, '"');
            i += 2;
        } else if (str_has_prefix(rest, STR("%0D")) || str_has_prefix(rest, STR("%0A"))) {
            buf_put_char(b, '\n');
            i += 2;
        } else {
            buf_put_char(b, *rest.at);
        }
    }
}

static void put_shortened(struct buf *b, struct str s)
{
    enum { ENDING_MAX_BYTES = 16 };
    struct str ending = STR("");
    if (s.n <= MULTIPART_FILENAME_MAX_BYTES) {
        buf_put(b, s);
        return;
    }
    const char *dot = memrchr(s.at, '.', s.n);
    if (dot != NULL && s.n - (size_t)(dot - s.at) <= ENDING_MAX_BYTES)
        ending = (struct str){dot, s.n - (size_t)(dot - s.at)};
    buf_put(b, (struct str){s.at, text_floor(s, MULTIPART_FILENAME_MAX_BYTES - ending.n)});
    buf_put(b, ending);
}

void multipart_put_filename(struct buf *b, const struct multipart_part *part)
{
    struct buf raw, clean;
    buf_init(&raw, MULTIPART_HEADERS_MAX_BYTES);
    buf_init(&clean, MULTIPART_HEADERS_MAX_BYTES * 3);
    if (!part->is_filename_encoded) {
        put_plain(&raw, part->filename);
    } else if (!buf_put_url_decoded(&raw, part->filename, false)) {
        buf_clear(&raw);
        buf_put(&raw, part->filename);
    }
    struct str s = buf_str(&raw);
    for (size_t i = s.at == NULL ? 0 : s.n; i > 0; i--)
        if (s.at[i - 1] == '/' || s.at[i - 1] == '\\') {
            s = (struct str){s.at + i, s.n - i};
            break;
        }
    buf_put_shown(&clean, s);
    s = str_trim(buf_str(&clean));
    if (!str_eq(s, STR(".")) && !str_eq(s, STR("..")))
        put_shortened(b, s);
    buf_fini(&raw);
    buf_fini(&clean);
}
