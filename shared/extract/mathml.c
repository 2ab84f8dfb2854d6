/* SPDX-License-Identifier: MIT
 * mathml.c - see mathml.h. MathML knows the parts of an element by their order, Office Math by
 * their names. */
#include "shared/extract/mathml.h"

#include "shared/text/text.h"

enum { PARTS_MAX = 3 };

struct mathml_form {
    const char *name, *equation;
    const char *parts[PARTS_MAX]; /* none: the children are parts themselves */
    bool is_whole;                /* all children are one part */
    bool is_apart;                /* a word after it comes after a space: ∑_(i=1)^n x */
};

static const struct mathml_form forms[] = {
    {"mfrac", "f", {"num", "den"}, false, false},
    {"msup", "sSup", {"e", "sup"}, false, false},
    {"msub", "sSub", {"e", "sub"}, false, false},
    {"msubsup", "sSubSup", {"e", "sub", "sup"}, false, true},
    {"munder", "limLow", {"e", "lim"}, false, true},
    {"mover", "limUpp", {"e", "lim"}, false, true},
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

void mathml_init(struct mathml *math)
{
    *math = (struct mathml){0};
    equation_init(&math->equation);
}

void mathml_fini(struct mathml *math)
{
    equation_fini(&math->equation);
}

static void start(struct mathml *math, const char *name)
{
    equation_start(&math->equation, &(struct xml_tag){XML_MATH, name, 0, NULL});
}

static bool end(struct mathml *math, const char *name)
{
    return equation_end(&math->equation, &(struct xml_tag){XML_MATH, name, 0, NULL});
}

static void put(struct mathml *math, struct str text)
{
    start(math, "t");
    equation_text(&math->equation, text);
    (void)end(math, "t");
}

static const struct mathml_form *form_of(const struct xml_tag *tag)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (xml_is(tag, forms[i].name))
            return &forms[i];
    return NULL;
}

/* The name of the next part of an element; NULL if its children have names of their own. */
static const char *next_part(struct mathml_node *in)
{
    unsigned at = in->child_n++;
    return in->form == NULL || in->form->is_whole || at >= PARTS_MAX ? NULL : in->form->parts[at];
}

static bool is_unseen(const struct xml_tag *tag)
{
    return xml_is(tag, "annotation") || xml_is(tag, "annotation-xml") || xml_is(tag, "mphantom");
}

static void begin(struct mathml *math)
{
    equation_clear(&math->equation);
    math->is_apart = false;
    start(math, "oMath");
}

/* ∑_(i=1)^n x: what comes after the limits of a sign comes after a space, other signs excepted. */
static void put_space(struct mathml *math, const struct xml_tag *tag,
                      const struct mathml_form *form, bool is_part)
{
    if (!math->is_apart || form == NULL)
        return;
    math->is_apart = false;
    if (!is_part && !xml_is(tag, "mo"))
        put(math, STR(" "));
}

bool mathml_start(struct mathml *math, const struct xml_tag *tag)
{
    if (math->depth == 0)
        begin(math);
    if (math->depth == MATHML_DEPTH_MAX || is_unseen(tag))
        return false;
    const struct mathml_form *form = form_of(tag);
    const char *part = math->depth == 0 ? NULL : next_part(&math->nodes[math->depth - 1]);
    put_space(math, tag, form, part != NULL);
    math->nodes[math->depth++] = (struct mathml_node){.form = form, .part = part};
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
    return true;
}

/* Blanks of the layout are left out, except around words, and so are signs that nobody sees. */
void mathml_text(struct mathml *math, struct str text)
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

bool mathml_end(struct mathml *math)
{
    if (math->depth == 0)
        return false;
    const struct mathml_node *node = &math->nodes[--math->depth];
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
