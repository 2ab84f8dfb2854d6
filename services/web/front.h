/* SPDX-License-Identifier: MIT
 *
 * front: the front page, which the build generates from front.html, page.css and front.css
 * (cmake/html_frame.pl). Constant, for any thread.
 */
#ifndef PARLEY_WEB_FRONT_H
#define PARLEY_WEB_FRONT_H

#include "shared/http/request/html_frame.h"

extern const struct html_frame front_frame;

#endif
