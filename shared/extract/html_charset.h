/* SPDX-License-Identifier: MIT
 *
 * html_charset: the label of the encoding that a web page names: in a <meta> anywhere in it, else
 * in its XML declaration. Pure; any thread.
 */
#ifndef PARLEY_EXTRACT_HTML_CHARSET_H
#define PARLEY_EXTRACT_HTML_CHARSET_H

#include "shared/base/str.h"

/* The first label that encoding_is_known; empty if there is none. It lies in the page. */
struct str html_charset_find(struct str html) must_check;

#endif
