/* SPDX-License-Identifier: MIT
 * odf_math.c - see odf_math.h. */
#include "shared/extract/odf_math.h"

enum { NAME_MAX_BYTES = 1024 };

struct object {
    struct mathml *math;
    bool is_formula;
};

static void on_start(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct object *object = reader->data;
    if (tag->space != XML_MATHML)
        xml_stop(reader);
    else if (!mathml_start(object->math, tag))
        xml_skip(reader);
}

static void on_end(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct object *object = reader->data;
    (void)tag;
    object->is_formula |= mathml_end(object->math);
}

static void on_text(struct xml_reader *reader, struct str text)
{
    struct object *object = reader->data;
    mathml_text(object->math, text);
}

bool odf_math_read(struct mathml *math, struct package *package, struct str href)
{
    struct object object = {.math = math};
    struct xml_handler handler = {.data = &object,
                                  .on_start = on_start,
                                  .on_end = on_end,
                                  .on_text = on_text,
                                  .allows_document_type = true};
    struct buf part, name;
    buf_init(&part, NAME_MAX_BYTES);
    buf_init(&name, NAME_MAX_BYTES);
    buf_put(&part, href);
    buf_lit(&part, "/content.xml");
    package_put_target(&name, STR(""), buf_str(&part));
    enum extract_fault fault = part.is_over || name.is_over
                                   ? EXTRACT_FAULT_BROKEN
                                   : package_read_xml(package, buf_str(&name), &handler);
    math->depth = 0; /* even if it ends early */
    buf_fini(&part);
    buf_fini(&name);
    return fault == EXTRACT_FAULT_NONE && object.is_formula;
}
