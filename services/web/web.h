/* SPDX-License-Identifier: MIT
 *
 * web: what people read in a browser. Stateless: nothing to make, and nothing to end.
 */
#ifndef PARLEY_WEB_WEB_H
#define PARLEY_WEB_WEB_H

#include "shared/http/request.h"

handler web_show_index, web_show_page;

#endif
