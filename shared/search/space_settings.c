/* SPDX-License-Identifier: MIT
 * space_settings.c - see space_settings.h. */
#include "shared/search/space_settings.h"

static const char *const mode_names[VECTORS_MODE_NR] = {"auto", "exact", "set"};

const struct config_group space_options = {
    "Stored documents",
    (const struct config_option[]){
        OPTION_CHOICE(
            "vectors", "auto|exact|set", "auto",
            "How documents of a new owner or collection are searched: exact (the node "
            "compares all vectors), set (a vector set, Redis 8 only) or auto (set if Redis "
            "supports it, otherwise exact). An owner or collection that already has documents "
            "keeps its method."),
        OPTION_NUMBER(
            "owner-max-mib", "N", "500", 1, 1048576,
            "Storage limit for the documents of one owner or collection, in MiB: uploads, "
            "texts and indexes together."),
        {0}}};

struct space_settings space_read_options(const struct config *config)
{
    struct space_settings settings = {.max_bytes = config_number(config, "owner-max-mib") << 20};
    const char *mode = config_text(config, "vectors"); /* one of them, says the row */
    for (unsigned i = 0; i < sizeof mode_names / sizeof *mode_names; i++)
        if (strcmp(mode, mode_names[i]) == 0)
            settings.vectors = i;
    return settings;
}
