/* SPDX-License-Identifier: MIT
 * html_math.c - see html_math.h. The nodes are walked in the order of the page, as events of
 * mathml.h. */
#include "shared/extract/html_math.h"

#include "shared/extract/mathml.h"

#include <stdio.h>

enum { NAME_MAX_BYTES = 32 };

/* Returns false if the element is left out with all that it contains. */
static bool start(struct mathml *math, const struct html_node *node)
{
    char name[NAME_MAX_BYTES];
    struct xml_tag tag = {XML_MATHML, name, 0, NULL};
    struct str known =
        node->tag == GUMBO_TAG_UNKNOWN ? node->text : str_of(gumbo_normalized_tagname(node->tag));
    snprintf(name, sizeof name, "%.*s", (int)known.n, known.at);
    return mathml_start(math, &tag);
}

void html_math_put(struct buf *out, const struct html_tree *tree, uint32_t math)
{
    const struct html_node *nodes = tree->nodes;
    uint32_t open = math;
    struct mathml formula;
    mathml_init(&formula);
    (void)start(&formula, &nodes[math]);
    for (uint32_t i = math + 1; i < nodes[math].end;) {
        for (; i >= nodes[open].end; open = nodes[open].parent)
            (void)mathml_end(&formula);
        if (html_node_is_text(&nodes[i])) {
            mathml_text(&formula, nodes[i++].text);
        } else if (start(&formula, &nodes[i])) {
            open = i++;
        } else {
            i = nodes[i].end;
        }
    }
    for (; open != math; open = nodes[open].parent)
        (void)mathml_end(&formula);
    (void)mathml_end(&formula);
    buf_put(out, buf_str(&formula.equation.text));
    mathml_fini(&formula);
}
