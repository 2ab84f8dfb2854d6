/* SPDX-License-Identifier: MIT
 * xml_reader.c - see xml_reader.h. libxml2's push parser, with its events. */
#include "shared/extract/xml_reader.h"

#include <stdlib.h>

enum {
    DEPTH_MAX = 256,
    STEP_BYTES = 65536,
    TAG_MAX_BYTES = 1 << 20,
    TAG_ATTRIBUTES_MAX = 256, /* Word's first tag has about 40 */
};

/* ---- vocabularies ---- */

#define OPEN_XML "http://schemas.openxmlformats.org/"
#define STRICT_XML "http://purl.oclc.org/ooxml/"
#define ODF "urn:oasis:names:tc:opendocument:xmlns:"

static const struct {
    const char *uri;
    enum xml_space space;
} known[] = {
    {OPEN_XML "wordprocessingml/2006/main", XML_WORD},
    {STRICT_XML "wordprocessingml/main", XML_WORD},
    {OPEN_XML "drawingml/2006/wordprocessingDrawing", XML_WORD_DRAWING},
    {STRICT_XML "drawingml/wordprocessingDrawing", XML_WORD_DRAWING},
    {OPEN_XML "officeDocument/2006/math", XML_MATH},
    {STRICT_XML "officeDocument/math", XML_MATH},
    {OPEN_XML "drawingml/2006/main", XML_DRAWING},
    {STRICT_XML "drawingml/main", XML_DRAWING},
    {"urn:schemas-microsoft-com:vml", XML_DRAWING_OLD},
    {OPEN_XML "drawingml/2006/chart", XML_CHART},
    {STRICT_XML "drawingml/chart", XML_CHART},
    {OPEN_XML "drawingml/2006/diagram", XML_DIAGRAM},
    {STRICT_XML "drawingml/diagram", XML_DIAGRAM},
    {OPEN_XML "presentationml/2006/main", XML_SLIDES},
    {STRICT_XML "presentationml/main", XML_SLIDES},
    {OPEN_XML "spreadsheetml/2006/main", XML_SHEETS},
    {STRICT_XML "spreadsheetml/main", XML_SHEETS},
    {OPEN_XML "markup-compatibility/2006", XML_COMPATIBILITY},
    {OPEN_XML "package/2006/relationships", XML_PACKAGE},
    {ODF "office:1.0", XML_ODF_OFFICE},
    {ODF "text:1.0", XML_ODF_TEXT},
    {ODF "table:1.0", XML_ODF_TABLE},
    {ODF "style:1.0", XML_ODF_STYLE},
    {ODF "drawing:1.0", XML_ODF_DRAW},
    {ODF "presentation:1.0", XML_ODF_PRESENTATION},
    {ODF "svg-compatible:1.0", XML_ODF_SVG},
    {"http://www.w3.org/1998/Math/MathML", XML_MATHML},
};

static enum xml_space find_space(const xmlChar *uri)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp((const char *)uri, known[i].uri) == 0)
            return known[i].space;
    return XML_OTHER;
}

static enum xml_space space_of(struct xml_reader *reader, const xmlChar *uri)
{
    size_t at = ((uintptr_t)uri >> 4) % XML_SPACES_KEPT;
    if (uri == NULL)
        return XML_OTHER;
    if (reader->uris[at] != uri) {
        reader->uris[at] = uri;
        reader->spaces[at] = find_space(uri);
    }
    return reader->spaces[at];
}

/* ---- events ---- */

static void refuse(struct xml_reader *reader)
{
    reader->is_refused = true;
    xmlStopParser(reader->parser);
}

static void on_start(void *data, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                     int namespace_n, const xmlChar **namespaces, int attribute_n, int default_n,
                     const xmlChar **attributes)
{
    struct xml_reader *reader = data;
    (void)prefix, (void)namespace_n, (void)namespaces, (void)default_n;
    if (++reader->depth > DEPTH_MAX) {
        refuse(reader);
        return;
    }
    if (reader->skip_depth > 0 || reader->is_stopped)
        return;
    struct xml_tag tag = {space_of(reader, uri), (const char *)name, attribute_n, attributes};
    if (tag.space == XML_COMPATIBILITY && xml_is(&tag, "Fallback"))
        xml_skip(reader);
    else
        reader->handler->on_start(reader, &tag);
}

static void on_end(void *data, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
    struct xml_reader *reader = data;
    (void)prefix;
    if (reader->depth-- == reader->skip_depth) {
        reader->skip_depth = 0;
        return;
    }
    if (reader->skip_depth > 0 || reader->is_stopped || reader->handler->on_end == NULL)
        return;
    struct xml_tag tag = {space_of(reader, uri), (const char *)name, 0, NULL};
    reader->handler->on_end(reader, &tag);
}

static void on_text(void *data, const xmlChar *at, int n)
{
    struct xml_reader *reader = data;
    if (n > 0 && reader->skip_depth == 0 && !reader->is_stopped && reader->handler->on_text != NULL)
        reader->handler->on_text(reader, (struct str){(const char *)at, (size_t)n});
}

static void on_document_type(void *data, const xmlChar *name, const xmlChar *external,
                             const xmlChar *system)
{
    struct xml_reader *reader = data;
    (void)name, (void)external, (void)system;
    if (!reader->handler->allows_document_type)
        refuse(reader);
}

static void on_error(void *data, xmlErrorPtr error)
{
    (void)data, (void)error;
}

/* ---- reading ---- */

void xml_reader_init(struct xml_reader *reader, const struct xml_handler *handler)
{
    xmlSAXHandler events = {.startElementNs = on_start,
                            .endElementNs = on_end,
                            .characters = on_text,
                            .cdataBlock = on_text,
                            .ignorableWhitespace = on_text,
                            .internalSubset = on_document_type,
                            .serror = on_error,
                            .initialized = XML_SAX2_MAGIC};
    *reader = (struct xml_reader){.handler = handler, .data = handler->data};
    reader->parser = xmlCreatePushParserCtxt(&events, reader, NULL, 0, NULL);
    if (reader->parser == NULL)
        abort();
    /* Entities are put in their place, of which there are only those of XML itself. */
    xmlCtxtUseOptions(reader->parser, XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
                                          XML_PARSE_NOENT |
                                          (handler->allows_document_type ? XML_PARSE_RECOVER : 0));
    reader->parser->sax->serror = on_error;
}

void xml_reader_fini(struct xml_reader *reader)
{
    xmlFreeDoc(reader->parser->myDoc);
    xmlFreeParserCtxt(reader->parser);
}

/* libxml2 compares each attribute of a tag with all before it. A tag begins with each "<", since
 * XML allows that byte in no value; what this takes for a tag in a comment does no harm. */
static bool has_huge_tag(struct xml_reader *reader, struct str bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        char c = bytes.at[i];
        if (c == '<') {
            reader->is_in_tag = true;
            reader->quote = 0;
            reader->tag_bytes = reader->tag_attributes = 0;
        } else if (!reader->is_in_tag) {
            const char *next = memchr(bytes.at + i, '<', bytes.n - i);
            if (next == NULL)
                break;
            i = (size_t)(next - bytes.at) - 1;
        } else if (++reader->tag_bytes > TAG_MAX_BYTES) {
            return true;
        } else if (reader->quote != 0) {
            reader->quote = (char)(c == reader->quote ? 0 : reader->quote);
        } else if (c == '"' || c == '\'') {
            reader->quote = c;
        } else if (c == '>') {
            reader->is_in_tag = false;
        } else if (c == '=' && ++reader->tag_attributes > TAG_ATTRIBUTES_MAX) {
            return true;
        }
    }
    return false;
}

/* An entity that a document type may have declared, which was passed over. */
static bool is_unknown_entity(const struct xml_reader *reader, int error)
{
    return reader->handler->allows_document_type &&
           (error == XML_ERR_UNDECLARED_ENTITY || error == XML_WAR_UNDECLARED_ENTITY);
}

static bool feed(struct xml_reader *reader, struct str bytes, bool is_last)
{
    if (reader->is_refused || has_huge_tag(reader, bytes))
        return false;
    if (reader->is_stopped)
        return true;
    int error = xmlParseChunk(reader->parser, bytes.at, (int)bytes.n, is_last);
    return !reader->is_refused &&
           (error == 0 || reader->is_stopped || is_unknown_entity(reader, error));
}

bool xml_reader_feed(struct xml_reader *reader, struct str bytes)
{
    return feed(reader, bytes, false);
}

bool xml_reader_end(struct xml_reader *reader)
{
    return feed(reader, STR(""), true);
}

bool xml_read(const struct xml_handler *handler, struct str xml)
{
    struct xml_reader reader;
    bool is_good = true;
    xml_reader_init(&reader, handler);
    while (is_good && xml.n > 0) {
        struct str step = {xml.at, xml.n < STEP_BYTES ? xml.n : STEP_BYTES};
        is_good = xml_reader_feed(&reader, step);
        xml = (struct str){xml.at + step.n, xml.n - step.n};
    }
    is_good = is_good && xml_reader_end(&reader);
    xml_reader_fini(&reader);
    return is_good;
}

/* ---- within events ---- */

void xml_skip(struct xml_reader *reader)
{
    reader->skip_depth = reader->depth;
}

void xml_stop(struct xml_reader *reader)
{
    reader->is_stopped = true;
    xmlStopParser(reader->parser);
}

static struct str value_at(const xmlChar **attribute)
{
    return (struct str){(const char *)attribute[3], (size_t)(attribute[4] - attribute[3])};
}

struct str xml_attribute(const struct xml_tag *tag, const char *name)
{
    for (int i = 0; i < tag->attribute_n; i++)
        if (strcmp((const char *)tag->attributes[5 * i], name) == 0)
            return value_at(tag->attributes + 5 * i);
    return (struct str){NULL, 0};
}

struct str xml_relation(const struct xml_tag *tag, const char *name)
{
    static const struct str end = {"/relationships", 14};
    for (int i = 0; i < tag->attribute_n; i++) {
        const xmlChar **attribute = tag->attributes + 5 * i;
        struct str uri = str_of((const char *)attribute[2]);
        if (strcmp((const char *)attribute[0], name) == 0 && uri.n > end.n &&
            memcmp(uri.at + uri.n - end.n, end.at, end.n) == 0)
            return value_at(attribute);
    }
    return (struct str){NULL, 0};
}

bool xml_is_on(const struct xml_tag *tag)
{
    struct str value = xml_attribute(tag, "val");
    return !str_eq(value, STR("0")) && !str_eq(value, STR("false")) && !str_eq(value, STR("off"));
}

unsigned xml_number(const struct xml_tag *tag, const char *name, unsigned most, unsigned otherwise)
{
    uint64_t number;
    return str_parse_u64(xml_attribute(tag, name), &number) && number <= most ? (unsigned)number
                                                                              : otherwise;
}
