/* SPDX-License-Identifier: MIT
 *
 * html_article: finds what a web page is about. Navigation, lists of links, comments and what else
 * is around the article are left out, as long as something is left. Pure; any thread.
 */
#ifndef PARLEY_EXTRACT_HTML_ARTICLE_H
#define PARLEY_EXTRACT_HTML_ARTICLE_H

#include "shared/extract/html_tree.h"

/* Marks as left out what is not the article, and counts what is left. */
void html_article_find(struct html_tree *tree);

#endif
