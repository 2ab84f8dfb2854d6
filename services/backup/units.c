/* SPDX-License-Identifier: MIT
 * units.c - see units.h. Documents are in documents.c. */
#include "services/backup/units.h"

#include "shared/base/mem.h"

#include <errno.h>

extern const char lua_backup_read[];
extern const size_t lua_backup_read_bytes;

enum {
    STEP_WORDS = 12,
    TRIES = 8, /* a topic that is made again and again is a new one each time */
    KEY_MAX_BYTES = 4096,
    IDENTITY_MAX_BYTES = 1 << 20,
    COUNTS_MAX = 8,
};

/* One step of read.lua into units->answer. */
bool units_step(struct units *units, const struct str *args, size_t n)
{
    struct tool *tool = units->tool;
    struct str words[STEP_WORDS] = {
        STR("EVAL"), {lua_backup_read, lua_backup_read_bytes}, STR("1"), tool->prefix};
    memcpy(words + 4, args, n * sizeof *args);
    if (blocking_command(tool->blocking, words, 4 + n, 0, &units->answer) != ERR_OK)
        return tool_complain_redis(tool);
    if (units->answer.n == 0)
        return tool_complain(tool, "Redis: the reading script answered nothing");
    return true;
}

/* Was the last step answered on a different connection from the one before? *connection: that
 * one's.
 */
static bool is_moved(const struct units *units, unsigned *connection)
{
    unsigned before = *connection;
    *connection = blocking_connection_n(units->tool->blocking);
    return *connection != before;
}

static bool has(const struct units *units, const char *word)
{
    return str_eq(units->answer.at[0], str_of(word));
}

static bool put(struct units *units, const struct str *parts, size_t n)
{
    bool is_good = archive_put(units->archive, parts, n);
    if (!is_good) /* at once: what comes next may set errno */
        tool_complain(units->tool, "%s: %s", units->tool->path, strerror(errno));
    units->tool->bytes = units->archive->bytes;
    return is_good;
}

/* Names the shard, where it differs from that of the record before. */
static bool put_shard(struct units *units)
{
    char number[16];
    if (units->shard == units->tool->shard)
        return true;
    units->shard = units->tool->shard;
    snprintf(number, sizeof number, "%u", units->shard);
    return put(units, (struct str[]){STR("shard"), str_of(number)}, 2);
}

/* A record: these parts, and those of the answer from `from` on. */
bool units_put(struct units *units, const struct str *head, size_t head_n, size_t from)
{
    size_t rest_n = from < units->answer.n ? units->answer.n - from : 0;
    struct str *parts = mem_alloc((head_n + rest_n) * sizeof *parts);
    memcpy(parts, head, head_n * sizeof *parts);
    for (size_t i = 0; i < rest_n; i++)
        parts[head_n + i] = units->answer.at[from + i];
    bool is_good = put_shard(units) && put(units, parts, head_n + rest_n);
    free(parts);
    if (is_good)
        tool_show_progress(units->tool, "reading");
    return is_good;
}

/* --- any key ---------------------------------------------------------------------------------- */

/* A long string comes by a command of its own: a script would copy it once more. */
static enum units_key copy_string(struct units *units, struct str name, struct str expiry)
{
    struct buf key;
    char until[24];
    struct blocking_answer answer;
    snprintf(until, sizeof until, "%.*s", STR_ARG(expiry));
    buf_init(&key, KEY_MAX_BYTES);
    buf_put(&key, units->tool->prefix);
    buf_put(&key, name);
    struct str words[] = {STR("GET"), buf_str(&key)};
    enum err error = blocking_command(units->tool->blocking, words, 2, 0, &answer);
    buf_fini(&key);
    if (error != ERR_OK) {
        tool_complain_redis(units->tool);
        return UNITS_KEY_FAILED;
    }
    if (answer.n != 1 || answer.at[0].at == NULL)
        return UNITS_KEY_MISSING;
    struct str head[] = {STR("key"), name, STR("string"), str_of(until), answer.at[0]};
    units->answer.n = 0;
    return units_put(units, head, 5, 0) ? UNITS_KEY_PUT : UNITS_KEY_FAILED;
}

enum units_key units_copy(struct units *units, struct str name, bool must_expire)
{
    char cursor[64] = "0";
    bool is_first = true, is_last = false;
    unsigned connection = 0;
    do {
        struct str args[] = {STR("key"), name, str_of(cursor)};
        if (!units_step(units, args, 3))
            return UNITS_KEY_FAILED;
        if (is_moved(units, &connection) && strcmp(cursor, "0") != 0) {
            strcpy(cursor, "0"); /* what comes twice is stored once */
            continue;
        }
        const struct blocking_answer *a = &units->answer;
        if (a->n < 3 || has(units, "none") || (must_expire && a->at[1].n == 0))
            return is_first ? UNITS_KEY_MISSING : UNITS_KEY_PUT;
        if (has(units, "string") && a->n == 3)
            return copy_string(units, name, a->at[1]);
        snprintf(cursor, sizeof cursor, "%.*s", STR_ARG(a->at[2]));
        struct str head[] = {STR("key"), name, a->at[0], a->at[1]};
        if (a->n > 3 && !units_put(units, head, 4, 3))
            return UNITS_KEY_FAILED;
        units->skipped_n += a->n == 3 && is_first && strcmp(cursor, "0") == 0;
        is_first = false;
        is_last = strcmp(cursor, "0") == 0;
    } while (!is_last);
    return UNITS_KEY_PUT;
}

bool units_put_key(struct units *units, struct str name)
{
    enum units_key found = units_copy(units, name, false);
    units->tool->key_n += found == UNITS_KEY_PUT;
    return found != UNITS_KEY_FAILED;
}

bool units_put_expiring(struct units *units, struct str name)
{
    enum units_key found = units_copy(units, name, true);
    units->tool->key_n += found == UNITS_KEY_PUT;
    return found != UNITS_KEY_FAILED;
}

/* --- counts ----------------------------------------------------------------------------------- */

struct count {
    char field[32];
    uint64_t n;
};

/* Adds what the shard in use has of `name`; returns whether there is anything. False after a line.
 */
static bool add_counts(struct units *units, struct str name, struct count *counts, size_t *n,
                       bool *ret_is_there)
{
    struct str args[] = {STR("key"), name, STR("0")};
    if (!units_step(units, args, 3))
        return false;
    const struct blocking_answer *a = &units->answer;
    *ret_is_there = has(units, "hash");
    for (size_t i = 3; *ret_is_there && i + 1 < a->n; i += 2) {
        uint64_t number;
        size_t at = 0;
        while (at < *n && !str_eq(a->at[i], str_of(counts[at].field)))
            at++;
        if (at == COUNTS_MAX || a->at[i].n >= sizeof counts->field ||
            !str_parse_u64(a->at[i + 1], &number))
            continue;
        if (at == *n)
            snprintf(counts[(*n)++].field, sizeof counts->field, "%.*s", STR_ARG(a->at[i]));
        counts[at].n += number;
    }
    return true;
}

/* The first shard that has it writes all of it. */
bool units_put_counted(struct units *units, struct str name)
{
    struct count counts[COUNTS_MAX] = {{.n = 0}};
    struct tool *tool = units->tool;
    struct str parts[4 + 2 * COUNTS_MAX] = {STR("key"), name, STR("hash")};
    char expiry[24] = "", numbers[COUNTS_MAX][24];
    unsigned own = tool->shard;
    size_t n = 0;
    bool is_good = true, is_there = false, is_others = false;
    for (unsigned i = 0; is_good && !is_others && i < tool->map.n; i++) {
        tool_use(tool, i);
        is_good = add_counts(units, name, counts, &n, &is_there);
        if (is_good && is_there && i == own)
            snprintf(expiry, sizeof expiry, "%.*s", STR_ARG(units->answer.at[1]));
        is_others = is_good && is_there && i < own;
    }
    tool_use(tool, own);
    if (!is_good || is_others || n == 0)
        return is_good;
    parts[3] = str_of(expiry);
    for (size_t i = 0; i < n; i++) {
        snprintf(numbers[i], sizeof numbers[i], "%llu", (unsigned long long)counts[i].n);
        parts[4 + 2 * i] = str_of(counts[i].field);
        parts[5 + 2 * i] = str_of(numbers[i]);
    }
    units->answer.n = 0;
    tool->key_n++;
    return units_put(units, parts, 4 + 2 * n, 0);
}

/* --- lookups ---------------------------------------------------------------------------------- */

bool units_put_lookup(struct units *units, struct str fingerprint)
{
    struct str args[] = {STR("lookup"), fingerprint};
    if (!units_step(units, args, 2))
        return false;
    if (has(units, "gone"))
        return true;
    struct str head[] = {STR("lookup"), fingerprint};
    units->tool->key_n++;
    return units_put(units, head, 2, 1);
}

/* --- topics ----------------------------------------------------------------------------------- */

enum piece { PIECE_LAST, PIECE_MORE, PIECE_OTHER, PIECE_FAILED };

struct reading {
    char cursor[24], last[24];
    unsigned connection;
    struct buf identity;
};

/* One piece of a topic; PIECE_OTHER: it is gone, or another one. */
static enum piece put_piece(struct units *units, struct str topic, struct reading *r)
{
    bool is_first = r->last[0] == 0;
    struct str args[] = {STR("topic"), topic, str_of(r->cursor), str_of(r->last),
                         buf_str(&r->identity)};
    if (args[4].at == NULL)
        args[4] = STR("");
    if (!units_step(units, args, 5))
        return PIECE_FAILED;
    const struct blocking_answer *a = &units->answer;
    if (is_moved(units, &r->connection) && !is_first)
        return PIECE_OTHER; /* its cursor means nothing there: from the beginning */
    if (!has(units, "ok") || a->n < 4)
        return PIECE_OTHER;
    snprintf(r->cursor, sizeof r->cursor, "%.*s", STR_ARG(a->at[1]));
    snprintf(r->last, sizeof r->last, "%.*s", STR_ARG(a->at[2]));
    buf_clear(&r->identity);
    buf_put(&r->identity, a->at[3]);
    for (size_t i = 4; i < a->n; i += 2)
        units->tool->row_n += a->at[i].n > 2 && memcmp(a->at[i].at, "q:", 2) == 0;
    struct str head[] = {STR("topic"), topic, is_first ? STR("1") : STR("0")};
    if (!units_put(units, head, 3, 4))
        return PIECE_FAILED;
    return strcmp(r->cursor, "0") == 0 ? PIECE_LAST : PIECE_MORE;
}

bool units_put_topic(struct units *units, struct str topic)
{
    enum piece piece = PIECE_OTHER;
    bool is_there = true;
    for (int i = 0; is_there && piece == PIECE_OTHER && i < TRIES; i++) {
        struct reading r = {.cursor = "0"};
        buf_init(&r.identity, IDENTITY_MAX_BYTES);
        do
            piece = put_piece(units, topic, &r);
        while (piece == PIECE_MORE);
        if (piece == PIECE_OTHER && r.last[0] == 0) {
            is_there = false;
        } else if (piece == PIECE_OTHER) {
            struct str drop[] = {STR("drop"), topic};
            units->answer.n = 0;
            if (!units_put(units, drop, 2, 0))
                piece = PIECE_FAILED;
        }
        buf_fini(&r.identity);
    }
    units->tool->topic_n += piece == PIECE_LAST;
    return piece != PIECE_FAILED;
}

/* --- the head and the end --------------------------------------------------------------------- */

/* The value of `redis_version:` or the like in the answer to INFO, 0-terminated. */
static void find_version(struct str info, char *ret_version, size_t size)
{
    struct str line;
    snprintf(ret_version, size, "unknown");
    while ((line = str_cut(&info, '\n')).at != NULL) {
        line = str_trim(line);
        struct str rest = line, name = str_cut(&rest, ':');
        if (str_eq(name, STR("redis_version")))
            snprintf(ret_version, size, "%.*s", STR_ARG(rest));
    }
}

bool units_put_head(struct units *units)
{
    struct tool *tool = units->tool;
    struct blocking_answer answer;
    char version[64], ms[32], shards[16];
    struct str info[] = {STR("INFO"), STR("server")}, time[] = {STR("TIME")};
    if (blocking_command(tool->blocking, info, 2, 0, &answer) != ERR_OK || answer.n != 1)
        return tool_complain_redis(tool);
    find_version(answer.at[0], version, sizeof version);
    if (blocking_command(tool->blocking, time, 1, 0, &answer) != ERR_OK || answer.n != 2)
        return tool_complain_redis(tool);
    snprintf(ms, sizeof ms, "%.*s000", STR_ARG(answer.at[0]));
    snprintf(shards, sizeof shards, "%u", tool->map.n);
    struct str head[] = {STR("head"),     tool->prefix,        str_of(ms),
                         str_of(version), STR(PARLEY_VERSION), str_of(shards)};
    units->answer.n = 0;
    return units_put(units, head, 6, 0);
}

/* The last number that the shard in use has given. */
static bool read_lease(struct tool *tool, uint64_t *ret_lease)
{
    struct blocking_answer answer;
    struct buf key;
    buf_init(&key, KEY_MAX_BYTES);
    buf_put(&key, tool->prefix);
    buf_lit(&key, "meta");
    struct str words[] = {STR("HGET"), buf_str(&key), STR("lease")};
    enum err error = blocking_command(tool->blocking, words, 3, 0, &answer);
    buf_fini(&key);
    if (error != ERR_OK || answer.n != 1)
        return tool_complain_redis(tool);
    if (answer.at[0].at == NULL || !str_parse_u64(answer.at[0], ret_lease))
        *ret_lease = 0;
    return true;
}

bool units_put_end(struct units *units)
{
    struct tool *tool = units->tool;
    uint64_t most = 0, lease = 0;
    char text[24];
    for (unsigned i = 0; i < tool->map.n; i++) {
        tool_use(tool, i);
        if (!read_lease(tool, &lease))
            return false;
        most = lease > most ? lease : most;
    }
    snprintf(text, sizeof text, "%llu", (unsigned long long)most);
    return archive_end(units->archive, str_of(text)) ||
           tool_complain(tool, "%s: %s", tool->path, strerror(errno));
}
