/* SPDX-License-Identifier: MIT
 * doc_homes.c - see doc_homes.h. */
#include "services/backup/doc_homes.h"

#include "shared/redis/shard_map.h"

#include "shared/base/mem.h"

bool doc_homes_add(struct doc_homes *homes, struct str doc, struct str space)
{
    if (doc.n != DOC_HOME_ID_BYTES)
        return false;
    homes->at = mem_grow(homes->at, homes->n, sizeof *homes->at);
    struct doc_home *home = &homes->at[homes->n++];
    memcpy(home->doc, doc.at, sizeof home->doc);
    home->home = (unsigned char)shard_of(space, SHARDS_MAX);
    return true;
}

static int by_doc(const void *one, const void *other)
{
    return memcmp(one, other, DOC_HOME_ID_BYTES);
}

void doc_homes_sort(struct doc_homes *homes)
{
    if (homes->n > 1)
        qsort(homes->at, homes->n, sizeof *homes->at, by_doc);
}

bool doc_homes_find(const struct doc_homes *homes, struct str doc, unsigned n, unsigned *ret_shard)
{
    const struct doc_home *home =
        homes->n == 0 || doc.n != DOC_HOME_ID_BYTES
            ? NULL
            : bsearch(doc.at, homes->at, homes->n, sizeof *homes->at, by_doc);
    if (home == NULL)
        return false;
    *ret_shard = home->home & (n - 1); /* shard_of: the low bits of a hash */
    return true;
}

void doc_homes_fini(struct doc_homes *homes)
{
    free(homes->at);
    *homes = (struct doc_homes){0};
}
