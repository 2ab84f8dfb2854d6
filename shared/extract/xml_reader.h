/* SPDX-License-Identifier: MIT
 *
 * xml_reader: reads XML from outside through events while its bytes arrive: neither a tree nor the
 * whole text is in memory, and nothing is loaded. The cost is linear in the bytes: a tag may have
 * 256 attributes and 1 MiB, elements may be nested 256 deep. A document type declaration is
 * refused, or passed over without its entities, so no entity can be declared. The copies that
 * office documents keep for old readers (mc:Fallback) are left out. One thread; a reader belongs
 * to its caller.
 */
#ifndef PARLEY_EXTRACT_XML_READER_H
#define PARLEY_EXTRACT_XML_READER_H

#include "shared/base/buf.h"

#include <libxml/parser.h>

/* The vocabularies that office documents are written in; each has an address in the transitional
 * and one in the strict form of the standard. */
enum xml_space {
    XML_OTHER,
    XML_WORD,
    XML_WORD_DRAWING,
    XML_MATH,
    XML_DRAWING,
    XML_DRAWING_OLD, /* VML */
    XML_CHART,
    XML_DIAGRAM,
    XML_SLIDES,
    XML_SHEETS,
    XML_COMPATIBILITY,
    XML_PACKAGE,
    XML_ODF_OFFICE,
    XML_ODF_TEXT,
    XML_ODF_TABLE,
    XML_ODF_STYLE,
    XML_ODF_DRAW,
    XML_ODF_PRESENTATION,
    XML_ODF_SVG,
    XML_MATHML,
};

/* An element; valid during the event. `name` is without its prefix. */
struct xml_tag {
    enum xml_space space;
    const char *name;
    int attribute_n;
    const xmlChar **attributes;
};

struct xml_reader;

/* The functions of a document's reader. `on_end` may be NULL, `on_text` too. */
struct xml_handler {
    void *data;
    void (*on_start)(struct xml_reader *reader, const struct xml_tag *tag);
    void (*on_end)(struct xml_reader *reader, const struct xml_tag *tag);
    void (*on_text)(struct xml_reader *reader, struct str text);
    bool allows_document_type; /* it is passed over; unknown entities are left out */
};

enum { XML_SPACES_KEPT = 16 };

struct xml_reader {
    const struct xml_handler *handler;
    void *data; /* the handler's */
    xmlParserCtxtPtr parser;
    unsigned depth, skip_depth; /* skip_depth: of the element that is left out; 0: none */
    bool is_refused, is_stopped;
    /* The addresses that were looked up last, which libxml2 keeps at one place each. */
    const xmlChar *uris[XML_SPACES_KEPT];
    enum xml_space spaces[XML_SPACES_KEPT];
    /* The tag that the bytes so far end in, if they do. */
    bool is_in_tag;
    char quote;
    unsigned tag_bytes, tag_attributes;
};

/* Begins; the handler is borrowed until xml_reader_fini. */
void xml_reader_init(struct xml_reader *reader, const struct xml_handler *handler);
void xml_reader_fini(struct xml_reader *reader);
/* Reads the next bytes, and with xml_reader_end the end. Events run within the call. Returns false
 * if this is no XML, or more than is allowed. */
bool xml_reader_feed(struct xml_reader *reader, struct str bytes) must_check;
bool xml_reader_end(struct xml_reader *reader) must_check;
/* Reads a whole text. */
bool xml_read(const struct xml_handler *handler, struct str xml) must_check;

/* ---- within events ---- */

/* Leaves out the element that has just begun: no event of what is in it follows, nor its end. */
void xml_skip(struct xml_reader *reader);
/* Ends without a fault: the rest is not needed. No event follows. */
void xml_stop(struct xml_reader *reader);

/* Returns whether the element has this name. */
static inline bool xml_is(const struct xml_tag *tag, const char *name)
{
    return strcmp(tag->name, name) == 0;
}
/* The value of an attribute, whatever its prefix; empty (`at` is NULL) if it is missing. */
struct str xml_attribute(const struct xml_tag *tag, const char *name);
/* The same of an attribute that names a relationship: r:id, r:embed, r:dm. */
struct str xml_relation(const struct xml_tag *tag, const char *name);
/* A switch such as w:vanish: on unless its `val` says otherwise. */
bool xml_is_on(const struct xml_tag *tag);
/* A whole number of 0 to `most`; `otherwise` for all else. */
unsigned xml_number(const struct xml_tag *tag, const char *name, unsigned most, unsigned otherwise);

#endif
