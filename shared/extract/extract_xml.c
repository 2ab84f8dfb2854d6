/* SPDX-License-Identifier: MIT
 * extract_xml.c - XML of any vocabulary. An element within text is part of it; others are lines.
 * Short ones have their name before them, as in `bar: 40`, and so have attributes of elements
 * without text. A document type declaration is passed over: its entities are not known. What is no
 * XML is read as text. */
#include "shared/extract/encoding.h"
#include "shared/extract/flow.h"
#include "shared/extract/office.h"
#include "shared/extract/office_finish.h"
#include "shared/extract/xml_reader.h"

enum {
    DEPTH_MAX = 256,
    VALUE_MAX_BYTES = 80, /* of an element that has its name before it */
    ATTRIBUTE_MAX_BYTES = 200,
    NAME_MAX_BYTES = 64,
    DECLARATION_MAX_BYTES = 200,
};

struct element {
    bool has_text, is_inline;
};

struct data {
    struct flow flow;
    struct element elements[DEPTH_MAX + 1];
    unsigned depth;
    /* Of the last element that has begun, while nothing else has come: */
    char name[NAME_MAX_BYTES];
    struct buf value;
    bool is_leaf;
};

static void put_labelled(struct flow *flow, struct str name, struct str value)
{
    flow_put(flow, name);
    flow_put(flow, STR(": "));
    flow_put(flow, value);
}

/* Puts the text of a leaf, which has ended, or turned out to be text with elements in it. */
static void flush(struct data *data, bool has_ended)
{
    struct str value = str_trim(buf_str(&data->value));
    if (!data->is_leaf)
        return;
    data->is_leaf = false;
    if (value.n > 0 && has_ended && value.n <= VALUE_MAX_BYTES && data->name[0] != 0)
        put_labelled(&data->flow, str_of(data->name), value);
    else if (value.n > 0)
        flow_put(&data->flow, buf_str(&data->value));
    buf_clear(&data->value);
}

static void put_attributes(struct data *data, const struct xml_tag *tag)
{
    for (int i = 0; i < tag->attribute_n; i++) {
        const xmlChar **attribute = tag->attributes + 5 * i;
        struct str name = str_of((const char *)attribute[0]);
        struct str value = {(const char *)attribute[3], (size_t)(attribute[4] - attribute[3])};
        if (attribute[1] != NULL || str_eq(name, STR("id")) || value.n == 0 ||
            value.n > ATTRIBUTE_MAX_BYTES)
            continue;
        put_labelled(&data->flow, name, value);
        flow_put(&data->flow, STR(" "));
    }
}

static void on_start(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct data *data = reader->data;
    struct element *outer = &data->elements[data->depth];
    flush(data, false);
    if (data->depth < DEPTH_MAX)
        data->depth++;
    struct element *element = &data->elements[data->depth];
    *element = (struct element){.is_inline = outer->has_text};
    if (!element->is_inline) {
        flow_break(&data->flow, 1);
        put_attributes(data, tag);
    }
    data->is_leaf = !element->is_inline;
    data->name[0] = 0;
    if (strlen(tag->name) < NAME_MAX_BYTES)
        strcpy(data->name, tag->name);
}

static void on_end(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct data *data = reader->data;
    flush(data, true);
    if (!data->elements[data->depth].is_inline)
        flow_break(&data->flow, 1);
    data->depth -= data->depth > 0;
}

static void on_text(struct xml_reader *reader, struct str text)
{
    struct data *data = reader->data;
    struct element *element = &data->elements[data->depth];
    element->has_text |= str_trim(text).n > 0;
    if (data->is_leaf)
        buf_put(&data->value, text);
    else
        flow_put(&data->flow, text);
    if (data->value.n > VALUE_MAX_BYTES)
        flush(data, false);
}

/* The encoding that the declaration at the front names; empty if it names none. */
static struct str find_label(struct str bytes)
{
    static const struct str word = {"encoding=", 9};
    struct str front = {bytes.at,
                        bytes.n < DECLARATION_MAX_BYTES ? bytes.n : DECLARATION_MAX_BYTES};
    const char *at = front.n < word.n ? NULL : memmem(front.at, front.n, word.at, word.n);
    if (!str_has_prefix(front, STR("<?xml")) || at == NULL)
        return STR("");
    struct str rest = {at + word.n, front.n - (size_t)(at + word.n - front.at)};
    char quote = (char)(rest.n > 0 ? *rest.at : 0);
    rest = (struct str){rest.at + (rest.n > 0), rest.n - (rest.n > 0)};
    return str_cut(&rest, quote);
}

/* Without its declaration, which names an encoding that it has no more. */
static struct str without_declaration(struct str xml)
{
    static const struct str end = {"?>", 2};
    const char *at =
        str_has_prefix(xml, STR("<?xml")) ? memmem(xml.at, xml.n, end.at, end.n) : NULL;
    return at == NULL ? xml : (struct str){at + 2, xml.n - (size_t)(at + 2 - xml.at)};
}

static bool put_elements(struct buf *rough, struct str xml)
{
    struct data data = {.flow.out = rough};
    struct xml_handler handler = {.data = &data,
                                  .on_start = on_start,
                                  .on_end = on_end,
                                  .on_text = on_text,
                                  .allows_document_type = true};
    buf_init(&data.value, EXTRACT_TEXT_MAX_BYTES);
    bool is_good = xml_read(&handler, without_declaration(xml));
    buf_fini(&data.value);
    return is_good;
}

enum extract_fault extract_put_xml(struct buf *text, struct str bytes)
{
    struct buf utf8, rough;
    buf_init(&utf8, bytes.n * 4 + 16);
    buf_init(&rough, EXTRACT_TEXT_MAX_BYTES);
    enum extract_fault fault = encoding_put_utf8(&utf8, bytes, find_label(bytes))
                                   ? EXTRACT_FAULT_NONE
                                   : EXTRACT_FAULT_NOT_KIND;
    bool is_xml = fault == EXTRACT_FAULT_NONE && put_elements(&rough, buf_str(&utf8));
    fault = office_finish(text, is_xml ? &rough : &utf8, fault);
    buf_fini(&utf8);
    buf_fini(&rough);
    return fault;
}
