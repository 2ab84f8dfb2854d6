/* SPDX-License-Identifier: MIT
 * documents.c - see units.h: one document of a backup.
 *
 *   what it names now --> its bytes, texts, pack, vectors --> what it names now: the same?
 *        ^                                                        | yes: the document itself
 *        '--------------- no, or a blob was missing: forget ------'
 *
 * Blobs are immutable and only deleted, so those that a document names before and after are the
 * ones its search uses. The document comes last, so nothing is counted for a space before it is
 * complete. */
#include "services/backup/units.h"

#include <stdlib.h>

enum {
    NAMES_MAX_BYTES = 4096,
    TRIES = 8, /* an owner may upload 5 times a minute */
    VECTORS_N = 16,
    FACTS_AT = 9, /* where the pairs begin in the answer */
};

struct document {
    struct str doc;
    char *space, *digest, *generation, *identity;
    uint64_t vectors_n;
    struct buf blobs; /* names, as parts */
};

static void clear(struct document *d)
{
    free(d->space);
    free(d->digest);
    free(d->generation);
    free(d->identity);
    buf_fini(&d->blobs);
    *d = (struct document){.doc = d->doc};
}

static bool ask(struct units *units, struct str doc, bool *ret_is_there)
{
    struct str args[] = {STR("doc"), doc};
    if (!units_step(units, args, 2))
        return false;
    *ret_is_there = str_eq(units->answer.at[0], STR("ok")) && units->answer.n >= FACTS_AT;
    return true;
}

static void put_name(struct document *d, const char *kind, struct str part)
{
    struct buf name;
    buf_init(&name, NAMES_MAX_BYTES);
    buf_put(&name, str_of(kind));
    buf_put(&name, d->doc);
    if (part.n > 0) {
        buf_put_char(&name, ':');
        buf_put(&name, part);
    }
    archive_put_part(&d->blobs, buf_str(&name));
    buf_fini(&name);
}

/* Keeps what the answer names. */
static void note(struct document *d, const struct blocking_answer *a)
{
    d->space = str_copy(a->at[1]);
    d->generation = str_copy(a->at[5]);
    d->digest = str_copy(a->at[6]);
    d->identity = str_copy(a->at[8]);
    if (!str_parse_u64(a->at[7], &d->vectors_n))
        d->vectors_n = 0;
    buf_init(&d->blobs, NAMES_MAX_BYTES);
    if (!str_eq(a->at[2], STR("0")))
        put_name(d, "upload:", STR(""));
    if (a->at[3].n > 0)
        put_name(d, "text:", a->at[3]);
    if (a->at[4].n > 0)
        put_name(d, "text:", a->at[4]);
    if (!str_eq(a->at[5], STR("0")))
        put_name(d, "pack:", a->at[5]);
}

static enum units_key put_vectors(struct units *units, const struct document *d)
{
    struct buf set, element;
    enum units_key found = UNITS_KEY_PUT;
    buf_init(&set, NAMES_MAX_BYTES);
    buf_init(&element, NAMES_MAX_BYTES);
    buf_printf(&set, "%s:%s", d->space, d->digest);
    buf_printf(&element, "%.*s:%s", STR_ARG(d->doc), d->generation);
    for (uint64_t i = 0; found == UNITS_KEY_PUT && i < d->vectors_n; i += VECTORS_N) {
        char first[24], n[24];
        snprintf(first, sizeof first, "%llu", (unsigned long long)i);
        snprintf(n, sizeof n, "%llu",
                 (unsigned long long)(d->vectors_n - i < VECTORS_N ? d->vectors_n - i : VECTORS_N));
        struct str args[] = {STR("vectors"),        d->doc,        buf_str(&set),
                             str_of(d->generation), str_of(first), str_of(n)};
        struct str head[] = {STR("vectors"), buf_str(&set), buf_str(&element), str_of(first)};
        if (!units_step(units, args, 6))
            found = UNITS_KEY_FAILED;
        else if (!str_eq(units->answer.at[0], STR("ok")))
            found = UNITS_KEY_MISSING;
        else if (!units_put(units, head, 4, 1))
            found = UNITS_KEY_FAILED;
    }
    buf_fini(&element);
    buf_fini(&set);
    return found;
}

static enum units_key put_blobs(struct units *units, const struct document *d)
{
    struct str rest = buf_str(&d->blobs), name, head[] = {STR("blobs"), d->doc};
    enum units_key found = UNITS_KEY_PUT;
    units->answer.n = 0;
    if (!units_put(units, head, 2, 0))
        return UNITS_KEY_FAILED;
    while (found == UNITS_KEY_PUT && archive_cut_part(&rest, &name))
        found = units_copy(units, name, false);
    return found == UNITS_KEY_PUT ? put_vectors(units, d) : found;
}

static bool put_forget(struct units *units, const struct document *d)
{
    struct str rest = buf_str(&d->blobs), head[6] = {STR("forget"), d->doc};
    size_t n = 2;
    while (n < 6 && archive_cut_part(&rest, &head[n]))
        n++;
    units->answer.n = 0;
    return units_put(units, head, n, 0);
}

/* One try. `ret_again`: it was another one in the end. */
static bool try_document(struct units *units, struct document *d, bool *ret_again)
{
    bool is_there;
    *ret_again = false;
    if (!ask(units, d->doc, &is_there))
        return false;
    if (!is_there)
        return true;
    note(d, &units->answer);
    enum units_key found = put_blobs(units, d);
    if (found == UNITS_KEY_FAILED || !ask(units, d->doc, &is_there))
        return false;
    if (found == UNITS_KEY_PUT && is_there && str_eq(units->answer.at[8], str_of(d->identity))) {
        struct str head[] = {STR("document"), d->doc};
        units->tool->document_n++;
        return units_put(units, head, 2, FACTS_AT);
    }
    *ret_again = is_there;
    return put_forget(units, d);
}

bool units_put_document(struct units *units, struct str doc)
{
    struct document d = {.doc = doc};
    bool is_good = true, is_again = true;
    for (int i = 0; is_good && is_again && i < TRIES; i++) {
        is_good = try_document(units, &d, &is_again);
        clear(&d);
    }
    if (is_good && is_again)
        return tool_complain(units->tool,
                             "document %.*s changed during each of %d attempts to read it",
                             STR_ARG(doc), TRIES);
    return is_good;
}
