/* SPDX-License-Identifier: MIT
 *
 * html_clutter: leaves out what an element, its role or its class calls navigation, advertisement,
 * comments and the like. A part that has much of the page's text is none, whatever its name. One
 * thread.
 */
#ifndef PARLEY_EXTRACT_HTML_CLUTTER_H
#define PARLEY_EXTRACT_HTML_CLUTTER_H

#include "shared/extract/html_tree.h"

/* Leaves clutter out and counts the tree again. The prose must have been counted (html_article). */
void html_clutter_leave_out(struct html_tree *tree);

#endif
