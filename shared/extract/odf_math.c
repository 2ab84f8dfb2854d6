/* SPDX-License-Identifier: MIT
 * odf_math.c - see odf_math.h. MathML knows the parts of an element by their order, Office Math by
 * their names. */
#include "shared/extract/odf_math.h"

#include "shared/text/text.h"

enum { PARTS_MAX = 3, NAME_MAX_BYTES = 1024 };

struct odf_math_form {
    const char *name, *equation;
    const char *parts[PARTS_MAX]; /* none: the children are parts themselves */
    bool is_whole;                /* all children are one part */
    bool is_apart;                /* a word after it comes after a space: ∑_(i=1)^n x */
};

static const struct odf_math_form forms[] = {
    {"mfrac", "f", {"num", "den"}, false, false},
    {"msup", "sSup", {"e", "sup"}, false, false},
    {"msub", "sSub", {"e", "sub"}, false, false},
    {"msubsup", "sSubSup", {"e", "sub", "sup"}, false, true},
    {"munder", "limLow", {"base", "lim"}, false, true},
    {"mover", "limUpp", {"base", "lim"}, false, true},
    {"munderover", "nary", {"base", "sub", "sup"}, false, true},
    {"msqrt", "rad", {"e"}, true, false},
    {"mroot", "d", {"e", "e"}, false, false},
    {"mtable", "m", {NULL}, false, false},
    {"mtr", "mr", {NULL}, false, false},
    {"mtd", "e", {NULL}, false, false},
    {"mi", "t", {NULL}, false, false},
    {"mn", "t", {NULL}, false, false},
    {"mo", "t", {NULL}, false, false},
    {"mtext", "t", {NULL}, false, false},
};

void odf_math_init(struct odf_math *math)
{
    *math = (struct odf_math){0};
    equation_init(&math->equation);
}

void odf_math_fini(struct odf_math *math)
{
    equation_fini(&math->equation);
}

static void start(struct odf_math *math, const char *name)
{
    equation_start(&math->equation, &(struct xml_tag){XML_MATH, name, 0, NULL});
}

static bool end(struct odf_math *math, const char *name)
{
    return equation_end(&math->equation, &(struct xml_tag){XML_MATH, name, 0, NULL});
}

static void put(struct odf_math *math, struct str text)
{
    start(math, "t");
    equation_text(&math->equation, text);
    (void)end(math, "t");
}

static const struct odf_math_form *form_of(const struct xml_tag *tag)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (xml_is(tag, forms[i].name))
            return &forms[i];
    return NULL;
}

/* The name of the next part of an element; NULL if its children have names of their own. */
static const char *next_part(struct odf_math_node *in)
{
    unsigned at = in->child_n++;
    return in->form == NULL || in->form->is_whole || at >= PARTS_MAX ? NULL : in->form->parts[at];
}

static bool is_unseen(const struct xml_tag *tag)
{
    return xml_is(tag, "annotation") || xml_is(tag, "annotation-xml") || xml_is(tag, "mphantom");
}

static void begin(struct odf_math *math)
{
    equation_clear(&math->equation);
    math->is_apart = false;
    start(math, "oMath");
}

/* ∑_(i=1)^n x: what comes after the limits of a sign comes after a space, other signs excepted. */
static void put_space(struct odf_math *math, const struct xml_tag *tag,
                      const struct odf_math_form *form, bool is_part)
{
    if (!math->is_apart || form == NULL)
        return;
    math->is_apart = false;
    if (!is_part && !xml_is(tag, "mo"))
        put(math, STR(" "));
}

void odf_math_start(struct odf_math *math, struct xml_reader *reader, const struct xml_tag *tag)
{
    if (math->depth == 0)
        begin(math);
    if (math->depth == ODF_MATH_DEPTH_MAX || is_unseen(tag)) {
        xml_skip(reader);
        return;
    }
    const struct odf_math_form *form = form_of(tag);
    const char *part = math->depth == 0 ? NULL : next_part(&math->nodes[math->depth - 1]);
    put_space(math, tag, form, part != NULL);
    math->nodes[math->depth++] = (struct odf_math_node){.form = form, .part = part};
    if (part != NULL)
        start(math, part);
    if (xml_is(tag, "mroot"))
        put(math, STR("root"));
    if (form != NULL)
        start(math, form->equation);
    if (form != NULL && form->is_whole)
        start(math, form->parts[0]);
    math->is_token = form != NULL && strcmp(form->equation, "t") == 0;
    math->is_words = xml_is(tag, "mtext");
}

/* Blanks of the layout are left out, except around words, and so are signs that nobody sees. */
void odf_math_text(struct odf_math *math, struct str text)
{
    uint32_t first;
    text = str_trim(text);
    if (!math->is_token || text_char(text, &first) == 0 || (first >= 0x2061 && first <= 0x2064))
        return;
    if (math->is_words)
        equation_text(&math->equation, STR(" "));
    equation_text(&math->equation, text);
    if (math->is_words)
        equation_text(&math->equation, STR(" "));
}

bool odf_math_end(struct odf_math *math)
{
    if (math->depth == 0)
        return false;
    const struct odf_math_node *node = &math->nodes[--math->depth];
    math->is_token = false;
    if (node->form != NULL && node->form->is_whole)
        (void)end(math, node->form->parts[0]);
    if (node->form != NULL)
        (void)end(math, node->form->equation);
    if (node->part != NULL)
        (void)end(math, node->part);
    math->is_apart |= node->form != NULL && node->form->is_apart;
    return math->depth == 0 && end(math, "oMath");
}

/* ---- a part ---- */

struct object {
    struct odf_math *math;
    bool is_formula;
};

static void on_start(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct object *object = reader->data;
    if (tag->space == XML_MATHML)
        odf_math_start(object->math, reader, tag);
    else
        xml_stop(reader);
}

static void on_end(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct object *object = reader->data;
    (void)tag;
    object->is_formula |= odf_math_end(object->math);
}

static void on_text(struct xml_reader *reader, struct str text)
{
    struct object *object = reader->data;
    odf_math_text(object->math, text);
}

bool odf_math_read(struct odf_math *math, struct package *package, struct str href)
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
