/* SPDX-License-Identifier: MIT
 *
 * doc_homes: the space of each document of a file, as far as it determines a shard: the parts of a
 * document come before the document itself, which alone names its space. 37 bytes per document. One
 * thread.
 */
#ifndef PARLEY_SERVICES_BACKUP_DOC_HOMES_H
#define PARLEY_SERVICES_BACKUP_DOC_HOMES_H

#include "shared/base/str.h"

enum { DOC_HOME_ID_BYTES = STR_UUID_BYTES };

struct doc_homes {
    struct doc_home {
        char doc[DOC_HOME_ID_BYTES];
        unsigned char home; /* the shard of its space, of SHARDS_MAX */
    } * at;
    size_t n;
};

/* False when `doc` is no id. */
bool doc_homes_add(struct doc_homes *homes, struct str doc, struct str space) must_check;
/* Once, after the last one. */
void doc_homes_sort(struct doc_homes *homes);
/* The shard of a document, of `n`; false when it was not added. */
bool doc_homes_find(const struct doc_homes *homes, struct str doc, unsigned n,
                    unsigned *ret_shard) must_check;
void doc_homes_fini(struct doc_homes *homes);

#endif
