/* SPDX-License-Identifier: MIT
 * archive.c - see archive.h. */
#include "services/backup/archive.h"

#include "shared/base/mem.h"

#include <endian.h>
#include <openssl/evp.h>

static const char family[] = "parley backup", of_version[] = ", data version ";
enum { FIRST_MAX_BYTES = 64, STEP_BYTES = 1 << 20, END_PARTS = 4 };

void archive_init(struct archive *archive, FILE *file)
{
    *archive = (struct archive){.file = file, .sum = EVP_MD_CTX_new()};
    if (archive->sum == NULL || EVP_DigestInit_ex(archive->sum, EVP_sha256(), NULL) != 1)
        abort();
    buf_init(&archive->record, ARCHIVE_RECORD_MAX_BYTES);
}

void archive_fini(struct archive *archive)
{
    EVP_MD_CTX_free(archive->sum);
    buf_fini(&archive->record);
    free(archive->parts);
    *archive = (struct archive){0};
}

static void add_to_sum(struct archive *archive, const void *bytes, size_t n)
{
    if (EVP_DigestUpdate(archive->sum, bytes, n) != 1)
        abort();
    archive->bytes += n;
}

static void take_sum(struct archive *archive, unsigned char ret_sum[ARCHIVE_SUM_BYTES])
{
    if (EVP_DigestFinal_ex(archive->sum, ret_sum, NULL) != 1)
        abort();
}

/* --- parts ------------------------------------------------------------------------------------ */

void archive_put_part(struct buf *b, struct str part)
{
    uint32_t n = htole32((uint32_t)part.n);
    if (part.n > UINT32_MAX) {
        b->is_over = true;
        return;
    }
    buf_put(b, (struct str){(const char *)&n, sizeof n});
    buf_put(b, part);
}

bool archive_cut_part(struct str *rest, struct str *ret_part)
{
    uint32_t n;
    if (rest->n < sizeof n)
        return false;
    memcpy(&n, rest->at, sizeof n);
    n = le32toh(n);
    if (n > rest->n - sizeof n)
        return false;
    *ret_part = (struct str){rest->at + sizeof n, n};
    *rest = (struct str){rest->at + sizeof n + n, rest->n - sizeof n - n};
    return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

static bool put(struct archive *archive, const void *bytes, size_t n)
{
    add_to_sum(archive, bytes, n);
    return fwrite(bytes, 1, n, archive->file) == n;
}

/* Returns its length. */
static size_t put_first_line(char line[FIRST_MAX_BYTES])
{
    return (size_t)snprintf(line, FIRST_MAX_BYTES, "%s%s%u\n", family, of_version,
                            (unsigned)DATA_VERSION);
}

bool archive_begin(struct archive *archive)
{
    char line[FIRST_MAX_BYTES];
    return put(archive, line, put_first_line(line));
}

bool archive_put(struct archive *archive, const struct str *parts, size_t n)
{
    struct buf *record = &archive->record;
    buf_clear(record);
    for (size_t i = 0; i < n; i++)
        archive_put_part(record, parts[i]);
    if (record->is_over)
        abort(); /* no call of Redis answers as much */
    uint32_t bytes = htole32((uint32_t)record->n);
    archive->record_n++;
    return put(archive, &bytes, sizeof bytes) && put(archive, record->at, record->n);
}

bool archive_end(struct archive *archive, struct str lease)
{
    unsigned char sum[ARCHIVE_SUM_BYTES];
    char n[STR_U64_MAX];
    take_sum(archive, sum);
    struct str parts[END_PARTS] = {
        STR("end"), lease, {n, str_put_u64(n, archive->record_n)}, {(const char *)sum, sizeof sum}};
    if (EVP_DigestInit_ex(archive->sum, EVP_sha256(), NULL) != 1)
        abort();
    return archive_put(archive, parts, END_PARTS);
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool refuse(struct archive *archive, const char *problem)
{
    archive->problem = ferror(archive->file) ? "it cannot be read" : problem;
    return false;
}

/* `rest`: the first line after its beginning. */
static bool refuse_version(struct archive *archive, struct str rest)
{
    static const struct str before = {of_version, sizeof of_version - 1};
    unsigned seen = 0;
    if (str_has_prefix(rest, before))
        seen = data_version_parse((struct str){rest.at + before.n, rest.n - before.n});
    return refuse(archive, data_version_explain(archive->version_text, "it", seen,
                                                "restore it with the Parley that wrote it"));
}

bool archive_open(struct archive *archive)
{
    char line[FIRST_MAX_BYTES] = "", expected[FIRST_MAX_BYTES];
    size_t n = put_first_line(expected), family_n = sizeof family - 1;
    if (fgets(line, sizeof line, archive->file) == NULL || strncmp(line, family, family_n) != 0)
        return refuse(archive, "it is not a Parley backup");
    if (strcmp(line, expected) == 0) {
        add_to_sum(archive, line, n);
        return true;
    }
    char *end = strchr(line, '\n');
    if (end == NULL && feof(archive->file))
        return refuse(archive, "it is truncated");
    if (end != NULL)
        *end = 0;
    return refuse_version(archive, str_of(line + family_n));
}

/* Reads the record's bytes, growing with what is there: a length alone costs no memory. */
static bool read_record(struct archive *archive, uint32_t *ret_length)
{
    struct buf *record = &archive->record;
    size_t n = fread(ret_length, 1, sizeof *ret_length, archive->file), bytes;
    if (n != sizeof *ret_length)
        return refuse(archive, "it is truncated");
    bytes = le32toh(*ret_length);
    if (bytes > ARCHIVE_RECORD_MAX_BYTES)
        return refuse(archive, "it is damaged");
    buf_clear(record);
    while (record->n < bytes) {
        size_t step = bytes - record->n < STEP_BYTES ? bytes - record->n : STEP_BYTES;
        char *at = buf_reserve(record, step);
        if (fread(at, 1, step, archive->file) != step)
            return refuse(archive, "it is truncated");
        record->n += step;
    }
    return true;
}

static bool read_parts(struct archive *archive, size_t *ret_n)
{
    struct str rest = buf_str(&archive->record), part;
    size_t n = 0;
    while (n < ARCHIVE_PARTS_MAX && archive_cut_part(&rest, &part)) {
        archive->parts = mem_grow(archive->parts, n, sizeof *archive->parts);
        archive->parts[n++] = part;
    }
    if (rest.n > 0 || n == 0)
        return refuse(archive, "it is damaged");
    *ret_n = n;
    return true;
}

static bool is_end_sound(struct archive *archive, size_t n)
{
    unsigned char sum[ARCHIVE_SUM_BYTES];
    uint64_t record_n, lease;
    take_sum(archive, sum);
    if (n != END_PARTS || !str_parse_u64(archive->parts[1], &lease) ||
        !str_parse_u64(archive->parts[2], &record_n) || record_n != archive->record_n ||
        !str_eq(archive->parts[3], (struct str){(const char *)sum, sizeof sum}))
        return refuse(archive, "it is damaged: the checksum does not match");
    if (fgetc(archive->file) != EOF)
        return refuse(archive, "there is data after its end");
    return true;
}

enum archive_found archive_next(struct archive *archive, const struct str **ret_parts,
                                size_t *ret_n)
{
    uint32_t length;
    size_t n = 0;
    if (!read_record(archive, &length) || !read_parts(archive, &n))
        return ARCHIVE_BROKEN;
    *ret_parts = archive->parts;
    *ret_n = n;
    if (str_eq(archive->parts[0], STR("end")))
        return is_end_sound(archive, n) ? ARCHIVE_END : ARCHIVE_BROKEN;
    add_to_sum(archive, &length, sizeof length);
    add_to_sum(archive, archive->record.at, archive->record.n);
    archive->record_n++;
    return ARCHIVE_RECORD;
}
