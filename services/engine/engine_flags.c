/* SPDX-License-Identifier: MIT
 * engine_flags.c - see engine_flags.h. */
#include "services/engine/engine_flags.h"

#include "shared/base/nearest.h"

#include <stdio.h>

enum { LINE_MAX_BYTES = 1024 };

bool engine_flags_complain(const char *line)
{
    fprintf(stderr, "parley: %s (see parley engine --help)\n", line);
    return false;
}

bool engine_flags_refuse(const char *flag, const char *what, const char *value)
{
    struct buf b;
    buf_init(&b, LINE_MAX_BYTES);
    buf_printf(&b, "--%s %s", flag, what);
    if (config_may_show(value)) {
        buf_lit(&b, ", not ");
        buf_put_typed(&b, "", str_of(value));
    }
    buf_terminate(&b);
    engine_flags_complain(b.at);
    buf_fini(&b);
    return false;
}

const char *engine_flags_llm_url(const struct config *config)
{
    const char *url = config_text(config, "llm");
    return url != NULL ? url : config_text(config, "llm-url");
}
