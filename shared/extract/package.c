/* SPDX-License-Identifier: MIT
 * package.c - see package.h. The zip file is libzip's; parts are inflated while they are read. */
#include "shared/extract/package.h"

#include "shared/base/mem.h"

#include <stdlib.h>

enum {
    PARTS_MAX = 16384,
    STEP_BYTES = 65536,
    RATIO_MAX = 250,
    RATIO_FROM_BYTES = 1 << 20, /* small parts of one repeated letter are no danger */
    PART_MAX_BYTES = 64 << 20,
    RELATIONS_MAX = 65536,
    NAME_MAX_BYTES = 1024,
    FOLDERS_MAX = 32,
    LIST_MAX_BYTES = 1 << 20, /* of encrypted parts */
};
static const zip_uint64_t total_max_bytes = (zip_uint64_t)1 << 30;

/* ---- opening ---- */

static int compare_names(struct str a, struct str b)
{
    if (a.n != b.n)
        return a.n < b.n ? -1 : 1;
    for (size_t i = 0; i < a.n; i++) {
        int x = (unsigned char)a.at[i], y = (unsigned char)b.at[i];
        x |= x >= 'A' && x <= 'Z' ? 0x20 : 0;
        y |= y >= 'A' && y <= 'Z' ? 0x20 : 0;
        if (x != y)
            return x - y;
    }
    return 0;
}

static int compare_parts(const void *a, const void *b)
{
    return compare_names(((const struct package_part *)a)->name,
                         ((const struct package_part *)b)->name);
}

static enum extract_fault list_parts(struct package *package, zip_uint64_t n)
{
    zip_uint64_t total = 0;
    for (zip_uint64_t i = 0; i < n; i++) {
        zip_stat_t entry;
        if (zip_stat_index(package->zip, i, 0, &entry) != 0 ||
            (entry.valid & (ZIP_STAT_SIZE | ZIP_STAT_NAME)) != (ZIP_STAT_SIZE | ZIP_STAT_NAME))
            return EXTRACT_FAULT_BROKEN;
        if (entry.size > total_max_bytes || (total += entry.size) > total_max_bytes)
            return EXTRACT_FAULT_BOMB;
        package->parts[package->part_n++] =
            (struct package_part){.name = str_of(entry.name), .index = i};
    }
    qsort(package->parts, package->part_n, sizeof *package->parts, compare_parts);
    return EXTRACT_FAULT_NONE;
}

static zip_t *open_zip(struct str bytes)
{
    zip_error_t error;
    zip_t *zip = NULL;
    zip_error_init(&error);
    zip_source_t *source = zip_source_buffer_create(bytes.at, bytes.n, 0, &error);
    if (source != NULL)
        zip = zip_open_from_source(source, ZIP_RDONLY, &error);
    if (zip == NULL)
        zip_source_free(source);
    zip_error_fini(&error);
    return zip;
}

enum extract_fault package_open(struct package *package, struct str bytes)
{
    *package = (struct package){.zip = open_zip(bytes)};
    if (package->zip == NULL)
        return EXTRACT_FAULT_BROKEN;
    zip_uint64_t n = (zip_uint64_t)zip_get_num_entries(package->zip, 0);
    package->parts = mem_zeroed_n(n > PARTS_MAX ? 0 : n, sizeof *package->parts);
    enum extract_fault fault = n > PARTS_MAX ? EXTRACT_FAULT_BOMB : list_parts(package, n);
    if (fault != EXTRACT_FAULT_NONE)
        package_close(package);
    return fault;
}

void package_close(struct package *package)
{
    zip_discard(package->zip);
    free(package->parts);
    *package = (struct package){0};
}

struct package_part *package_find(const struct package *package, struct str name)
{
    struct package_part wanted = {.name = name};
    return package->part_n == 0 ? NULL
                                : bsearch(&wanted, package->parts, package->part_n,
                                          sizeof *package->parts, compare_parts);
}

/* ---- reading ---- */

/* Checks what an entry declares of itself, before anything is inflated. */
static enum extract_fault check_entry(const zip_stat_t *entry)
{
    const zip_uint64_t needed =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if ((entry->valid & needed) != needed)
        return EXTRACT_FAULT_BROKEN;
    if (entry->encryption_method != ZIP_EM_NONE)
        return EXTRACT_FAULT_ENCRYPTED;
    if (entry->comp_method != ZIP_CM_STORE && entry->comp_method != ZIP_CM_DEFLATE)
        return EXTRACT_FAULT_BROKEN;
    if (entry->size > PART_MAX_BYTES ||
        (entry->size > RATIO_FROM_BYTES && entry->size / RATIO_MAX > entry->comp_size))
        return EXTRACT_FAULT_BOMB;
    return EXTRACT_FAULT_NONE;
}

/* Takes the next bytes of a part; false: they make no sense. */
typedef bool taker(void *data, struct str bytes);

static enum extract_fault read_file(zip_file_t *file, zip_uint64_t size, taker *take, void *data)
{
    char bytes[STEP_BYTES];
    zip_int64_t n;
    zip_uint64_t total = 0;
    while ((n = zip_fread(file, bytes, sizeof bytes)) > 0) {
        /* More comes out than was declared. */
        total += (zip_uint64_t)n;
        if (total > size)
            return EXTRACT_FAULT_BOMB;
        if (!take(data, (struct str){bytes, (size_t)n}))
            return EXTRACT_FAULT_BROKEN;
    }
    return n == 0 ? EXTRACT_FAULT_NONE : EXTRACT_FAULT_BROKEN;
}

/* Reads a part that was not read before. */
static enum extract_fault read_part(struct package *package, struct package_part *part, taker *take,
                                    void *data)
{
    zip_stat_t entry;
    part->was_read = true;
    if (zip_stat_index(package->zip, part->index, 0, &entry) != 0)
        return EXTRACT_FAULT_BROKEN;
    enum extract_fault fault = check_entry(&entry);
    if (fault != EXTRACT_FAULT_NONE)
        return fault;
    zip_file_t *file = zip_fopen_index(package->zip, part->index, 0);
    if (file == NULL)
        return EXTRACT_FAULT_BROKEN;
    fault = read_file(file, entry.size, take, data);
    zip_fclose(file);
    return fault;
}

static bool take_xml(void *data, struct str bytes)
{
    return xml_reader_feed(data, bytes);
}

enum extract_fault package_read_xml(struct package *package, struct str name,
                                    const struct xml_handler *handler)
{
    struct xml_reader reader;
    struct package_part *part = package_find(package, name);
    if (part == NULL || part->was_read)
        return EXTRACT_FAULT_NONE;
    xml_reader_init(&reader, handler);
    enum extract_fault fault = read_part(package, part, take_xml, &reader);
    if (fault == EXTRACT_FAULT_NONE && !xml_reader_end(&reader))
        fault = EXTRACT_FAULT_BROKEN;
    xml_reader_fini(&reader);
    return fault;
}

static bool take_bytes(void *data, struct str bytes)
{
    buf_put(data, bytes);
    return true;
}

enum extract_fault package_read(struct package *package, struct str name, struct buf *bytes)
{
    struct package_part *part = package_find(package, name);
    if (part == NULL || part->was_read)
        return EXTRACT_FAULT_NONE;
    return read_part(package, part, take_bytes, bytes);
}

enum extract_fault package_check_encrypted(struct package *package, const char *part,
                                           const char *sign)
{
    struct buf list;
    buf_init(&list, LIST_MAX_BYTES);
    enum extract_fault fault = package_read(package, str_of(part), &list);
    if (fault == EXTRACT_FAULT_NONE && str_holds(buf_str(&list), str_of(sign)))
        fault = EXTRACT_FAULT_ENCRYPTED;
    buf_fini(&list);
    return fault;
}

/* ---- relationships ---- */

/* Puts one step of a path: a folder is entered, or with ".." left. */
static void put_step(struct buf *name, size_t from, struct str step)
{
    if (step.n == 0 || str_eq(step, STR(".")))
        return;
    if (!str_eq(step, STR(".."))) {
        if (name->n > from)
            buf_put_char(name, '/');
        buf_put(name, step);
        return;
    }
    while (name->n > from && name->at[name->n - 1] != '/')
        name->n--;
    name->n -= name->n > from;
}

static struct str folder_of(struct str part)
{
    while (part.n > 0 && part.at[part.n - 1] != '/')
        part.n--;
    return part;
}

void package_put_target(struct buf *name, struct str base, struct str target)
{
    size_t from = name->n;
    struct str paths[] = {folder_of(base), target};
    for (size_t i = target.n > 0 && *target.at == '/'; i < 2; i++)
        for (int step_n = 0; paths[i].at != NULL && step_n < FOLDERS_MAX; step_n++)
            put_step(name, from, str_cut(&paths[i], '/'));
}

struct relations_reading {
    const struct package *package;
    struct relations *relations;
    struct str part;
    struct buf name, decoded; /* of a target */
};

/* Returns the part's name, which the file or the relationship may have written as a URL. */
static struct str resolve(struct relations_reading *reading, struct str target)
{
    buf_clear(&reading->name);
    buf_clear(&reading->decoded);
    package_put_target(&reading->name, reading->part, target);
    struct str name = buf_str(&reading->name);
    if (package_find(reading->package, name) != NULL ||
        !buf_put_url_decoded(&reading->decoded, name, false) ||
        package_find(reading->package, buf_str(&reading->decoded)) == NULL)
        return name;
    return buf_str(&reading->decoded);
}

static void on_relation(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct relations_reading *reading = reader->data;
    struct relations *relations = reading->relations;
    struct str target = xml_attribute(tag, "Target"), type = xml_attribute(tag, "Type");
    if (tag->space != XML_PACKAGE || !xml_is(tag, "Relationship") || type.n == 0 ||
        relations->n == RELATIONS_MAX || target.n > NAME_MAX_BYTES ||
        str_eq(xml_attribute(tag, "TargetMode"), STR("External")))
        return;
    size_t folder_n = folder_of(type).n;
    struct relation relation = {
        .id = pool_keep(&relations->texts, xml_attribute(tag, "Id")),
        .type = pool_keep(&relations->texts, (struct str){type.at + folder_n, type.n - folder_n}),
        .target = pool_keep(&relations->texts, resolve(reading, target))};
    relations->at = mem_grow(relations->at, relations->n, sizeof *relations->at);
    relations->at[relations->n++] = relation;
}

static int compare_relations(const void *a, const void *b)
{
    return compare_names(((const struct relation *)a)->id, ((const struct relation *)b)->id);
}

static void put_relations_name(struct buf *name, struct str part)
{
    struct str folder = folder_of(part);
    buf_put(name, folder);
    buf_lit(name, "_rels/");
    buf_put(name, (struct str){part.at + folder.n, part.n - folder.n});
    buf_lit(name, ".rels");
}

enum extract_fault relations_read(struct package *package, struct str part,
                                  struct relations *relations)
{
    struct relations_reading reading = {.package = package, .relations = relations, .part = part};
    struct xml_handler handler = {.data = &reading, .on_start = on_relation};
    struct buf name;
    *relations = (struct relations){.texts.max_bytes = PART_MAX_BYTES};
    buf_init(&name, 2 * NAME_MAX_BYTES);
    buf_init(&reading.name, 2 * NAME_MAX_BYTES);
    buf_init(&reading.decoded, 2 * NAME_MAX_BYTES);
    put_relations_name(&name, part);
    enum extract_fault fault = package_read_xml(package, buf_str(&name), &handler);
    buf_fini(&name);
    buf_fini(&reading.name);
    buf_fini(&reading.decoded);
    if (relations->n > 0)
        qsort(relations->at, relations->n, sizeof *relations->at, compare_relations);
    return fault;
}

void relations_fini(struct relations *relations)
{
    pool_fini(&relations->texts);
    free(relations->at);
}

const struct relation *relations_find(const struct relations *relations, struct str id)
{
    struct relation wanted = {.id = id};
    return relations->n == 0 ? NULL
                             : bsearch(&wanted, relations->at, relations->n, sizeof *relations->at,
                                       compare_relations);
}

struct str relations_target(const struct relations *relations, const char *type)
{
    for (size_t i = 0; i < relations->n; i++)
        if (str_eq(relations->at[i].type, str_of(type)))
            return relations->at[i].target;
    return STR("");
}
