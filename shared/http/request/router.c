/* SPDX-License-Identifier: MIT
 * router.c - see router.h. Exact paths: open addressing over FNV-1a. Patterns: a short list that is
 * gone through in the order of the tables. A slot holds all methods of one path.
 *
 * A path is compared as sent: `%2F` is part of a segment and never ends one. */
#include "shared/http/request/router.h"

#include "shared/base/hash.h"
#include "shared/base/mem.h"
#include "shared/base/nearest.h"

#include <stdio.h>

enum { SLOT_N = 512, PATTERNS_MAX = 96, METHODS_MAX = 6, ALLOW_MAX = 64, SPEAKERS_MAX = 8 };

struct slot {
    const char *path;
    const struct route *routes[METHODS_MAX];
    unsigned n;
    char allow[ALLOW_MAX];
};

struct router {
    struct slot slots[SLOT_N];
    struct slot patterns[PATTERNS_MAX];
    unsigned pattern_n;
    const struct route *speakers[SPEAKERS_MAX]; /* for their folders */
    unsigned speaker_n;
};

static const struct slot *find_slot(const struct router *router, struct str path)
{
    uint32_t at = hash_fnv32(path, 0) % SLOT_N;
    while (router->slots[at].path != NULL && !str_eq(str_of(router->slots[at].path), path))
        at = (at + 1) % SLOT_N;
    return &router->slots[at];
}

/* --- patterns --------------------------------------------------------------------------------- */

static bool is_name(struct str segment)
{
    return segment.n > 2 && segment.at[0] == '{' && segment.at[segment.n - 1] == '}';
}

bool router_is_pattern(struct str path)
{
    while (path.at != NULL)
        if (is_name(str_cut(&path, '/')))
            return true;
    return false;
}

static bool is_match(struct str pattern, struct str path)
{
    while (pattern.at != NULL && path.at != NULL) {
        struct str wanted = str_cut(&pattern, '/'), segment = str_cut(&path, '/');
        if (is_name(wanted) ? segment.n == 0 : !str_eq(wanted, segment))
            return false;
    }
    return pattern.at == NULL && path.at == NULL;
}

struct str router_segment(struct str pattern, struct str path, struct str name)
{
    while (pattern.at != NULL && path.at != NULL) {
        struct str wanted = str_cut(&pattern, '/'), segment = str_cut(&path, '/');
        if (is_name(wanted) && str_eq((struct str){wanted.at + 1, wanted.n - 2}, name))
            return segment;
    }
    return (struct str){NULL, 0};
}

/* The slot of a pattern that is added: its own, or a new one. */
static struct slot *pattern_slot(struct router *router, const char *path)
{
    for (unsigned i = 0; i < router->pattern_n; i++) {
        struct slot *slot = &router->patterns[i];
        if (strcmp(slot->path, path) == 0)
            return slot;
        if (is_match(str_of(slot->path), str_of(path)))
            abort();
    }
    if (router->pattern_n == PATTERNS_MAX)
        abort();
    return &router->patterns[router->pattern_n++];
}

/* --- HEAD ------------------------------------------------------------------------------------- */

/* A GET takes HEAD as well, with the same handler, unless it hands something out. */
static bool takes(const struct route *route, struct str method)
{
    return str_eq(method, str_of(route->method)) ||
           (str_eq(method, STR("HEAD")) && str_eq(str_of(route->method), STR("GET")) &&
            !route->hands_out);
}

/* --- the table -------------------------------------------------------------------------------- */

static void add(struct router *router, const struct route *route)
{
    struct str path = str_of(route->path);
    struct slot *slot = router_is_pattern(path) ? pattern_slot(router, route->path)
                                                : (struct slot *)find_slot(router, path);
    size_t used = strlen(slot->allow);
    if (slot->n == METHODS_MAX ||
        used + strlen(route->method) + sizeof ", , HEAD" > sizeof slot->allow)
        abort();
    slot->path = route->path;
    slot->routes[slot->n++] = route;
    snprintf(slot->allow + used, sizeof slot->allow - used, "%s%s%s", used == 0 ? "" : ", ",
             route->method, takes(route, STR("HEAD")) ? ", HEAD" : "");
}

static void note_speaker(struct router *router, const struct route *route)
{
    if (!route->speaks_for_folder)
        return;
    if (router->speaker_n == SPEAKERS_MAX)
        abort();
    router->speakers[router->speaker_n++] = route;
}

struct router *router_create(const struct route *const *tables)
{
    struct router *router = mem_zeroed(sizeof *router);
    unsigned n = 0;
    for (; *tables != NULL; tables++)
        for (const struct route *route = *tables; route->path != NULL; route++) {
            if (++n > SLOT_N / 2)
                abort();
            add(router, route);
            note_speaker(router, route);
        }
    return router;
}

void router_destroy(struct router *router)
{
    free(router);
}

const struct route *router_find(const struct router *router, struct str method, struct str path,
                                const char **ret_allow)
{
    const struct slot *slot = find_slot(router, path);
    for (unsigned i = 0; slot->path == NULL && i < router->pattern_n; i++)
        if (is_match(str_of(router->patterns[i].path), path))
            slot = &router->patterns[i];
    *ret_allow = slot->path == NULL ? NULL : slot->allow;
    for (unsigned i = 0; i < slot->n; i++)
        if (takes(slot->routes[i], method))
            return slot->routes[i];
    return NULL;
}

/* Its path up to the last slash. */
static struct str folder_of(const struct route *route)
{
    return (struct str){route->path, (size_t)(strrchr(route->path, '/') - route->path)};
}

static bool is_in_folder(struct str path, struct str folder)
{
    return str_has_prefix(path, folder) && (path.n == folder.n || path.at[folder.n] == '/');
}

problem_writer *router_problem_writer(const struct router *router, const struct route *route,
                                      struct str path)
{
    size_t most = 0;
    if (route != NULL)
        return route->put_problem;
    for (unsigned i = 0; i < router->speaker_n; i++) { /* the innermost folder */
        struct str folder = folder_of(router->speakers[i]);
        if (!is_in_folder(path, folder) || folder.n < most)
            continue;
        most = folder.n;
        route = router->speakers[i];
    }
    return route == NULL ? NULL : route->put_problem;
}

/* --- misspelt paths --------------------------------------------------------------------------- */

/* Without "/api/" and a slash at the end. */
static struct str middle_of(struct str path)
{
    struct str prefix = str_has_prefix(path, STR("/api/")) ? STR("/api/") : STR("/");
    size_t n = str_has_prefix(path, prefix) ? prefix.n : 0;
    while (path.n > n && path.at[path.n - 1] == '/')
        path.n--;
    return (struct str){path.at + n, path.n - n};
}

static unsigned segments_of(struct str path)
{
    unsigned n = 0;
    while (path.at != NULL) {
        (void)str_cut(&path, '/');
        n++;
    }
    return n;
}

/* Puts the pattern with what `path` has in place of its `{name}` segments. */
static void put_filled(struct buf *b, struct str pattern, struct str path)
{
    while (pattern.at != NULL) {
        struct str wanted = str_cut(&pattern, '/'), segment = str_cut(&path, '/');
        buf_put(b, is_name(wanted) && segment.n > 0 ? segment : wanted);
        if (pattern.at != NULL)
            buf_put_char(b, '/');
    }
}

struct search {
    struct nearest nearest;
    struct str path;
    unsigned segment_n;
    const char *best;
};

/* Only paths of as many segments and about the same length are compared: anybody may ask for what
 * does not exist. */
static void try_slot(struct search *search, const struct slot *slot)
{
    char bytes[NEAREST_NAME_MAX];
    struct buf b = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    unsigned before = search->nearest.distance;
    if (slot->path == NULL)
        return;
    put_filled(&b, middle_of(str_of(slot->path)), search->path);
    size_t given_n = search->path.n, longer = b.n > given_n ? b.n - given_n : given_n - b.n;
    if (b.is_over || longer > given_n / 3 || segments_of(buf_str(&b)) != search->segment_n)
        return;
    nearest_try(&search->nearest, buf_str(&b));
    if (search->nearest.distance < before)
        search->best = slot->path;
}

const char *router_nearest(const struct router *router, struct str path)
{
    struct str given = middle_of(path);
    struct search search = {
        .nearest = nearest_begin(given), .path = given, .segment_n = segments_of(given)};
    for (unsigned i = 0; i < SLOT_N; i++)
        try_slot(&search, &router->slots[i]);
    for (unsigned i = 0; i < router->pattern_n; i++)
        try_slot(&search, &router->patterns[i]);
    return nearest_end(&search.nearest).at == NULL ? NULL : search.best;
}
