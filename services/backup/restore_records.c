/* SPDX-License-Identifier: MIT
 * restore_records.c - see restore.h: each kind of record, by the verbs in lua/backup, on the shard
 * where it belongs.
 *
 * A topic is on the shard of its name, a document on that of its space, a run on that of its
 * session, lookups are on the first.
 * Of other keys kinds.h says where they go. */
#include "services/backup/restore.h"

#include "services/backup/kinds.h"
#include "shared/base/mem.h"

#include <assert.h>

enum { PARTS_OF_KEY = 4, ID_BYTES = 24 };

/* --- keys ------------------------------------------------------------------------------------- */

/* One piece of a key, onto the shard in use. */
static bool put_key(struct restore *x, const struct str *parts, size_t n)
{
    struct blocking_call call = restore_call(x);
    struct verb_writer verb = begin_restore_key(blocking_start(&call), .name = parts[1],
                                                .of = parts[2], .expires = parts[3]);
    for (size_t i = PARTS_OF_KEY; i < n; i++)
        put_restore_key_piece(&verb, .value = parts[i]);
    end_verb(&verb);
    if (!restore_has_reply(x, &call))
        return false;
    x->unknown_n += str_eq(call.reply, STR("unknown"));
    return true;
}

static bool put_everywhere(struct restore *x, const struct str *parts, size_t n)
{
    bool is_good = true;
    for (unsigned i = 0; is_good && i < x->tool.map.n; i++) {
        tool_use(&x->tool, i);
        is_good = put_key(x, parts, n);
    }
    return is_good;
}

static bool put_kept(struct restore *x, const struct str *parts, size_t n)
{
    unsigned to_n = x->tool.map.n, least = x->from_n < to_n ? x->from_n : to_n;
    bool is_good = true;
    assert(least > 0);
    for (unsigned i = x->from % least; is_good && i < to_n; i += least) {
        tool_use(&x->tool, i);
        is_good = put_key(x, parts, n);
    }
    return is_good;
}

static bool put_members(struct restore *x, const struct str *parts, size_t n)
{
    unsigned to_n = x->tool.map.n;
    struct str *some = mem_alloc(n * sizeof *some);
    bool is_good = true;
    memcpy(some, parts, PARTS_OF_KEY * sizeof *parts);
    for (unsigned shard = 0; is_good && shard < to_n; shard++) {
        size_t some_n = PARTS_OF_KEY;
        for (size_t i = PARTS_OF_KEY; i < n; i++)
            if (shard_of(parts[i], to_n) == shard)
                some[some_n++] = parts[i];
        tool_use(&x->tool, shard);
        is_good = some_n == PARTS_OF_KEY || put_key(x, some, some_n);
    }
    free(some);
    return is_good;
}

/* Numbers are shared out, and their sum stays. */
static bool put_divided(struct restore *x, const struct str *parts, size_t n)
{
    unsigned to_n = x->tool.map.n;
    char numbers[PARTS_OF_KEY * 4][24];
    struct str some[PARTS_OF_KEY * 5];
    bool is_good = true;
    if (n > sizeof some / sizeof *some || to_n == 1)
        return put_kept(x, parts, n);
    for (unsigned shard = 0; is_good && shard < to_n; shard++) {
        memcpy(some, parts, n * sizeof *parts);
        for (size_t i = PARTS_OF_KEY + 1, k = 0; i < n; i += 2, k++) {
            uint64_t number;
            if (!str_parse_u64(parts[i], &number))
                number = 0;
            snprintf(numbers[k], sizeof numbers[k], "%llu",
                     (unsigned long long)(number + shard) / to_n);
            some[i] = str_of(numbers[k]);
        }
        tool_use(&x->tool, shard);
        is_good = put_key(x, some, n);
    }
    return is_good;
}

static bool put_by_id(struct restore *x, const struct str *parts, size_t n)
{
    struct str id = parts[1];
    (void)str_cut(&id, ':');
    if (id.n > ID_BYTES)
        id.n = ID_BYTES;
    tool_use(&x->tool, shard_of(id, x->tool.map.n));
    return put_key(x, parts, n);
}

static bool put_key_record(struct restore *x, const struct str *parts, size_t n)
{
    if (x->is_skipping)
        return true;
    x->tool.key_n++;
    if (x->is_in_unit)
        return put_key(x, parts, n);
    switch (kind_home_of(parts[1])) {
    case HOME_CLUSTER: tool_use(&x->tool, 0); return put_key(x, parts, n);
    case HOME_EVERY: return put_everywhere(x, parts, n);
    case HOME_MEMBERS: return put_members(x, parts, n);
    case HOME_DIVIDED: return put_divided(x, parts, n);
    case HOME_ID: return put_by_id(x, parts, n);
    default: return put_kept(x, parts, n);
    }
}

/* --- lookups and topics ----------------------------------------------------------------------- */

static bool put_lookup(struct restore *x, const struct str *parts, size_t n)
{
    tool_use(&x->tool, 0);
    struct blocking_call call = restore_call(x);
    x->tool.key_n++;
    struct verb_writer verb =
        begin_restore_lookup(blocking_start(&call), .fingerprint = parts[1], .due = parts[2]);
    for (size_t i = 3; i + 1 < n; i += 2)
        put_restore_lookup_pair(&verb, .field = parts[i], .value = parts[i + 1]);
    end_verb(&verb);
    return restore_has_reply(x, &call);
}

static void use_topic(struct restore *x, struct str topic)
{
    tool_use(&x->tool, shard_of(topic, x->tool.map.n));
}

static bool put_topic(struct restore *x, const struct str *parts, size_t n)
{
    use_topic(x, parts[1]);
    struct blocking_call call = restore_call(x);
    bool is_first = str_eq(parts[2], STR("1"));
    x->tool.topic_n += is_first;
    struct verb_writer verb =
        begin_restore_topic(blocking_start(&call), .topic = parts[1], .is_first = is_first);
    for (size_t i = 3; i + 1 < n; i += 2) {
        x->tool.row_n += str_has_prefix(parts[i], STR("q:"));
        put_restore_topic_pair(&verb, .field = parts[i], .value = parts[i + 1]);
    }
    end_verb(&verb);
    return restore_has_reply(x, &call);
}

static bool put_drop(struct restore *x, const struct str *parts, size_t n)
{
    use_topic(x, parts[1]);
    struct blocking_call call = restore_call(x);
    call_restore_drop(blocking_start(&call), .topic = parts[1]);
    return restore_has_reply(x, &call);
}

/* --- documents -------------------------------------------------------------------------------- */

/* Goes to the document's shard. One that never comes, whose blobs are forgotten later, has none. */
static bool use_document(struct restore *x, struct str doc)
{
    unsigned shard;
    if (!doc_homes_find(&x->doc_homes, doc, x->tool.map.n, &shard))
        return false;
    tool_use(&x->tool, shard);
    return true;
}

static bool put_blobs(struct restore *x, const struct str *parts, size_t n)
{
    x->is_in_unit = true;
    x->is_skipping = !use_document(x, parts[1]);
    return x->is_skipping || restore_ask_key(x, "EXISTS", "doc:", parts[1], &x->is_skipping);
}

static bool has_sets(const struct restore *x)
{
    return x->has_sets[x->tool.shard % x->tool.map.server_n];
}

static bool put_vectors(struct restore *x, const struct str *parts, size_t n)
{
    struct blocking_call call = restore_call(x);
    if (x->is_skipping || !has_sets(x))
        return true;
    struct verb_writer verb = begin_restore_vectors(blocking_start(&call), .space = parts[1],
                                                    .document = parts[2], .first = parts[3]);
    for (size_t i = 4; i < n; i++)
        put_restore_vectors_vector(&verb, .floats = parts[i]);
    end_verb(&verb);
    return restore_has_reply(x, &call);
}

/* The first reading has seen each record. */
static bool complain_changed(struct restore *x)
{
    return tool_complain(&x->tool, "%s: the file changed while it was read", x->tool.path);
}

static bool put_document(struct restore *x, const struct str *parts, size_t n)
{
    if (!use_document(x, parts[1]))
        return complain_changed(x);
    struct blocking_call call = restore_call(x);
    struct verb_writer verb =
        begin_restore_document(blocking_start(&call), .doc = parts[1], .has_sets = has_sets(x));
    for (size_t i = 2; i + 1 < n; i += 2)
        put_restore_document_pair(&verb, .field = parts[i], .value = parts[i + 1]);
    end_verb(&verb);
    bool is_good = restore_has_reply(x, &call);
    x->tool.document_n += is_good && !x->is_skipping;
    x->without_vectors_n += is_good && str_eq(call.reply, STR("without_vectors"));
    x->is_in_unit = x->is_skipping = false;
    return is_good;
}

static bool put_forget(struct restore *x, const struct str *parts, size_t n)
{
    bool is_one, is_good = true;
    for (size_t i = 2; is_good && !x->is_skipping && i < n; i++)
        is_good = restore_ask_key(x, "UNLINK", "", parts[i], &is_one);
    x->is_in_unit = x->is_skipping = false;
    return is_good;
}

/* --- runs ------------------------------------------------------------------------------------- */

/* One that SCAN showed twice is there already. */
static bool put_parts(struct restore *x, const struct str *parts, size_t n)
{
    struct str rest = parts[1];
    x->is_in_unit = true;
    tool_use(&x->tool, shard_of(str_cut(&rest, '.'), x->tool.map.n));
    return restore_ask_key(x, "EXISTS", "wfr:", parts[1], &x->is_skipping);
}

static bool put_run(struct restore *x, const struct str *parts, size_t n)
{
    struct str run = parts[1], session = str_cut(&run, '.');
    uint64_t number, frames, records, answers, question = NO_NUMBER;
    if (!str_parse_u64(run, &number) || !str_parse_u64(parts[2], &frames) ||
        !str_parse_u64(parts[3], &records) || !str_parse_u64(parts[4], &answers) ||
        (parts[5].n > 0 && !str_parse_u64(parts[5], &question)))
        return tool_complain(&x->tool, "%s: record %llu has no number where one must be",
                             x->tool.path, (unsigned long long)x->archive.record_n);
    struct blocking_call call = restore_call(x);
    struct verb_writer verb = begin_restore_run(blocking_start(&call), .session = session,
                                                .run = number, .frames = frames, .records = records,
                                                .answers = answers, .question = question);
    for (size_t i = 6; i + 1 < n; i += 2)
        put_restore_run_pair(&verb, .field = parts[i], .value = parts[i + 1]);
    end_verb(&verb);
    bool is_good = restore_has_reply(x, &call);
    x->tool.key_n += is_good && !x->is_skipping;
    x->is_in_unit = x->is_skipping = false;
    return is_good;
}

/* --- any -------------------------------------------------------------------------------------- */

static bool parse_shard(struct str text, unsigned least, unsigned most, unsigned *ret_number)
{
    uint64_t number;
    if (!str_parse_u64(text, &number) || number < least || number > most)
        return false;
    *ret_number = (unsigned)number;
    return true;
}

static bool put_shard(struct restore *x, const struct str *parts, size_t n)
{
    return parse_shard(parts[1], 0, x->from_n - 1, &x->from);
}

static bool put_head(struct restore *x, const struct str *parts, size_t n)
{
    x->from = 0;
    return parse_shard(parts[5], 1, SHARDS_MAX, &x->from_n) && (x->from_n & (x->from_n - 1)) == 0;
}

static bool note_document(struct restore *x, const struct str *parts, size_t n)
{
    for (size_t i = 2; i + 1 < n; i += 2)
        if (str_eq(parts[i], STR("space")))
            return doc_homes_add(&x->doc_homes, parts[1], parts[i + 1]);
    return false;
}

static const struct record {
    const char *word;
    size_t min_n;
    bool is_paired; /* what follows the first min_n parts comes in pairs */
    bool (*put)(struct restore *x, const struct str *parts, size_t n);
    bool (*note)(struct restore *x, const struct str *parts, size_t n); /* false: it is damaged */
} records[] = {
    {"head", 6, false, put_head, put_head},
    {"shard", 2, false, put_shard, put_shard},
    {"key", PARTS_OF_KEY, false, put_key_record, NULL},
    {"lookup", 3, true, put_lookup, NULL},
    {"topic", 3, true, put_topic, NULL},
    {"drop", 2, false, put_drop, NULL},
    {"blobs", 2, false, put_blobs, NULL},
    {"vectors", 4, false, put_vectors, NULL},
    {"document", 2, true, put_document, note_document},
    {"parts", 2, false, put_parts, NULL},
    {"run", 6, true, put_run, NULL},
    {"forget", 2, false, put_forget, NULL},
};
enum { RECORD_N = sizeof records / sizeof records[0] };

static const struct record *find_record(const struct str *parts, size_t n)
{
    for (size_t i = 0; i < RECORD_N; i++)
        if (str_eq(parts[0], str_of(records[i].word)))
            return n < records[i].min_n || (records[i].is_paired && (n - records[i].min_n) % 2 != 0)
                       ? NULL
                       : &records[i];
    return NULL;
}

bool restore_note_record(struct restore *x, const struct str *parts, size_t n)
{
    const struct record *record = find_record(parts, n);
    return (record != NULL && (record->note == NULL || record->note(x, parts, n))) ||
           tool_complain(&x->tool, "%s: record %llu is of an unknown kind", x->tool.path,
                         (unsigned long long)x->archive.record_n);
}

bool restore_put_record(struct restore *x, const struct str *parts, size_t n)
{
    const struct record *record = find_record(parts, n);
    return record == NULL ? complain_changed(x) : record->put(x, parts, n);
}
