/* SPDX-License-Identifier: MIT
 *
 * package: office documents and books are zip files of parts. Opens one in memory, finds parts by
 * name in any case, reads them as XML or as bytes, and follows the relationships of Open Packaging
 * (ECMA-376, part 2). A part is read once at most, so whatever its relationships say, the cost is
 * that of the file. One thread.
 *
 * A bomb is refused by what the zip file declares (parts, sizes, ratios) and by what really comes
 * out.
 */
#ifndef PARLEY_EXTRACT_PACKAGE_H
#define PARLEY_EXTRACT_PACKAGE_H

#include "shared/extract/extract.h"
#include "shared/extract/pool.h"
#include "shared/extract/xml_reader.h"

#include <zip.h>

struct package_part {
    struct str name; /* as the zip file has it; borrowed from libzip */
    zip_uint64_t index;
    bool was_read;
};

struct package {
    zip_t *zip;
    struct package_part *parts; /* shorter names first, then by their bytes without case */
    size_t part_n;
};

/* Opens the file, whose bytes are borrowed until package_close. NONE, BROKEN or BOMB; only with
 * NONE it is open. */
enum extract_fault package_open(struct package *package, struct str bytes) must_check;
void package_close(struct package *package);

/* Returns the part of that name; NULL if there is none. */
struct package_part *package_find(const struct package *package, struct str name);

/* Reads a part. NONE, BROKEN, BOMB or ENCRYPTED. A part that is missing or was read before is
 * NONE, without an event. */
enum extract_fault package_read_xml(struct package *package, struct str name,
                                    const struct xml_handler *handler) must_check;
/* The same, puts its bytes. */
enum extract_fault package_read(struct package *package, struct str name,
                                struct buf *bytes) must_check;

/* Returns ENCRYPTED if a part that lists what is encrypted contains a sign of it. Else NONE, BROKEN
 * or BOMB. */
enum extract_fault package_check_encrypted(struct package *package, const char *part,
                                           const char *sign) must_check;

/* ---- relationships ---- */

struct relation {
    struct str id, type, target; /* type: its last word; target: the name of a part */
};

struct relations {
    struct pool texts;
    struct relation *at; /* by id, shorter ones first */
    size_t n;
};

/* Reads the relationships of a part, or with an empty name those of the package. External ones are
 * left out. For relations_fini, whatever it returns. */
enum extract_fault relations_read(struct package *package, struct str part,
                                  struct relations *relations) must_check;
void relations_fini(struct relations *relations);
/* Returns the relationship of that id; NULL if there is none. */
const struct relation *relations_find(const struct relations *relations, struct str id);
/* The target of the first relationship of a type; empty if there is none. */
struct str relations_target(const struct relations *relations, const char *type);

/* Puts the name of what `target` means in the part `base`: both have slashes, "..", or none. */
void package_put_target(struct buf *name, struct str base, struct str target);

#endif
