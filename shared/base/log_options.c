/* SPDX-License-Identifier: MIT
 * log_options.c - see log_options.h. */
#include "shared/base/log_options.h"

#include "shared/base/log.h"

#include <stdlib.h>

const struct config_group log_options = {
    "Log", (const struct config_option[]){
               OPTION_CHOICE("log-level", "debug|info|warn|error", "info",
                             "Lowest level that is logged to standard error."),
               OPTION_CHOICE("log-format", "json|text", "text", "Format of log lines."),
               {0}}};

const struct config_group log_tool_options = {
    "Log",
    (const struct config_option[]){OPTION_CHOICE("log-level", "debug|info|warn|error", "error",
                                                 "Lowest level that is logged to standard error."),
                                   {0}}};

void log_read_options(const struct config *config)
{
    enum log_level level;
    bool is_json =
        config_has(config, "log-format") && strcmp(config_text(config, "log-format"), "json") == 0;
    if (!log_parse_level(str_of(config_text(config, "log-level")), &level))
        abort(); /* the row has the choices */
    log_setup(level, is_json);
}
