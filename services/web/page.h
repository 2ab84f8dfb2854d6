/* SPDX-License-Identifier: MIT
 *
 * page: the handbook's pages as the build made them (cmake/handbook.pl). Constant, for any thread.
 */
#ifndef PARLEY_WEB_PAGE_H
#define PARLEY_WEB_PAGE_H

#include "shared/base/str.h"

struct web_page {
    const char *name; /* below /handbook/; "" is the index; the last one has NULL */
    const char *etag; /* of its bytes, in quotes */
    struct str html;
};

extern const struct web_page web_pages[];
/* The source of the pages' one style, as Content-Security-Policy names it. */
extern const char web_style_hash[];

#endif
