/* SPDX-License-Identifier: MIT
 *
 * kinds_fixture: documents that are written in a file of cases, each with the text that is right
 * for it. fixtures/kinds/README.md describes the format. The bytes of a document are made here:
 * converted by the C library's iconv, or put into the zip file that a DOCX is.
 */
#ifndef PARLEY_TESTS_KINDS_FIXTURE_H
#define PARLEY_TESTS_KINDS_FIXTURE_H

#include "tests/unit/package_fixture.h"

#include <iconv.h>

enum { CASE_PARTS_MAX = 12, CASE_OPTION_MAX_BYTES = 64, CASE_MAX_BYTES = 1 << 20 };

struct case_part {
    struct str name; /* empty: the main part, or the document itself */
    struct str source;
};

struct kind_case {
    struct str name, options, right;
    struct case_part parts[CASE_PARTS_MAX];
    size_t part_n;
};

static inline struct str case_take_line(struct str *s)
{
    const char *end = memchr(s->at, '\n', s->n);
    size_t n = end == NULL ? s->n : (size_t)(end - s->at), skip_n = end == NULL ? n : n + 1;
    struct str line = {s->at, n};
    *s = (struct str){s->at + skip_n, s->n - skip_n};
    return line;
}

/* Takes the lines before one that begins with `one` or `other`, without the last newline. */
static inline struct str case_take_until(struct str *s, struct str one, struct str other)
{
    const char *begin = s->at;
    while (s->n > 0 && !str_has_prefix(*s, one) && !str_has_prefix(*s, other))
        case_take_line(s);
    size_t n = (size_t)(s->at - begin);
    return (struct str){begin, n > 0 && begin[n - 1] == '\n' ? n - 1 : n};
}

/* Takes the next case of the file; false at its end. */
static inline bool case_next(struct str *s, struct kind_case *ret_case)
{
    struct str mark = STR("==== "), line, bar = STR(" | ");
    case_take_until(s, mark, mark);
    if (s->n == 0)
        return false;
    line = case_take_line(s);
    line = (struct str){line.at + mark.n, line.n - mark.n};
    const char *options = memmem(line.at, line.n, bar.at, bar.n);
    size_t name_n = options == NULL ? line.n : (size_t)(options - line.at);
    *ret_case = (struct kind_case){.name = {line.at, name_n}, .part_n = 0};
    if (options != NULL)
        ret_case->options = (struct str){options + bar.n, line.n - name_n - bar.n};
    struct str part = STR("");
    while (ret_case->part_n < CASE_PARTS_MAX) {
        struct str source = case_take_until(s, STR("++++ "), STR("----\n"));
        ret_case->parts[ret_case->part_n++] = (struct case_part){part, source};
        line = case_take_line(s);
        if (!str_has_prefix(line, STR("++++ ")))
            break;
        part = (struct str){line.at + 5, line.n - 5};
    }
    ret_case->right = case_take_until(s, mark, mark);
    return true;
}

/* Finds the value of an option, "encoding=KOI8-R", or the word itself. */
static inline bool case_option(const struct kind_case *from, const char *name,
                               char value[static CASE_OPTION_MAX_BYTES])
{
    struct str rest = from->options;
    while (rest.n > 0) {
        const char *blank = memchr(rest.at, ' ', rest.n);
        size_t n = blank == NULL ? rest.n : (size_t)(blank - rest.at), name_n = strlen(name);
        bool is_it = str_has_prefix(rest, str_of(name)) && (n == name_n || rest.at[name_n] == '=');
        if (is_it) {
            size_t skip_n = n == name_n ? n : name_n + 1;
            snprintf(value, CASE_OPTION_MAX_BYTES, "%.*s", (int)(n - skip_n), rest.at + skip_n);
            return true;
        }
        n += blank != NULL;
        rest = (struct str){rest.at + n, rest.n - n};
    }
    return false;
}

/* ---- bytes ---- */

static inline unsigned case_hex(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

/* Puts the text, where \xHH is one byte. */
static inline void case_put_escaped(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        bool is_escape = s.at[i] == '\\' && i + 3 < s.n && s.at[i + 1] == 'x';
        if (is_escape)
            buf_put_char(out, (char)(case_hex(s.at[i + 2]) << 4 | case_hex(s.at[i + 3])));
        else
            buf_put_char(out, s.at[i]);
        i += is_escape ? 3 : 0;
    }
}

static inline void case_put_converted(struct buf *out, struct str s, const char *encoding)
{
    iconv_t converter = iconv_open(encoding, "UTF-8");
    if (converter == (iconv_t)-1)
        fail_msg("the C library has no encoding %s", encoding);
    size_t from_n = s.n, room = s.n * 4 + 16, to_n = room;
    char *from = (char *)(uintptr_t)s.at, *to = buf_reserve(out, room);
    if (iconv(converter, &from, &from_n, &to, &to_n) != 0)
        fail_msg("%s has no letter for: %.20s", encoding, from);
    iconv(converter, NULL, NULL, &to, &to_n);
    iconv_close(converter);
    out->n += room - to_n;
}

/* ---- documents of Word ---- */

#define CASE_NAMESPACES                                                                            \
    " xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\""                    \
    " xmlns:m=\"http://schemas.openxmlformats.org/officeDocument/2006/math\""                      \
    " xmlns:r=\"" RELATIONSHIPS "\""                                                               \
    " xmlns:mc=\"http://schemas.openxmlformats.org/markup-compatibility/2006\""                    \
    " xmlns:wp=\"http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing\""         \
    " xmlns:wps=\"http://schemas.microsoft.com/office/word/2010/wordprocessingShape\""             \
    " xmlns:w14=\"http://schemas.microsoft.com/office/word/2010/wordml\""                          \
    " xmlns:a=\"" A_URI "\""                                                                       \
    " xmlns:pic=\"http://schemas.openxmlformats.org/drawingml/2006/picture\""                      \
    " xmlns:c=\"http://schemas.openxmlformats.org/drawingml/2006/chart\""                          \
    " xmlns:dgm=\"http://schemas.openxmlformats.org/drawingml/2006/diagram\""                      \
    " xmlns:v=\"urn:schemas-microsoft-com:vml\" "                                                  \
    "xmlns:o=\"urn:schemas-microsoft-com:office:office\""

/* Puts a part as it is if it has an XML declaration, else with the namespaces in its first tag. */
static inline void case_put_part(struct buf *out, const struct case_part *part)
{
    struct str s = part->source;
    if (str_has_prefix(s, STR("<?xml")) || str_has_prefix(s, STR("\xef\xbb\xbf"))) {
        buf_put(out, s);
    } else if (part->name.n == 0) {
        buf_lit(out, "<w:document" CASE_NAMESPACES "><w:body>");
        buf_put(out, s);
        buf_lit(out, "</w:body></w:document>");
    } else {
        size_t n = strcspn(s.at, " />");
        buf_put(out, (struct str){s.at, n});
        if (str_has_prefix(s, STR("<Relationships")))
            buf_lit(out, " xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"");
        else
            buf_lit(out, CASE_NAMESPACES);
        buf_put(out, (struct str){s.at + n, s.n - n});
    }
}

/* The last word of a part's name, without its number: "header" of word/header2.xml. */
static inline struct str case_part_type(struct str name, struct str *ret_id)
{
    const char *slash = memrchr(name.at, '/', name.n);
    const char *at = slash == NULL ? name.at : slash + 1;
    size_t n = (size_t)(name.at + name.n - at), id_n = 0;
    while (id_n < n && at[id_n] != '.')
        id_n++;
    *ret_id = (struct str){at, id_n};
    while (id_n > 0 && at[id_n - 1] >= '0' && at[id_n - 1] <= '9')
        id_n--;
    struct str type = {at, id_n};
    return str_eq(type, STR("data")) ? STR("diagramData") : type;
}

/* Relates the main part to all others; the id is the part's name: r:id="header2". */
static inline void case_put_relations(struct buf *out, const struct kind_case *from)
{
    buf_lit(out, "<Relationships "
                 "xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">");
    for (size_t i = 1; i < from->part_n; i++) {
        struct str id, type = case_part_type(from->parts[i].name, &id);
        buf_lit(out, "<Relationship Id=\"");
        buf_put(out, id);
        buf_lit(out, "\" Type=\"" RELATIONSHIPS "/");
        buf_put(out, type);
        buf_lit(out, "\" Target=\"/");
        buf_put(out, from->parts[i].name);
        buf_lit(out, "\"/>");
    }
    buf_lit(out, "</Relationships>");
}

static inline void case_put_docx(struct buf *out, const struct kind_case *from)
{
    static struct buf parts[CASE_PARTS_MAX + 1];
    struct entry entries[CASE_PARTS_MAX + 3] = {{"[Content_Types].xml", STR("<Types/>")}};
    char names[CASE_PARTS_MAX][CASE_OPTION_MAX_BYTES], encoding[CASE_OPTION_MAX_BYTES];
    size_t n = 1;
    bool has_relations = false, has_root = false;
    for (size_t i = 0; i < from->part_n; i++) {
        struct str name = from->parts[i].name;
        snprintf(names[i], sizeof names[i], "%.*s", STR_ARG(name));
        has_root |= str_eq(name, STR("_rels/.rels"));
        has_relations |= str_eq(name, STR("word/_rels/document.xml.rels"));
        buf_init(&parts[i], CASE_MAX_BYTES);
        case_put_part(&parts[i], &from->parts[i]);
        if (i == 0 && case_option(from, "encoding", encoding)) {
            struct buf utf8 = parts[i];
            buf_init(&parts[i], CASE_MAX_BYTES);
            case_put_converted(&parts[i], buf_str(&utf8), encoding);
            buf_fini(&utf8);
        }
        if (i > 0 || from->parts[i].source.n > 0)
            entries[n++] =
                (struct entry){i == 0 ? "word/document.xml" : names[i], buf_str(&parts[i])};
    }
    buf_init(&parts[CASE_PARTS_MAX], CASE_MAX_BYTES);
    case_put_relations(&parts[CASE_PARTS_MAX], from);
    if (!has_root)
        entries[n++] = (struct entry){
            "_rels/.rels", RELATIONS(RELATION("r", "officeDocument", "word/document.xml"))};
    if (!has_relations)
        entries[n++] =
            (struct entry){"word/_rels/document.xml.rels", buf_str(&parts[CASE_PARTS_MAX])};
    put_zip(out, entries, n);
    for (size_t i = 0; i < from->part_n; i++)
        buf_fini(&parts[i]);
    buf_fini(&parts[CASE_PARTS_MAX]);
}

/* Puts the bytes of the document that the case describes. */
static inline void case_put(struct buf *out, const struct kind_case *from, enum extract_kind kind)
{
    char option[CASE_OPTION_MAX_BYTES];
    struct buf escaped;
    if (kind == EXTRACT_DOCX) {
        case_put_docx(out, from);
        return;
    }
    buf_init(&escaped, CASE_MAX_BYTES);
    if (case_option(from, "escaped", option))
        case_put_escaped(&escaped, from->parts[0].source);
    else
        buf_put(&escaped, from->parts[0].source);
    if (case_option(from, "encoding", option))
        case_put_converted(out, buf_str(&escaped), option);
    else
        buf_put(out, buf_str(&escaped));
    if (case_option(from, "odd", option)) /* the last byte is missing */
        out->n--;
    buf_fini(&escaped);
}

#endif
