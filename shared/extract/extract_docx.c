/* SPDX-License-Identifier: MIT
 * extract_docx.c - DOCX (ECMA-376, WordprocessingML): a zip file, read by libzip, whose parts are
 * XML, read by libxml2 through its events while they are inflated. Neither a part nor a tree is
 * ever in memory whole.
 *
 * A bomb is refused by what the zip file declares (entries, sizes, ratios) and by what really comes
 * out. A document type declaration is refused, since no such part has one: so no entity can be
 * declared. Nothing is loaded.
 *
 * Taken are the texts of paragraphs, tables and text boxes, then foot- and endnotes. Left out are
 * headers and footers, comments, deleted, moved and hidden text, and the twins that some parts keep
 * for old readers (mc:Fallback). */
#include "shared/extract/extract.h"
#include "shared/extract/flow.h"

#include <libxml/parser.h>
#include <stdlib.h>
#include <zip.h>

enum {
    ENTRIES_MAX = 4096,
    DEPTH_MAX = 256,
    STEP_BYTES = 65536,
    RATIO_MAX = 250,
    RATIO_FROM_BYTES = 1 << 20, /* small parts of one repeated letter are no danger */
    PART_MAX_BYTES = 64 << 20,
    TAG_MAX_BYTES = 1 << 20,
    TAG_ATTRIBUTES_MAX = 256, /* Word's first tag has about 40 */
};
static const zip_uint64_t total_max_bytes = (zip_uint64_t)1 << 30;

static const char *const word_uris[] = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
};
static const char compatibility_uri[] =
    "http://schemas.openxmlformats.org/markup-compatibility/2006";
static const char heading_marks[] = "###### ";
static const char math_uri[] = "http://schemas.openxmlformats.org/officeDocument/2006/math";

struct part {
    struct flow flow;
    xmlParserCtxtPtr parser;
    unsigned depth, skip_depth; /* skip_depth: of the element that is left out; 0: none */
    unsigned run_depth;
    bool is_run_hidden, is_text;
    bool is_list, was_list, is_paragraph_begun;
    unsigned heading; /* the paragraph's level, 1 to 6; 0: it is no heading */
    bool is_refused;
    /* The tag that the bytes so far end in, if they do. */
    bool is_in_tag;
    char quote;
    unsigned tag_bytes, tag_attributes;
};

static void refuse(struct part *part)
{
    part->is_refused = true;
    xmlStopParser(part->parser);
}

/* ---- events ---- */

static struct str find_value(int n, const xmlChar **attributes)
{
    for (int i = 0; i < n; i++, attributes += 5)
        if (strcmp((const char *)attributes[0], "val") == 0)
            return (struct str){(const char *)attributes[3],
                                (size_t)(attributes[4] - attributes[3])};
    return STR("");
}

static bool is_off(int n, const xmlChar **attributes)
{
    struct str value = find_value(n, attributes);
    return str_eq(value, STR("0")) || str_eq(value, STR("false")) || str_eq(value, STR("off"));
}

/* A style's id is its name in the language of the program that wrote the file, without what is not
 * ASCII: "Heading1", "berschrift1", "Titre1". */
static unsigned heading_of_style(struct str style)
{
    static const char *const names[] = {"heading", "berschrift", "titre",  "ttulo",      "titolo",
                                        "kop",     "rubrik",     "nagwek", "overskrift", NULL};
    char level = style.n > 1 ? style.at[style.n - 1] : 0;
    if (str_eq_nocase(style, STR("title")))
        return 1;
    if (level < '1' || level > '6')
        return 0;
    for (const char *const *name = names; *name != NULL; name++)
        if (str_eq_nocase((struct str){style.at, style.n - 1}, str_of(*name)))
            return (unsigned)(level - '0');
    return 0;
}

/* The outline's levels count from 0; 9 is text. */
static unsigned heading_of_level(struct str level)
{
    return level.n == 1 && *level.at >= '0' && *level.at <= '5' ? (unsigned)(*level.at - '0') + 1
                                                                : 0;
}

/* The first text of a paragraph: by now it is known whether it is an item of a list. */
static void begin_paragraph(struct part *part)
{
    if (part->is_paragraph_begun)
        return;
    part->is_paragraph_begun = true;
    flow_break(&part->flow, part->is_list && part->was_list ? 1 : 2);
    part->was_list = part->is_list;
    if (part->heading > 0)
        flow_mark(&part->flow, (struct str){heading_marks + 6 - part->heading, part->heading + 1});
    else if (part->is_list)
        flow_mark(&part->flow, STR("- "));
}

static void on_word_start(struct part *part, const char *name, int attribute_n,
                          const xmlChar **attributes)
{
    bool is_run = part->run_depth > 0;
    if (strcmp(name, "p") == 0) {
        part->is_list = part->is_paragraph_begun = false;
        part->heading = 0;
    } else if (strcmp(name, "pStyle") == 0) {
        part->heading = heading_of_style(find_value(attribute_n, attributes));
    } else if (strcmp(name, "outlineLvl") == 0) {
        part->heading = heading_of_level(find_value(attribute_n, attributes));
    } else if (strcmp(name, "numPr") == 0) {
        part->is_list = true;
    } else if (strcmp(name, "r") == 0) {
        part->run_depth++;
        part->is_run_hidden = false;
        begin_paragraph(part);
    } else if (strcmp(name, "vanish") == 0) {
        part->is_run_hidden = is_run && !is_off(attribute_n, attributes);
    } else if (strcmp(name, "t") == 0) {
        part->is_text = is_run && !part->is_run_hidden;
    } else if (strcmp(name, "tab") == 0 && is_run) {
        flow_put(&part->flow, STR(" "));
    } else if ((strcmp(name, "br") == 0 || strcmp(name, "cr") == 0) && is_run) {
        flow_break(&part->flow, 1);
    } else if (strcmp(name, "noBreakHyphen") == 0 && is_run) {
        flow_put(&part->flow, STR("-"));
    } else if (strcmp(name, "tbl") == 0) {
        flow_break(&part->flow, 2);
    } else if (strcmp(name, "tr") == 0) {
        flow_row(&part->flow);
    } else if (strcmp(name, "tc") == 0) {
        flow_cell(&part->flow);
    } else if (strcmp(name, "tabs") == 0 || strcmp(name, "moveFrom") == 0 ||
               strcmp(name, "del") == 0) {
        part->skip_depth = part->depth;
    }
}

static bool is_word(const xmlChar *uri)
{
    for (size_t i = 0; uri != NULL && i < sizeof word_uris / sizeof *word_uris; i++)
        if (strcmp((const char *)uri, word_uris[i]) == 0)
            return true;
    return false;
}

static void on_start(void *data, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                     int namespace_n, const xmlChar **namespaces, int attribute_n, int default_n,
                     const xmlChar **attributes)
{
    struct part *part = data;
    (void)prefix, (void)namespace_n, (void)namespaces, (void)default_n;
    if (++part->depth > DEPTH_MAX) {
        refuse(part);
        return;
    }
    if (part->skip_depth > 0 || uri == NULL)
        return;
    if (is_word(uri))
        on_word_start(part, (const char *)name, attribute_n, attributes);
    else if (strcmp((const char *)uri, compatibility_uri) == 0 &&
             strcmp((const char *)name, "Fallback") == 0)
        part->skip_depth = part->depth;
    else if (strcmp((const char *)uri, math_uri) == 0 && strcmp((const char *)name, "t") == 0) {
        begin_paragraph(part);
        part->is_text = true;
    }
}

static void on_end(void *data, const xmlChar *name_bytes, const xmlChar *prefix, const xmlChar *uri)
{
    struct part *part = data;
    const char *name = (const char *)name_bytes;
    (void)prefix;
    if (part->depth-- == part->skip_depth) {
        part->skip_depth = 0;
        return;
    }
    if (part->skip_depth > 0)
        return;
    if (strcmp(name, "t") == 0)
        part->is_text = false;
    if (!is_word(uri))
        return;
    if (strcmp(name, "r") == 0)
        part->run_depth -= part->run_depth > 0;
    else if (strcmp(name, "p") == 0)
        flow_break(&part->flow, 1);
    else if (strcmp(name, "tc") == 0)
        flow_cell_end(&part->flow);
    else if (strcmp(name, "tbl") == 0)
        flow_break(&part->flow, 2);
}

static void on_text(void *data, const xmlChar *at, int n)
{
    struct part *part = data;
    if (part->is_text && part->skip_depth == 0)
        flow_put(&part->flow, (struct str){(const char *)at, n < 0 ? 0 : (size_t)n});
}

static void on_document_type(void *data, const xmlChar *name, const xmlChar *external,
                             const xmlChar *system)
{
    (void)name, (void)external, (void)system;
    refuse(data);
}

static void on_error(void *data, xmlErrorPtr error)
{
    (void)data, (void)error;
}

/* ---- one part ---- */

static void begin_part(struct part *part, struct buf *rough)
{
    xmlSAXHandler handler = {.startElementNs = on_start,
                             .endElementNs = on_end,
                             .characters = on_text,
                             .cdataBlock = on_text,
                             .ignorableWhitespace = on_text,
                             .internalSubset = on_document_type,
                             .serror = on_error,
                             .initialized = XML_SAX2_MAGIC};
    *part = (struct part){.flow.out = rough};
    part->parser = xmlCreatePushParserCtxt(&handler, part, NULL, 0, NULL);
    if (part->parser == NULL)
        abort();
    xmlCtxtUseOptions(part->parser, XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    part->parser->sax->serror = on_error;
}

/* libxml2 compares each attribute of a tag with all before it. A tag begins with each "<", since
 * XML allows that byte in no value; what this takes for a tag in a comment does no harm. */
static bool has_huge_tag(struct part *part, struct str bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        char c = bytes.at[i];
        if (c == '<') {
            part->is_in_tag = true;
            part->quote = 0;
            part->tag_bytes = part->tag_attributes = 0;
        } else if (!part->is_in_tag) {
            const char *next = memchr(bytes.at + i, '<', bytes.n - i);
            if (next == NULL)
                break;
            i = (size_t)(next - bytes.at) - 1;
        } else if (++part->tag_bytes > TAG_MAX_BYTES) {
            return true;
        } else if (part->quote != 0) {
            part->quote = (char)(c == part->quote ? 0 : part->quote);
        } else if (c == '"' || c == '\'') {
            part->quote = c;
        } else if (c == '>') {
            part->is_in_tag = false;
        } else if (c == '=' && ++part->tag_attributes > TAG_ATTRIBUTES_MAX) {
            return true;
        }
    }
    return false;
}

static bool feed(struct part *part, struct str bytes, bool is_last)
{
    if (part->is_refused || has_huge_tag(part, bytes))
        return false;
    return xmlParseChunk(part->parser, bytes.at, (int)bytes.n, is_last) == 0 && !part->is_refused;
}

static void end_part(struct part *part)
{
    xmlFreeDoc(part->parser->myDoc);
    xmlFreeParserCtxt(part->parser);
}

enum extract_fault extract_put_docx_xml(struct buf *text, struct str xml)
{
    struct part part;
    struct buf rough;
    buf_init(&rough, EXTRACT_TEXT_MAX_BYTES);
    begin_part(&part, &rough);
    bool is_good = true;
    while (is_good && xml.n > 0) {
        struct str step = {xml.at, xml.n < STEP_BYTES ? xml.n : STEP_BYTES};
        is_good = feed(&part, step, false);
        xml = (struct str){xml.at + step.n, xml.n - step.n};
    }
    is_good = is_good && feed(&part, STR(""), true);
    end_part(&part);
    if (is_good)
        extract_put_clean(text, buf_str(&rough));
    bool is_over = rough.is_over || text->is_over;
    buf_fini(&rough);
    return is_over   ? EXTRACT_FAULT_TOO_MUCH_TEXT
           : is_good ? EXTRACT_FAULT_NONE
                     : EXTRACT_FAULT_BROKEN;
}

/* ---- the zip file ---- */

/* Checks what an entry declares of itself, before anything is inflated. */
static enum extract_fault check_entry(const zip_stat_t *entry)
{
    const zip_uint64_t needed =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if ((entry->valid & needed) != needed)
        return EXTRACT_FAULT_BROKEN;
    if (entry->encryption_method != ZIP_EM_NONE)
        return EXTRACT_FAULT_ENCRYPTED;
    if (entry->comp_method != ZIP_CM_STORE && entry->comp_method != ZIP_CM_DEFLATE)
        return EXTRACT_FAULT_BROKEN;
    if (entry->size > PART_MAX_BYTES ||
        (entry->size > RATIO_FROM_BYTES && entry->size / RATIO_MAX > entry->comp_size))
        return EXTRACT_FAULT_BOMB;
    return EXTRACT_FAULT_NONE;
}

static enum extract_fault read_entry(zip_t *zip, zip_uint64_t index, struct buf *rough)
{
    zip_stat_t entry;
    struct part part;
    if (zip_stat_index(zip, index, 0, &entry) != 0)
        return EXTRACT_FAULT_BROKEN;
    enum extract_fault fault = check_entry(&entry);
    zip_file_t *file = fault == EXTRACT_FAULT_NONE ? zip_fopen_index(zip, index, 0) : NULL;
    if (file == NULL)
        return fault == EXTRACT_FAULT_NONE ? EXTRACT_FAULT_BROKEN : fault;
    begin_part(&part, rough);
    char bytes[STEP_BYTES];
    zip_int64_t n;
    zip_uint64_t total = 0;
    bool is_good = true;
    while (is_good && (n = zip_fread(file, bytes, sizeof bytes)) > 0) {
        /* More comes out than was declared. */
        total += (zip_uint64_t)n;
        if (total > entry.size) {
            fault = EXTRACT_FAULT_BOMB;
            break;
        }
        is_good = feed(&part, (struct str){bytes, (size_t)n}, false);
    }
    if (fault == EXTRACT_FAULT_NONE && !(is_good && n == 0 && feed(&part, STR(""), true)))
        fault = EXTRACT_FAULT_BROKEN;
    end_part(&part);
    zip_fclose(file);
    return fault;
}

/* The main part is word/document.xml; some programs put a number into it. -1: there is none. */
static zip_int64_t find_main_part(zip_t *zip, zip_int64_t entry_n)
{
    zip_int64_t found = zip_name_locate(zip, "word/document.xml", ZIP_FL_NOCASE);
    for (zip_int64_t i = 0; found < 0 && i < entry_n; i++) {
        struct str name = str_of(zip_get_name(zip, (zip_uint64_t)i, 0));
        if (name.n > 17 && name.n < 24 && str_has_prefix(name, STR("word/document")) &&
            str_eq((struct str){name.at + name.n - 4, 4}, STR(".xml")))
            found = i;
    }
    return found;
}

static enum extract_fault check_all(zip_t *zip, zip_int64_t entry_n)
{
    zip_uint64_t total = 0;
    if (entry_n > ENTRIES_MAX)
        return EXTRACT_FAULT_BOMB;
    for (zip_int64_t i = 0; i < entry_n; i++) {
        zip_stat_t entry;
        if (zip_stat_index(zip, (zip_uint64_t)i, 0, &entry) != 0 ||
            (entry.valid & ZIP_STAT_SIZE) == 0)
            return EXTRACT_FAULT_BROKEN;
        if (entry.size > total_max_bytes || (total += entry.size) > total_max_bytes)
            return EXTRACT_FAULT_BOMB;
    }
    return EXTRACT_FAULT_NONE;
}

static enum extract_fault read_zip(zip_t *zip, struct buf *rough)
{
    static const char *const notes[] = {"word/footnotes.xml", "word/endnotes.xml"};
    zip_int64_t entry_n = zip_get_num_entries(zip, 0);
    enum extract_fault fault = check_all(zip, entry_n);
    if (fault != EXTRACT_FAULT_NONE)
        return fault;
    zip_int64_t at = find_main_part(zip, entry_n);
    if (at < 0)
        return EXTRACT_FAULT_NOT_DOCX;
    fault = read_entry(zip, (zip_uint64_t)at, rough);
    for (size_t i = 0; fault == EXTRACT_FAULT_NONE && i < sizeof notes / sizeof *notes; i++) {
        at = zip_name_locate(zip, notes[i], ZIP_FL_NOCASE);
        if (at < 0)
            continue;
        buf_lit(rough, "\n\n");
        fault = read_entry(zip, (zip_uint64_t)at, rough);
    }
    return fault;
}

enum extract_fault extract_put_docx(struct buf *text, struct str bytes)
{
    struct buf rough;
    zip_error_t error;
    zip_t *zip = NULL;
    zip_error_init(&error);
    zip_source_t *source = zip_source_buffer_create(bytes.at, bytes.n, 0, &error);
    if (source != NULL)
        zip = zip_open_from_source(source, ZIP_RDONLY, &error);
    zip_error_fini(&error);
    if (zip == NULL) {
        zip_source_free(source);
        return EXTRACT_FAULT_BROKEN;
    }
    buf_init(&rough, EXTRACT_TEXT_MAX_BYTES);
    enum extract_fault fault = read_zip(zip, &rough);
    zip_discard(zip);
    if (fault == EXTRACT_FAULT_NONE)
        extract_put_clean(text, str_trim(buf_str(&rough)));
    if (fault == EXTRACT_FAULT_NONE && (rough.is_over || text->is_over))
        fault = EXTRACT_FAULT_TOO_MUCH_TEXT;
    buf_fini(&rough);
    return fault;
}
