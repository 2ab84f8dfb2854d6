/* SPDX-License-Identifier: MIT
 *
 * app: the files of the web app, embedded by the build (cmake/app.pl) from app/dist. Constant, for
 * any thread.
 */
#ifndef PARLEY_WEB_APP_H
#define PARLEY_WEB_APP_H

#include "services/web/forms.h"

struct web_app_file {
    const char *name, *type; /* NULL ends the table */
    bool is_fixed;           /* its name has the hash of its content */
    struct web_forms forms;
};

extern const struct web_app_file web_app_files[];

#endif
