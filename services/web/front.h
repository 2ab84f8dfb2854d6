/* SPDX-License-Identifier: MIT
 *
 * front: the front page, which the build generates from front.html, page.css and front.css
 * (cmake/front.pl). Constant, for any thread.
 */
#ifndef PARLEY_WEB_FRONT_H
#define PARLEY_WEB_FRONT_H

#include "shared/base/str.h"

struct web_front_page {
    struct str head, foot; /* the parts before and after the numbers */
    const char *style;     /* the CSP source of its only style element ("sha256-...") */
};

extern const struct web_front_page web_front_page;

#endif
